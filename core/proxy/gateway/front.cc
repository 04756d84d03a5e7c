#include "core/proxy/gateway/front.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <stop_token>
#include <utility>
#include <variant>

#include "core/proxy/gateway/authenticator.h"
#include "core/proxy/gateway/authorizer.h"
#include "core/proxy/gateway/credentials.h"
#include "core/proxy/gateway/exchange.h"
#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/passing.h"
#include "core/proxy/rules/requested_user.h"
#include "core/proxy/rules/routes.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::proxy {
namespace {

constexpr std::array<std::string_view, 7> kMethods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
constexpr std::string_view kAuditId = "audit-id";
/// Those that speak for themselves: nobody behind the gateway speaks for it.
constexpr std::array<std::string_view, 3> kHopsBehind = {hop_names::kTunnel, hop_names::kAgent, hop_names::kMember};

Error refusal(int code, Category category, std::string message) {
  return {.code = code, .category = category, .message = std::move(message), .retry_after_seconds = code == 503 ? 1 : 0};
}

/// What goes on to the member: nothing that says who asks, but for the actor.
void name_actor(serve::HttpRequest& request, const Actor& actor, const std::string& audit_id) {
  clean_request(request);
  std::erase_if(request.headers, [](const auto& header) { return header.first == kAuditId; });
  request.headers.emplace_back(kAuditId, audit_id);
  write_actor(actor, request.headers);
  request.peer = nullptr;
}

/// Which hop behind the gateway gave an answer that is not the member's own; empty: it is.
std::string hop_behind(const serve::HttpResponse& answer) {
  for (const auto& [name, value] : answer.headers) {
    if (name == kHopHeader && std::ranges::find(kHopsBehind, value) != kHopsBehind.end()) return value;
  }
  return {};
}

/// One request on its way through the gateway.
struct Passage {
  serve::HttpRequest request;
  serve::Reply reply;
  std::shared_ptr<Exchange> exchange;
  Route route;
  Credentials credentials;
  std::shared_ptr<const Caller> caller;  // on the hub; once that is judged, whom they impersonate
  Actor actor;
  std::string verb;
  std::stop_token left;  // the client
};
using PassagePtr = std::shared_ptr<Passage>;

void answer(Passage& passage, serve::HttpResponse response) {
  auto exchange = std::exchange(passage.exchange, nullptr);
  passage.request.content = nullptr;  // the rest of it is not wanted
  Exchange::attach(exchange, response);
  passage.reply(std::move(response));
}

void refuse(Passage& passage, const Error& error, std::string_view hop = hop_names::kGateway) {
  passage.exchange->record.message = error.message;
  answer(passage, error_answer(error, hop));
}

/// What the hub was asked and did not answer is its failure, what it denied is not.
void refuse_reviewed(Passage& passage, const Error& error) {
  refuse(passage, error, error.code == 503 ? hop_names::kHub : hop_names::kGateway);
}

}  // namespace

struct Front::Inner : std::enable_shared_from_this<Front::Inner> {
  Inner(serve::HttpRuntime& runtime, const kube::Client& hub, FrontOptions given)
      : executor(runtime.executor()),
        options(std::move(given)),
        authenticator(runtime, hub, options.clock),
        authorizer(runtime, hub, options.clock),
        limits(options.limits) {}

  void begin(serve::HttpRequest request, serve::Reply reply);
  void identified(const PassagePtr& passage, const std::shared_ptr<const Caller>& caller);
  void impersonate(const PassagePtr& passage, const std::shared_ptr<const RequestedUser>& asked, std::size_t judged);
  void acting(const PassagePtr& passage);
  void authorized(const PassagePtr& passage);
  void send(const PassagePtr& passage);

  Status read_target(Passage& passage) const;
  Result<std::shared_ptr<Hop>> way_to(const Passage& passage) const;

  const boost::asio::any_io_executor executor;
  FrontOptions options;
  Authenticator authenticator;
  Authorizer authorizer;
  RequestLimits limits;
  std::atomic<bool> draining{false};
  std::shared_ptr<std::atomic<std::size_t>> running = std::make_shared<std::atomic<std::size_t>>(0);
};

void Front::Inner::begin(serve::HttpRequest request, serve::Reply reply) {
  AuditRecord record;
  record.time = options.clock->now();
  record.id = random_uuid();
  record.method = request.method;
  record.path = request.path;
  if (request.peer) record.source = request.peer->address;
  ++*running;
  auto passage = std::make_shared<Passage>();
  passage->exchange =
      std::make_shared<Exchange>(std::move(record), [audit = options.audit, count = running](const AuditRecord& ended) {
        --*count;
        if (audit) audit(ended);
      });
  passage->reply = std::move(reply);
  passage->request = std::move(request);
  passage->exchange->count(passage->request);
  passage->left = passage->request.left;
  auto credentials = take_credentials(passage->request);
  if (draining) return refuse(*passage, refusal(503, Category::kUnavailable, "this gateway is shutting down; try another"));
  if (!credentials) return refuse(*passage, credentials.error());
  passage->credentials = std::move(*credentials);
  if (const auto read = read_target(*passage); !read) return refuse(*passage, read.error());
  authenticator.authenticate(passage->credentials, [self = shared_from_this(), passage](const auto& caller) {
    if (!caller) return refuse_reviewed(*passage, caller.error());
    self->identified(passage, *caller);
  });
}

Status Front::Inner::read_target(Passage& passage) const {
  const auto& request = passage.request;
  if (std::ranges::find(kMethods, request.method) == kMethods.end())
    return fail(refusal(405, Category::kUnsupported, "the gateway does not take this method"));
  FLEETADM_TRY(passage.route, parse_route(request.path, request.query));
  auto& record = passage.exchange->record;
  record.cluster = passage.route.cluster;
  record.path = passage.route.path;
  passage.verb = record.verb = verb_at_member(request, passage.route.path);
  return {};
}

void Front::Inner::identified(const PassagePtr& passage, const std::shared_ptr<const Caller>& caller) {
  passage->caller = caller;
  passage->exchange->record.user = caller->name;
  const auto now = std::chrono::steady_clock::now();
  auto place = limits.enter_caller(caller->name, now);
  if (!place) return refuse(*passage, place.error());
  passage->exchange->budgets.add(limits.bytes_of_caller(caller->name, now));
  passage->exchange->places.push_back(std::move(*place));
  auto asked = read_requested_user(passage->request.headers);
  if (!asked) return refuse(*passage, asked.error());
  if (!*asked) return acting(passage);
  passage->exchange->record.impersonated = (*asked)->user.name;
  if (!passage->credentials.member_token.empty())
    return refuse(*passage,
                  refusal(403, Category::kAuth, "the request impersonates a user and brings a token of the cluster as well"));
  impersonate(passage, std::make_shared<const RequestedUser>(std::move(**asked)), 0);
}

/// As an API server does it: the caller needs the right to each name, and from then on the request is from whom they name.
void Front::Inner::impersonate(const PassagePtr& passage, const std::shared_ptr<const RequestedUser>& asked, std::size_t judged) {
  if (judged == asked->rights.size()) {
    passage->caller = {asked, &asked->user};
    return acting(passage);
  }
  authorizer.authorize(passage->caller, asked->rights[judged],
                       [self = shared_from_this(), passage, asked, judged](const Status& allowed) {
                         if (!allowed) return refuse_reviewed(*passage, allowed.error());
                         self->impersonate(passage, asked, judged + 1);
                       });
}

void Front::Inner::acting(const PassagePtr& passage) {
  if (const auto& token = passage->credentials.member_token; !token.empty()) {
    passage->actor = MemberToken{token};
  } else {
    auto at_member = caller_at_member(*passage->caller);
    if (!at_member) return refuse(*passage, at_member.error());
    passage->actor = std::move(*at_member);
  }
  authorizer.authorize(passage->caller, use_of_cluster(passage->route.cluster, passage->verb),
                       [self = shared_from_this(), passage](const Status& allowed) {
                         if (!allowed) return refuse_reviewed(*passage, allowed.error());
                         self->authorized(passage);
                       });
}

/// Only who may use a cluster is told whether there is one.
void Front::Inner::authorized(const PassagePtr& passage) {
  const std::string& cluster = passage->route.cluster;
  switch (options.state(cluster)) {
    case ClusterState::kAccepted: break;
    case ClusterState::kUnread:
      return refuse(*passage, refusal(503, Category::kUnavailable, "the gateway has not read the clusters of the hub yet"),
                    hop_names::kHub);
    case ClusterState::kAbsent:
      return refuse(*passage, refusal(404, Category::kNotFound, "the hub has no cluster \"" + cluster + "\""));
    case ClusterState::kDenied:
      return refuse(*passage, refusal(403, Category::kAuth, "the hub has not accepted the cluster \"" + cluster + "\""));
  }
  if (const auto& service = passage->route.service; service && !(options.exposes && options.exposes(cluster, *service)))
    return refuse(*passage, refusal(403, Category::kAuth,
                                    "service " + service->ns + "/" + service->name + " of the cluster \"" + cluster +
                                        "\" is not among the exposed services"));
  if (options.down && !passage->route.anyway) {
    if (const auto why = options.down(cluster)) return refuse(*passage, *why, hop_names::kMember);
  }
  const auto now = std::chrono::steady_clock::now();
  auto place = limits.enter_cluster(cluster, now);
  if (!place) return refuse(*passage, place.error());
  passage->exchange->budgets.add(limits.bytes_of_cluster(cluster, now));
  passage->exchange->places.push_back(std::move(*place));
  send(passage);
}

Result<std::shared_ptr<Hop>> Front::Inner::way_to(const Passage& passage) const {
  auto hop = options.hop(passage.route.cluster);
  if (hop) return hop;
  return fail(refusal(503, Category::kUnavailable,
                      "the cluster \"" + passage.route.cluster + "\" has no tunnel to this gateway: its agent is not connected"));
}

void Front::Inner::send(const PassagePtr& passage) {
  auto hop = way_to(*passage);
  if (!hop) return refuse(*passage, hop.error(), hop_names::kTunnel);
  auto& record = passage->exchange->record;
  if (const auto* caller = std::get_if<Caller>(&passage->actor)) record.as = caller->name;
  record.token = std::holds_alternative<MemberToken>(passage->actor);
  const bool asked_upgrade = !passing_upgrade(passage->request.headers).empty();
  const bool head_only = passage->request.method == "HEAD";
  passage->exchange->slow_down(passage->request, executor);
  serve::HttpRequest request = std::move(passage->request);
  request.path = passage->route.path;
  name_actor(request, passage->actor, record.id);
  passage->credentials = {};
  const std::string_view first = options.first_hop ? options.first_hop(passage->route.cluster) : hop_names::kTunnel;
  (*hop)->send(std::move(request), [passage, asked_upgrade, head_only, first](Result<serve::HttpResponse> came) {
    if (passage->left.stop_requested()) return passage->exchange.reset();  // there is nobody to tell
    const std::string where = "cluster \"" + passage->route.cluster + "\"";
    if (!came) {
      const int code = came.error().code;
      return refuse(*passage, came.error().wrap(where), code == 400 || code == 403 ? hop_names::kGateway : first);
    }
    const std::string behind = hop_behind(*came);
    if (!clean_answer(*came, asked_upgrade, head_only))
      return refuse(*passage, refusal(502, Category::kUnavailable, where + ": it switches protocols unasked"), first);
    if (!behind.empty()) came->headers.emplace_back(kHopHeader, behind);
    answer(*passage, std::move(*came));
  });
}

Front::Front(serve::HttpRuntime& runtime, kube::Client hub, FrontOptions options)
    : inner_(std::make_shared<Inner>(runtime, hub, std::move(options))) {}

void Front::handle(serve::HttpRequest request, serve::Reply reply) { inner_->begin(std::move(request), std::move(reply)); }

void Front::drain() { inner_->draining = true; }

std::size_t Front::running() const { return *inner_->running; }

}  // namespace fleetadm::proxy
