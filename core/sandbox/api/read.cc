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

namespace {

/// Where a list begins, and of which revision it is (0: the newest).
struct ListStart {
  Continue from;
  std::int64_t revision = 0;
};

ApiResult<ListStart> list_start(const Store& store, const serve::Query& query, std::int64_t revision, std::int64_t limit) {
  ListStart out;
  if (const auto token = query.get("continue"); !token.empty()) {
    if (revision != 0) return bad_request("specifying resource version is not allowed when using continue");
    FLEETADM_TRY(out.from, decode(token));
    out.revision = std::max<std::int64_t>(out.from.revision, 0);
    return out;
  }
  FLEETADM_CHECK(reach(store, revision));
  const auto match = query.get("resourceVersionMatch");
  if (revision != 0 && (match == "Exact" || (match.empty() && limit > 0))) out.revision = revision;
  return out;
}

tl::unexpected<ApiError> expired_list(const serve::Query& query, const Continue& from) {
  if (query.get("continue").empty()) return expired("The resourceVersion for the provided list is too old.");
  auto error = expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
      "the continue parameter, or use the continue token in this response to retrieve the remainder of the results.");
  error.value().continue_token = encode({-1, from.start});
  return error;
}

struct ListPage {
  std::vector<const Item*> items;
  std::vector<Json> objects;  // of the items, where a text is not enough
  bool converts = false;      // they are not in the store's version
  Json metadata;
};

ApiResult<std::string> list_text(const Engine& engine, const Kind& kind, ListPage page, const Wanted& wanted,
                                 const std::string& include_object) {
  if (wanted.as.empty()) {
    std::string body = "{\"kind\":\"" + kind.list_kind + "\",\"apiVersion\":\"" + kind.api_version() +
                       "\",\"metadata\":" + dump_json(page.metadata) + ",\"items\":[";
    const bool plain = !kind.on_read && kind.custom == nullptr;
    for (std::size_t i = 0; i < page.items.size(); ++i) {
      if (i > 0) body += ',';
      const Stored& stored = *page.items[i]->object;
      body += page.converts ? dump_json(page.objects[i]) : plain ? stored.body : engine.text(kind, stored);
    }
    return body + "]}";
  }
  if (!page.converts) {
    for (const Item* item : page.items) page.objects.push_back(engine.full(kind, *item->object));
  }
  if (wanted.as == "Table") {
    FLEETADM_TRY(const Json table,
                 make_table(kind, std::move(page.objects), page.metadata, include_object, wanted.version, engine.clock().now()));
    return dump_json(table);
  }
  Json list = {{"kind", "PartialObjectMetadataList"},
               {"apiVersion", "meta.k8s.io/" + wanted.version},
               {"metadata", page.metadata},
               {"items", Json::array()}};
  for (const Json& object : page.objects) list["items"].push_back(partial_metadata(object, wanted.version));
  return dump_json(list);
}

}  // namespace

ApiResult<serve::HttpResponse> answer_list(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                           const KindPtr& kind) {
  const Engine& engine = *state->engine;
  const serve::Query& query = request.query;
  FLEETADM_TRY(const auto wanted, negotiate(*request.http, list_conversions(), kind->custom == nullptr));
  FLEETADM_TRY(const auto revision, revision_of(query, 400));
  FLEETADM_CHECK(check_list_options(query));
  FLEETADM_TRY(const auto selection, read_selection(request, *kind));
  FLEETADM_TRY(const auto limit, query.integer("limit").map_error(from_error));
  FLEETADM_TRY(const auto start, list_start(*state->store, query, revision, limit));
  auto snapshot = state->store->list(kind->storage, selection.ns, start.revision, selection.fields.exact("metadata.name"));
  if (!snapshot) return expired_list(query, start.from);
  auto& items = snapshot->items;
  const auto key = [](const Item& item) { return item.ns + "/" + item.name; };
  auto begin = items.begin();
  if (!start.from.start.empty()) {
    begin = std::upper_bound(items.begin(), items.end(), start.from.start,
                             [&](const std::string& place, const Item& item) { return place < key(item); });
  }
  const bool selects = selection.selects();
  const bool all = limit <= 0 || (query.get("resourceVersion") == "0" && query.get("continue").empty());
  const auto most = all ? items.size() : static_cast<std::size_t>(limit);
  ListPage page;
  page.converts = converter_of(*kind) != nullptr &&
                  std::any_of(begin, items.end(), [&](const Item& item) { return Engine::converts(*kind, *item.object); });
  if (page.converts) {
    FLEETADM_CHECK(read_page(engine, *kind, selection, begin, items.end(), most, page.items, page.objects));
  } else {
    for (; begin != items.end() && page.items.size() < most; ++begin) {
      if (!selects || selection.matches(engine, *kind, begin->ns, begin->name, *begin->object)) page.items.push_back(&*begin);
    }
  }
  page.metadata = {{"resourceVersion", std::to_string(snapshot->revision)}};
  if (begin != items.end() && !page.items.empty()) {
    page.metadata["continue"] = encode({start.from.revision < 0 ? -1 : snapshot->revision, key(*page.items.back())});
    if (!selects) page.metadata["remainingItemCount"] = std::distance(begin, items.end());
  }
  FLEETADM_TRY(auto text, list_text(engine, *kind, std::move(page), wanted, query.get("includeObject")));
  return answer_body(200, std::move(text), wanted);
}

}  // namespace fleetadm::sandbox
