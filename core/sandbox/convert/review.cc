#include "core/sandbox/convert/review.h"

#include <algorithm>

#include "kubeclient/base/names.h"

namespace fleetadm::sandbox::convert {
namespace {

const char* const kReviewGroup = "apiextensions.k8s.io/";
constexpr std::size_t kMaxShown = 1024;  // of what a webhook says, in a message

tl::unexpected<Error> refuse(std::string why) { return fail(Category::kInvalid, std::move(why)); }

std::string shortened(std::string text) {
  if (text.size() > kMaxShown) text.resize(kMaxShown);
  return text;
}

/// A value's type as Go names it.
std::string go_type(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "bool";
  if (value.is_number_integer()) return "int64";
  if (value.is_number()) return "float64";
  if (value.is_array()) return "[]interface {}";
  return value.is_object() ? "map[string]interface {}" : "<nil>";
}

/// Why labels or annotations cannot be taken; empty where they can.
std::string bad_entry(const std::string& field, const Json& entries) {
  const bool labels = field == "labels";
  for (const auto& [key, value] : entries.items()) {
    if (!value.is_string())
      return "metadata." + field + "[" + key + "] must be a string, but is " + go_type(value) + " in converted object";
    if (!is_qualified_name(key)) {
      return (labels ? "metadata.labels" : "metadata.annotation") + std::string(": Invalid value: ") + dump_json(Json(key)) +
             ": name part must consist of alphanumeric characters, '-', '_' or '.'";
    }
    if (labels && !is_label_value(value.get<std::string>())) {
      return "metadata.labels: Invalid value: " + dump_json(value) +
             ": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'";
    }
  }
  return {};
}

/// Everything but labels and annotations as it was sent; why that cannot be, else empty.
std::string restore_metadata(const Json& original, Json& converted) {
  const Json* given = find(converted, {"metadata"});
  if (given == nullptr) return "missing metadata in converted object";
  if (!given->is_object()) return "invalid metadata of type " + go_type(*given) + " in converted object";
  Json metadata = object_at(original, {"metadata"});
  for (const char* field : {"labels", "annotations"}) {
    const Json* entries = find(*given, {field});
    if (entries == nullptr || entries->is_null()) {
      metadata.erase(field);
      continue;
    }
    if (!entries->is_object())
      return "invalid metadata." + std::string(field) + " of type " + go_type(*entries) + " in converted object";
    if (object_at(original, {"metadata", field}) != *entries) {
      if (auto why = bad_entry(field, *entries); !why.empty()) return why;
    }
    metadata[field] = *entries;
  }
  converted["metadata"] = std::move(metadata);
  return {};
}

/// What identifies an object must be as it was sent.
std::string other_identity(const Json& sent, const Json& got) {
  if (name_of(sent) != name_of(got)) return "must have the same name: " + name_of(sent) + " != " + name_of(got);
  if (namespace_of(sent) != namespace_of(got))
    return "must have the same namespace: " + namespace_of(sent) + " != " + namespace_of(got);
  if (uid_of(sent) != uid_of(got)) return "must have the same UID: " + uid_of(sent) + " != " + uid_of(got);
  return {};
}

/// Checks one converted object and gives it its metadata back; why it is refused, else empty. Words differ a little for an
/// object that was sent alone.
std::string check_converted(const Review& review, const Json& sent, Json& got, bool alone, std::size_t index) {
  const auto at = std::to_string(index);
  const auto invalid =
      alone ? std::string(" returned invalid object at index 0: ") : " returned invalid converted object at index " + at + ": ";
  if (!got.is_object() || str(got, {"kind"}).empty())
    return invalid + "Object 'Kind' is missing in '" + shortened(dump_json(got)) + "'";
  if (const auto version = str(got, {"apiVersion"}); version != review.to)
    return invalid + "invalid groupVersion (expected " + review.to + ", received " + version + ")";
  if (str(got, {"kind"}) != str(sent, {"kind"}))
    return invalid + "invalid kind (expected " + str(sent, {"kind"}) + ", received " + str(got, {"kind"}) + ")";
  if (const auto why = other_identity(sent, got); !why.empty())
    return (alone ? std::string(" returned invalid object: ") : invalid) + why;
  if (const auto why = restore_metadata(sent, got); !why.empty()) {
    return (alone ? std::string(" returned invalid metadata: ") : " returned invalid metadata in object at index " + at + ": ") +
           why;
  }
  return {};
}

/// The response part, where the answer says that it succeeded.
Result<Json> response_of(const Review& review, const std::string& answer) {
  if (answer.empty()) return refuse("0-length response with status code: 200 and content type: application/json");
  auto parsed = parse_json(answer);
  if (!parsed) return refuse("couldn't get version/kind; json parse error: " + parsed.error().message);
  const auto version = str(*parsed, {"apiVersion"});
  const auto kind = str(*parsed, {"kind"});
  if (kind == "Status" && str(*parsed, {"status"}) != "Success") return refuse(shortened(str(*parsed, {"message"})));
  const bool strict = review.version == "v1";  // the older review never asked for its type and uid back
  const auto expected = kReviewGroup + review.version;
  if ((strict || !kind.empty()) && (kind != "ConversionReview" || version != expected)) {
    return refuse("expected webhook response of " + expected + ", Kind=ConversionReview, got " +
                  (version.empty() ? "/" : shortened(version)) + ", Kind=" + shortened(kind));
  }
  const Json* response = find(*parsed, {"response"});
  if (response == nullptr || !response->is_object()) return refuse("no response provided");
  if (const auto uid = str(*response, {"uid"}); strict && uid != review.uid)
    return refuse("expected response.uid=" + dump_json(Json(review.uid)) + ", got " + dump_json(Json(shortened(uid))));
  if (const auto status = str(*response, {"result", "status"}); status != "Success") {
    const auto message = str(*response, {"result", "message"});
    return refuse(message.empty() ? "response.result.status was '" + shortened(status) + "', not 'Success'" : shortened(message));
  }
  return *response;
}

}  // namespace

std::string review_version(const std::vector<std::string>& offered) {
  const auto known = std::find_if(offered.begin(), offered.end(),
                                  [](const std::string& version) { return version == "v1" || version == "v1beta1"; });
  return known == offered.end() ? std::string() : *known;
}

std::string review_subject(const Json& object) {
  return "conversion webhook for " + str(object, {"apiVersion"}) + ", Kind=" + str(object, {"kind"});
}

std::string review_request(const Review& review, const std::vector<Json>& objects) {
  std::string list;
  for (const Json& object : objects) list += (list.empty() ? "" : ",") + dump_json(object);
  return "{\"kind\":\"ConversionReview\",\"apiVersion\":\"" + (kReviewGroup + review.version) +
         "\",\"request\":{\"uid\":" + dump_json(Json(review.uid)) + ",\"desiredAPIVersion\":" + dump_json(Json(review.to)) +
         ",\"objects\":[" + list + "]}}";
}

Result<std::vector<Json>> read_review(const Review& review, const std::vector<Json>& sent, const std::string& answer) {
  const auto subject = review_subject(sent.front());
  auto response = response_of(review, answer);
  if (!response) return refuse(subject + " failed: " + response.error().message);
  const Json& list = list_at(*response, {"convertedObjects"});
  if (list.size() != sent.size()) {
    return refuse(subject + " returned " + std::to_string(list.size()) + " objects, expected " + std::to_string(sent.size()));
  }
  std::vector<Json> out(list.begin(), list.end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (const auto why = check_converted(review, sent[i], out[i], sent.size() == 1, i); !why.empty())
      return refuse(subject + why);
  }
  return out;
}

}  // namespace fleetadm::sandbox::convert
