#include "core/sandbox/api/read.h"

#include <algorithm>
#include <charconv>

#include "core/sandbox/api/tables.h"
#include "core/sandbox/convert/converter.h"
#include "core/sandbox/engine/custom.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

/// A resourceVersion of a query; `code` is what the server answers where it is no number.
ApiResult<std::int64_t> revision_of(const serve::Query& query, int code) {
  const auto text = query.get("resourceVersion");
  if (text.empty()) return 0;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  return api_fail(code, code == 400 ? "BadRequest" : "",
                  "strconv.ParseUint: parsing " + dump_json(Json(text)) + ": invalid syntax");
}

struct Continue {
  std::int64_t revision = 0;
  std::string start;
};

std::string encode(const Continue& place) {
  return base64url_encode(
      dump_json({{"v", "meta.k8s.io/v1"}, {"rv", place.revision}, {"start", place.start + std::string(1, '\0')}}));
}

ApiResult<Continue> decode(std::string token) {
  std::replace(token.begin(), token.end(), '-', '+');
  std::replace(token.begin(), token.end(), '_', '/');
  while (token.size() % 4 != 0) token += '=';
  const auto bytes = base64_decode(token);
  const auto parsed = bytes ? parse_json(*bytes) : Result<Json>(fail(Category::kInvalid, ""));
  Continue out;
  if (parsed) {
    out.revision = num(*parsed, {"rv"});
    out.start = str(*parsed, {"start"});
  }
  if (!parsed || out.revision == 0 || out.start.empty())
    return bad_request("invalid continue token: continue key is not valid: it is none of this server's");
  out.start.pop_back();
  return out;
}

ApiStatus check_list_options(const serve::Query& query) {
  const auto match = query.get("resourceVersionMatch");
  const std::string at = "resourceVersionMatch";
  std::vector<Cause> causes;
  if (!match.empty()) {
    if (query.get("resourceVersion").empty())
      causes.push_back(forbidden_field(at, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    if (!query.get("continue").empty())
      causes.push_back(forbidden_field(at, "resourceVersionMatch is forbidden when continue is provided"));
    if (match != "Exact" && match != "NotOlderThan") causes.push_back(unsupported(at, match, {"Exact", "NotOlderThan", ""}));
    if (match == "Exact" && query.get("resourceVersion") == "0")
      causes.push_back(forbidden_field(at, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
  }
  if (query.has("sendInitialEvents"))
    causes.push_back(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  if (!causes.empty()) return invalid_options("ListOptions", causes);
  return {};
}

tl::unexpected<ApiError> expired(std::string message) { return api_fail(410, "Expired", std::move(message)); }

using ItemPlace = std::vector<Item>::iterator;

/// The next `most` objects that are selected, in the row's version; `begin` moves behind the last that was looked at. Some are
/// converted at a time, since the selection is of what they are converted to.
ApiStatus read_page(const Engine& engine, const Kind& kind, const Selection& selection, ItemPlace& begin, ItemPlace end,
                    std::size_t most, std::vector<const Item*>& page, std::vector<Json>& objects) {
  while (begin != end && page.size() < most) {
    const auto left = static_cast<std::size_t>(std::distance(begin, end));
    const auto wanted = selection.selects() ? convert::Converter::kMaxAtOnce : most - page.size();
    std::vector<const Stored*> some;
    for (auto at = begin; some.size() < std::min({left, wanted, convert::Converter::kMaxAtOnce}); ++at)
      some.push_back(at->object.get());
    FLEETADM_TRY(auto converted, engine.read(kind, some));
    for (Json& object : converted) {
      if (page.size() >= most) return {};
      if (selection.matches(begin->ns, begin->name, object)) {
        page.push_back(&*begin);
        objects.push_back(std::move(object));
      }
      ++begin;
    }
  }
  return {};
}

}  // namespace

ApiStatus reach(const Store& store, std::int64_t revision) {
  const auto current = store.revision();
  if (revision <= current) return {};
  auto error =
      api_fail(504, "Timeout",
               "Timeout: Too large resource version: " + std::to_string(revision) + ", current: " + std::to_string(current));
  error.value().retry_after = 1;
  error.value().details["causes"] =
      Json::array({{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}});
  return error;
}

const std::vector<std::string>& object_conversions() {
  static const std::vector<std::string> all = {"Table;meta.k8s.io;v1", "Table;meta.k8s.io;v1beta1",
                                               "PartialObjectMetadata;meta.k8s.io;v1",
                                               "PartialObjectMetadata;meta.k8s.io;v1beta1"};
  return all;
}
const std::vector<std::string>& list_conversions() {
  static const std::vector<std::string> all = {"Table;meta.k8s.io;v1", "Table;meta.k8s.io;v1beta1",
                                               "PartialObjectMetadataList;meta.k8s.io;v1",
                                               "PartialObjectMetadataList;meta.k8s.io;v1beta1"};
  return all;
}

bool Selection::matches(const Engine& engine, const Kind& kind, const std::string& in, const std::string& name,
                        const Stored& object) const {
  if (!labels.matches(object.labels)) return false;
  std::optional<Json> parsed;
  return fields.matches(in, name, [&]() -> const Json& {
    if (!parsed) parsed = engine.full(kind, object);
    return *parsed;
  });
}

bool Selection::matches(const std::string& in, const std::string& name, const Json& object) const {
  if (!labels.empty()) {
    Labels own;
    for (auto& [key, value] : strings_at(object, {"metadata", "labels"})) own.emplace_back(key, value);
    if (!labels.matches(own)) return false;
  }
  return fields.matches(in, name, [&]() -> const Json& { return object; });
}

ApiResult<Selection> read_selection(const serve::ApiRequest& request, const Kind& kind) {
  Selection out;
  out.ns = request.what.ns;
  FLEETADM_TRY(out.labels, LabelSelector::parse(request.query.get("labelSelector")).map_error(from_error));
  FLEETADM_TRY(out.fields, FieldSelector::parse(request.query.get("fieldSelector")).map_error(from_error));
  for (const auto& path : out.fields.paths()) {
    if (path == "metadata.name" || (path == "metadata.namespace" && kind.namespaced)) continue;
    if (std::find(kind.selectable.begin(), kind.selectable.end(), path) != kind.selectable.end()) continue;
    if (kind.selectable.empty() && kind.custom == nullptr) {
      return bad_request("\"" + path + "\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
    }
    return bad_request("field label not supported: " + path);
  }
  return out;
}

ApiResult<Json> present(const Kind& kind, Json object, const Wanted& wanted, const std::string& include_object, Instant now) {
  if (wanted.as.empty()) return object;
  if (wanted.as == "Table") return make_table(kind, {std::move(object)}, Json::object(), include_object, wanted.version, now);
  return partial_metadata(object, wanted.version);
}

ApiResult<serve::HttpResponse> answer_get(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                          const KindPtr& kind) {
  FLEETADM_TRY(const auto wanted, negotiate(*request.http, object_conversions(), kind->custom == nullptr));
  FLEETADM_TRY(const auto revision, revision_of(request.query, 500));
  FLEETADM_CHECK(reach(*state->store, revision));
  const auto stored = state->store->get(kind->storage, request.what.ns, request.what.name);
  if (!stored) return not_found(*kind, request.what.name);
  if (wanted.as.empty() && !Engine::converts(*kind, *stored))
    return answer_body(200, state->engine->text(*kind, *stored), wanted);
  FLEETADM_TRY(Json object, state->engine->read(*kind, *stored));
  FLEETADM_TRY(const Json shown,
               present(*kind, std::move(object), wanted, request.query.get("includeObject"), state->engine->clock().now()));
  return answer_body(200, dump_json(shown), wanted);
}

ApiResult<serve::HttpResponse> answer_list(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                           const KindPtr& kind) {
  const Engine& engine = *state->engine;
  FLEETADM_TRY(const auto wanted, negotiate(*request.http, list_conversions(), kind->custom == nullptr));
  FLEETADM_TRY(const auto revision, revision_of(request.query, 400));
  FLEETADM_CHECK(check_list_options(request.query));
  FLEETADM_TRY(const auto selection, read_selection(request, *kind));
  FLEETADM_TRY(const auto limit, request.query.integer("limit").map_error(from_error));
  const auto token = request.query.get("continue");
  Continue from;
  std::int64_t at = 0;
  if (!token.empty()) {
    if (revision != 0) return bad_request("specifying resource version is not allowed when using continue");
    FLEETADM_TRY(from, decode(token));
    at = std::max<std::int64_t>(from.revision, 0);
  } else {
    FLEETADM_CHECK(reach(*state->store, revision));
    const auto match = request.query.get("resourceVersionMatch");
    if (revision != 0 && (match == "Exact" || (match.empty() && limit > 0))) at = revision;
  }
  auto snapshot = state->store->list(kind->storage, selection.ns, at);
  if (!snapshot) {
    if (token.empty()) return expired("The resourceVersion for the provided list is too old.");
    auto error = expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
        "the continue parameter, or use the continue token in this response to retrieve the remainder of the results.");
    error.value().continue_token = encode({-1, from.start});
    return error;
  }
  auto& items = snapshot->items;
  const auto key = [](const Item& item) { return item.ns + "/" + item.name; };
  auto begin = items.begin();
  if (!from.start.empty()) {
    begin = std::upper_bound(items.begin(), items.end(), from.start,
                             [&](const std::string& place, const Item& item) { return place < key(item); });
  }
  const bool selects = selection.selects();
  const bool all = limit <= 0 || (request.query.get("resourceVersion") == "0" && token.empty());
  const auto most = all ? items.size() : static_cast<std::size_t>(limit);
  std::vector<const Item*> page;
  std::vector<Json> objects;  // of the page, where a text is not enough
  const bool converts = converter_of(*kind) != nullptr &&
                        std::any_of(begin, items.end(), [&](const Item& item) { return Engine::converts(*kind, *item.object); });
  if (converts) {
    FLEETADM_CHECK(read_page(engine, *kind, selection, begin, items.end(), most, page, objects));
  } else {
    for (; begin != items.end() && page.size() < most; ++begin) {
      if (!selects || selection.matches(engine, *kind, begin->ns, begin->name, *begin->object)) page.push_back(&*begin);
    }
  }
  Json metadata = {{"resourceVersion", std::to_string(snapshot->revision)}};
  if (begin != items.end() && !page.empty()) {
    metadata["continue"] = encode({from.revision < 0 ? -1 : snapshot->revision, key(*page.back())});
    if (!selects) metadata["remainingItemCount"] = std::distance(begin, items.end());
  }
  if (wanted.as.empty()) {
    std::string body = "{\"kind\":\"" + kind->list_kind + "\",\"apiVersion\":\"" + kind->api_version() +
                       "\",\"metadata\":" + dump_json(metadata) + ",\"items\":[";
    for (std::size_t i = 0; i < page.size(); ++i) {
      if (i > 0) body += ',';
      const bool plain = !kind->on_read && kind->custom == nullptr;
      body += converts ? dump_json(objects[i]) : plain ? page[i]->object->body : engine.text(*kind, *page[i]->object);
    }
    return answer_body(200, body + "]}", wanted);
  }
  if (!converts) {
    for (const Item* item : page) objects.push_back(engine.full(*kind, *item->object));
  }
  if (wanted.as == "Table") {
    FLEETADM_TRY(const Json table, make_table(*kind, std::move(objects), metadata, request.query.get("includeObject"),
                                              wanted.version, engine.clock().now()));
    return answer_body(200, dump_json(table), wanted);
  }
  Json list = {{"kind", "PartialObjectMetadataList"},
               {"apiVersion", "meta.k8s.io/" + wanted.version},
               {"metadata", metadata},
               {"items", Json::array()}};
  for (const Json& object : objects) list["items"].push_back(partial_metadata(object, wanted.version));
  return answer_body(200, dump_json(list), wanted);
}

}  // namespace fleetadm::sandbox
