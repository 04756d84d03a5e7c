// Reads: get, find, list with its pages.
#include <algorithm>

#include "kubeclient/base/json_list.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/rest/path_check.h"
#include "kubeclient/transport/answer_limit.h"
#include "kubeclient/transport/body_pipe.h"

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
  if (options.limit.value_or(0) > 0) add("limit", std::to_string(*options.limit));
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
void name_item(Json& item, const Resource& resource) {
  if (!item.is_object()) return;
  if (!item.contains("apiVersion")) item["apiVersion"] = resource.api_version();
  if (!item.contains("kind")) item["kind"] = resource.kind;
}

constexpr std::int64_t kPage = 500;
constexpr std::size_t kMaxErrorBody = std::size_t{1024} * 1024;
constexpr int kMaxPages = 20'000;
constexpr std::size_t kMaxListText = std::size_t{256} * 1024 * 1024;

/// The pages of one list: each brings the token of the next, and a server that never stops to give one is not followed for ever.
class Pages {
 public:
  /// `timeout`: of all pages together; zero: none.
  explicit Pages(Duration timeout) : limited_(timeout > Duration::zero()), until_(std::chrono::steady_clock::now() + timeout) {}

  const std::string& token() const { return token_; }
  /// What the next page may take; zero: as long as it needs.
  Duration left() const {
    if (!limited_) return Duration::zero();
    return std::max<Duration>(until_ - std::chrono::steady_clock::now(), std::chrono::milliseconds(1));
  }
  Status follow(std::string next) {
    const bool same = !next.empty() && next == token_;
    token_ = std::move(next);
    if (token_.empty()) return {};
    if (same || ++count_ >= kMaxPages) return fail(Category::kInvalid, "the server's list does not end");
    if (limited_ && std::chrono::steady_clock::now() >= until_)
      return fail(Category::kTimeout, "the server's list did not end in time");
    return {};
  }
  void from_the_beginning() { token_.clear(); }

 private:
  const bool limited_;
  const std::chrono::steady_clock::time_point until_;
  std::string token_;
  int count_ = 0;
};

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
  if (!wanted.limit) wanted.limit = kPage;
  Pages pages(timeout_);
  for (bool restarted = false;;) {
    Json all;
    std::size_t text = 0;
    while (true) {
      auto response = with_timeout(pages.left()).read(list_request(resource, ns, wanted, pages.token()));
      if (!response && response.error().reason == kAnswerTooLong && *wanted.limit > 1) {
        wanted.limit = std::max<std::int64_t>(*wanted.limit / 8, 1);
        continue;
      }
      if (!response) {
        if (response.error().category != Category::kGone || pages.token().empty() || restarted)
          return fail(std::move(response).error());
        break;
      }
      text += response->body.size();
      if (text > kMaxListText) return fail(located(fail(Category::kInvalid, "the server's list is longer than 256 MiB").value()));
      auto page = parse_list(*response);
      if (!page) return fail(located(page.error()));
      for (auto& item : (*page)["items"]) name_item(item, resource);
      if (auto more = pages.follow(str(*page, {"metadata", "continue"})); !more) return fail(located(more.error()));
      if (all.is_null()) {
        all = std::move(*page);
      } else {
        for (auto& item : (*page)["items"]) all["items"].push_back(std::move(item));
      }
      if (pages.token().empty()) {
        erase_at(all, {"metadata", "continue"});
        erase_at(all, {"metadata", "remainingItemCount"});
        return all;
      }
    }
    // The pages' version was compacted away: once more, in one piece.
    restarted = true;
    pages.from_the_beginning();
    wanted.limit = 0;
    wanted.resource_version.clear();
    wanted.resource_version_match.clear();
  }
}

Result<Response> Client::stream_list(const Request& request, const std::function<Status(Json&&)>& on_item,
                                     Result<Json>& list) const {
  const auto deadline = request.timeout > Duration::zero()
                            ? std::chrono::steady_clock::now() + request.timeout + std::chrono::seconds(1)
                            : std::chrono::steady_clock::time_point::max();
  const auto body = std::make_shared<BodyPipe>(deadline);
  const auto stream = transport_->stream(request, body);
  auto response = body->head();
  if (!response) return response;
  if (response->status < 200 || response->status >= 300) {
    for (auto piece = body->next(); !piece.empty() && response->body.size() < kMaxErrorBody; piece = body->next())
      response->body += piece;
    return response;
  }
  bool began = false;
  list = parse_json_list([&body] { return body->next(); },
                         [&](Json&& item) {
                           began = true;
                           return on_item(std::move(item));
                         });
  if (auto error = body->error()) {
    // Half a list was handed over: once more from its beginning would hand that over twice.
    if (began && error->reason == "ConnectionCut") error->reason = "ListCut";
    return fail(std::move(*error));
  }
  return response;
}

Status Client::list_each(const Resource& resource, std::string_view ns, const ListOptions& options,
                         const std::function<Status(Json&& object)>& on_item) const {
  Pages pages(timeout_);
  do {
    Request request = list_request(resource, ns, options, pages.token());
    request.stop = stop_;
    Result<Json> list = Json();
    Status stopped;  // by the caller's function, whose errors are its own
    const auto take = [&](Json&& item) -> Status {
      name_item(item, resource);
      stopped = on_item(std::move(item));
      return stopped;
    };
    const auto answered =
        with_timeout(pages.left()).send(request, [&](const Request& one) { return stream_list(one, take, list); });
    if (!stopped) return stopped;
    if (!answered) return fail(answered.error());
    if (!list) return fail(located(list.error().wrap("the server's list cannot be read")));
    if (auto more = pages.follow(str(*list, {"metadata", "continue"})); !more) return fail(located(more.error()));
  } while (!pages.token().empty());
  return {};
}

Status Client::list_pages(const Resource& resource, std::string_view ns, const ListOptions& options,
                          const std::function<Status(const Json& page)>& page) const {
  ListOptions wanted = options;
  if (!wanted.limit) wanted.limit = kPage;
  Pages pages(timeout_);
  do {
    FLEETADM_TRY(const auto response, with_timeout(pages.left()).read(list_request(resource, ns, wanted, pages.token())));
    auto list = parse_list(response);
    if (!list) return fail(located(list.error()));
    for (auto& item : (*list)["items"]) name_item(item, resource);
    FLEETADM_CHECK(page(*list));
    if (auto more = pages.follow(str(*list, {"metadata", "continue"})); !more) return fail(located(more.error()));
  } while (!pages.token().empty());
  return {};
}

Result<Response> Client::raw(const Request& request) const {
  if (request.method != Method::kGet && request.method != Method::kHead) {
    return fail(Category::kInternal, "raw requests only read");
  }
  return read(request);
}

}  // namespace fleetadm::kube
