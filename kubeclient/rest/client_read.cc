// Reads: get, find, list with its pages.
#include "kubeclient/rest/client.h"
#include "kubeclient/rest/path_check.h"

namespace fleetadm::kube {

namespace {

Request list_request(const Resource& resource, std::string_view ns, const ListOptions& options, const std::string& token) {
  Request request;
  request.path = resource.path(ns);
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) request.query.emplace_back(key, value);
  };
  add("labelSelector", options.label_selector);
  add("fieldSelector", options.field_selector);
  if (options.limit > 0) add("limit", std::to_string(options.limit));
  if (token.empty()) {
    add("resourceVersion", options.resource_version);
    add("resourceVersionMatch", options.resource_version_match);
  } else {
    add("continue", token);  // the first page fixed the version
  }
  return request;
}

Result<Json> parse_list(const Response& response) {
  auto body = parse_json(response.body);
  if (!body) return fail(body.error().wrap("the server's list cannot be read"));
  if (const Json* items = fleetadm::find(*body, {"items"}); items == nullptr || !items->is_array()) {
    // An absent list must not look like an empty one.
    if (items != nullptr && items->is_null()) {
      (*body)["items"] = Json::array();
    } else {
      return fail(Category::kInvalid, "the server's answer is not a list");
    }
  }
  return body;
}

/// Items of lists come without apiVersion and kind.
void name_items(Json& list, const Resource& resource) {
  for (auto& item : list["items"]) {
    if (!item.is_object()) continue;
    if (!item.contains("apiVersion")) item["apiVersion"] = resource.api_version();
    if (!item.contains("kind")) item["kind"] = resource.kind;
  }
}

}  // namespace

Result<Json> Client::get(const Resource& resource, std::string_view ns, std::string_view name,
                         std::string_view subresource) const {
  FLEETADM_CHECK(check_named(resource, ns, name));
  Request request;
  request.path = resource.path(ns, name, subresource);
  FLEETADM_TRY(const auto response, read(std::move(request)));
  auto object = parse_json(response.body);
  if (!object) return fail(located(object.error().wrap("the server's answer cannot be read")));
  return object;
}

Result<std::optional<Json>> Client::find(const Resource& resource, std::string_view ns, std::string_view name) const {
  auto object = get(resource, ns, name);
  if (object) return std::optional<Json>(std::move(*object));
  if (object.error().category == Category::kNotFound && object.error().reason != kUnknownPath) return std::optional<Json>{};
  return fail(std::move(object).error());
}

Result<Json> Client::list(const Resource& resource, std::string_view ns, const ListOptions& options) const {
  ListOptions wanted = options;
  for (bool restarted = false;;) {
    Json all;
    std::string token;
    while (true) {
      auto response = read(list_request(resource, ns, wanted, token));
      if (!response) {
        if (response.error().category != Category::kGone || token.empty() || restarted) return fail(std::move(response).error());
        break;
      }
      auto page = parse_list(*response);
      if (!page) return fail(located(page.error()));
      name_items(*page, resource);
      token = str(*page, {"metadata", "continue"});
      if (all.is_null()) {
        all = std::move(*page);
      } else {
        for (auto& item : (*page)["items"]) all["items"].push_back(std::move(item));
      }
      if (token.empty()) {
        erase_at(all, {"metadata", "continue"});
        erase_at(all, {"metadata", "remainingItemCount"});
        return all;
      }
    }
    // The pages' version was compacted away: once more, in one piece.
    restarted = true;
    wanted.limit = 0;
    wanted.resource_version.clear();
    wanted.resource_version_match.clear();
  }
}

Status Client::list_pages(const Resource& resource, std::string_view ns, const ListOptions& options,
                          const std::function<Status(const Json& page)>& page) const {
  std::string token;
  do {
    FLEETADM_TRY(const auto response, read(list_request(resource, ns, options, token)));
    auto list = parse_list(response);
    if (!list) return fail(located(list.error()));
    name_items(*list, resource);
    FLEETADM_CHECK(page(*list));
    token = str(*list, {"metadata", "continue"});
  } while (!token.empty());
  return {};
}

Result<Response> Client::raw(const Request& request) const {
  if (request.method != Method::kGet && request.method != Method::kHead) {
    return fail(Category::kInternal, "raw requests only read");
  }
  return read(request);
}

}  // namespace fleetadm::kube
