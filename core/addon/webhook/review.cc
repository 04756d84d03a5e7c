#include "core/addon/webhook/review.h"

#include <utility>

#include "core/addon/rules/conversion.h"

namespace fleetadm::addon {
namespace {

bool is_review(const Json& review) {
  const std::string version = str(review, {"apiVersion"});
  return str(review, {"kind"}) == "ConversionReview" &&
         (version == "apiextensions.k8s.io/v1" || version == "apiextensions.k8s.io/v1beta1");
}

std::string object_title(const Json& object) {
  const std::string ns = namespace_of(object);
  return str(object, {"kind"}, "object") + " " + (ns.empty() ? "" : ns + "/") + name_of(object);
}

Result<Json> converted_objects(const Json& objects, const std::string& version) {
  Json converted = Json::array();
  for (const Json& object : objects) {
    auto one = convert_addon(object, version);
    if (!one) return fail(one.error().wrap("cannot convert " + object_title(object)));
    converted.push_back(std::move(*one));
  }
  return converted;
}

}  // namespace

Result<std::string> answer_conversion(std::string_view body) {
  FLEETADM_TRY(const Json review, parse_json(body));
  const std::string uid = str(review, {"request", "uid"});
  if (!is_review(review) || uid.empty()) return fail(Category::kInvalid, "the body is not a ConversionReview");
  Json response{{"uid", uid}};
  auto converted = converted_objects(list_at(review, {"request", "objects"}), str(review, {"request", "desiredAPIVersion"}));
  if (converted) {
    response["convertedObjects"] = std::move(*converted);
    response["result"] = {{"status", "Success"}};
  } else {
    response["result"] = {{"status", "Failure"}, {"message", converted.error().message}};
  }
  return dump_json(
      {{"apiVersion", str(review, {"apiVersion"})}, {"kind", "ConversionReview"}, {"response", std::move(response)}});
}

}  // namespace fleetadm::addon
