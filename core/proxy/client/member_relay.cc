#include "core/proxy/client/member_relay.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <openssl/crypto.h>
#include <optional>
#include <utility>

#include "core/proxy/client/gateway_access.h"
#include "core/proxy/client/hub_credentials.h"
#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/headers.h"
#include "core/proxy/rules/routes.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/authority.h"

namespace fleetadm::proxy {
namespace {

constexpr auto kAskAgain = std::chrono::minutes(1);
constexpr auto kCertificateLife = std::chrono::hours(24 * 7);
constexpr const char* kMemberTokenHeader = "fleetadm-member-token";
constexpr std::size_t kFindAtOnce = 8;  // ways to clusters
constexpr std::size_t kStreams = 1000;  // of one connection: commands ask up to 900 clusters at a time

bool brings(const serve::HttpRequest& request, const std::string& token) {
  const std::string wanted = "Bearer " + token;
  const auto all = request.all("authorization");
  return all.size() == 1 && all.front().size() == wanted.size() &&
         CRYPTO_memcmp(all.front().data(), wanted.data(), wanted.size()) == 0;
}

std::string_view name_of_server(Way way) {
  switch (way) {
    case Way::kGateway: return "the gateway";
    case Way::kUserServer: return "the user server of cluster-proxy";
    case Way::kKonnectivity: return "the API server of the cluster";
  }
  return "";
}

/// Tells which hop it was, for those who ask (hops.h).
Error marked(Error error, Way way) {
  if (!error.reason.empty()) return error;
  if (way == Way::kKonnectivity) {
    if (error.category == Category::kTls) error.reason = kMemberNotVerified;
  } else if (error.category == Category::kTls || error.category == Category::kUnavailable) {
    error.reason = kServerUnreachable;
  }
  return error;
}

class RelayCredentials final : public kube::CredentialSource {
 public:
  explicit RelayCredentials(std::shared_ptr<MemberRelay> relay) : relay_(std::move(relay)) {}
  Result<kube::Credentials> current() override { return kube::Credentials{.token = relay_->token()}; }
  bool refresh() override { return false; }

 private:
  const std::shared_ptr<MemberRelay> relay_;
};

}  // namespace

struct MemberRelay::Inner {
  struct Waiting {
    serve::HttpRequest request;  // with the path at the member
    serve::Reply reply;
  };
  struct Member {
    std::optional<MemberRoute> route;
    std::shared_ptr<Http1Hop> hop;
    std::chrono::steady_clock::time_point asked;
    bool asking = false;
    std::deque<Waiting> waiting;  // for the first route
  };

  FindRoute find_route;
  std::string token;
  std::string ca;
  std::shared_ptr<HubCredentials> caller;
  serve::HttpRuntime runtime{kFindAtOnce};
  // Of the I/O thread.
  std::map<std::string, Member> members;
  std::map<std::string, std::shared_ptr<Http1Hop>> hops;  // by server and CA: clusters behind one server share its connections
  bool closed = false;
  std::unique_ptr<serve::HttpListener> listener;

  ~Inner() {
    listener.reset();
    runtime.on_io_thread([this] {
      closed = true;
      members.clear();
      for (const auto& [server, hop] : hops) hop->close();
      hops.clear();
    });
    runtime.stop();
  }

  void answer(serve::HttpRequest request, serve::Reply reply) {
    if (!brings(request, token)) {
      Error refused = fail(Category::kAuth, "the token is not that of this relay").value();
      refused.code = 401;
      return reply(error_answer(refused));
    }
    const auto asked = parse_route(request.path, request.query);
    if (!asked) return reply(error_answer(asked.error()));
    if (asked->form != PathForm::kClusters || asked->service)
      return reply(error_answer(fail(Category::kNotFound, "the relay serves /clusters/NAME/proxy/PATH").value()));
    request.path = asked->path;
    drop_identity_headers(request.headers);
    Member& member = members[asked->cluster];
    const bool known = member.route.has_value();
    if (known) {
      send(member, {std::move(request), std::move(reply)});
    } else {
      member.waiting.push_back({std::move(request), std::move(reply)});
    }
    if (!member.asking && (!known || std::chrono::steady_clock::now() - member.asked > kAskAgain)) ask(asked->cluster, member);
  }

  void ask(const std::string& cluster, Member& member) {
    member.asking = true;
    const bool taken = runtime.work([this, cluster] {
      boost::asio::post(runtime.executor(), [this, cluster, route = std::make_shared<Result<MemberRoute>>(find_route(cluster))] {
        found(cluster, std::move(*route));
      });
    });
    if (!taken) found(cluster, fail(Category::kUnavailable, "too many clusters are asked for at a time"));
  }

  void found(const std::string& cluster, Result<MemberRoute> route) {
    if (closed) return;
    Member& member = members[cluster];
    member.asking = false;
    member.asked = std::chrono::steady_clock::now();
    const Status set = route ? use(member, std::move(*route)) : Status(fail(route.error()));
    // Without a new one, the last is used on.
    for (Waiting& one : std::exchange(member.waiting, {})) {
      if (set) {
        send(member, std::move(one));
      } else {
        Error why = set.error();
        why.reason = kNoRoute;
        why.code = why.category == Category::kAuth ? 403 : 502;  // and not 404: nothing was looked for at the member
        one.reply(error_answer(why));
      }
    }
  }

  Status use(Member& member, MemberRoute route) {
    std::shared_ptr<Http1Hop>& hop = hops[route.server + "\n" + route.server_name + "\n" + route.ca];
    if (!hop) {
      Http1HopOptions options;
      options.name = name_of_server(route.way);
      options.server = route.server;
      options.ca = route.ca;
      options.tls_server_name = route.server_name;
      if (route.way == Way::kGateway) options.credentials = caller;
      if (route.dial)
        options.connect = [executor = runtime.executor(), dial = route.dial](MemberRoute::Dialed done) {
          dial(executor, std::move(done));
        };
      auto made = Http1Hop::make(runtime.executor(), std::move(options));
      if (!made) {
        hops.erase(route.server + "\n" + route.server_name + "\n" + route.ca);
        return fail(made.error());
      }
      hop = std::move(*made);
    }
    member.hop = hop;
    member.route = std::move(route);
    return {};
  }

  void send(Member& member, Waiting one) {
    const MemberRoute& route = *member.route;
    one.request.path = route.prefix + one.request.path;
    if (!route.token.empty()) {
      if (route.way == Way::kGateway) {
        one.request.headers.emplace_back(kMemberTokenHeader, route.token);
      } else {
        one.request.headers.emplace_back("authorization", "Bearer " + route.token);
      }
    }
    member.hop->send(std::move(one.request), [way = route.way, reply = std::move(one.reply)](Result<serve::HttpResponse> answer) {
      reply(answer ? std::move(*answer) : error_answer(marked(answer.error(), way)));
    });
  }

  Status listen() {
    FLEETADM_TRY(const auto authority,
                 pki::renew_authority(std::nullopt, "fleetadm relay CA", kCertificateLife, Clock::system()->now()));
    ca = authority.bundle;
    serve::ListenOptions options;
    options.loopback_only = true;
    options.limits.streams = kStreams;
    FLEETADM_TRY(options.certificate,
                 pki::issue_serving(authority, "fleetadm relay", {"localhost"}, {"127.0.0.1"}, kCertificateLife));
    options.streams_body = [](const serve::HttpRequest&) { return true; };
    FLEETADM_TRY(listener,
                 serve::HttpListener::start_direct(runtime, options, [this](serve::HttpRequest request, serve::Reply reply) {
                   answer(std::move(request), std::move(reply));
                 }));
    return {};
  }
};

MemberRelay::MemberRelay(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
MemberRelay::~MemberRelay() = default;

Result<std::shared_ptr<MemberRelay>> MemberRelay::start(Options options) {
  auto inner = std::make_unique<Inner>();
  inner->find_route = std::move(options.route);
  inner->token = random_uuid() + random_uuid();
  if (options.caller) {
    inner->caller = std::make_shared<HubCredentials>(options.caller);
    FLEETADM_CHECK(inner->caller->read());
    inner->caller->keep_reading();
  }
  FLEETADM_CHECK(inner->listen());
  return std::shared_ptr<MemberRelay>(new MemberRelay(std::move(inner)));
}

std::string MemberRelay::server() const { return "https://" + inner_->listener->endpoint(); }
const std::string& MemberRelay::ca() const { return inner_->ca; }
const std::string& MemberRelay::token() const { return inner_->token; }

kube::RestConfig relay_config(const std::shared_ptr<MemberRelay>& relay) {
  kube::RestConfig config;
  config.server = relay->server();
  config.ca_data = relay->ca();
  config.credentials = std::make_shared<RelayCredentials>(relay);
  config.name = "relay";
  return config;
}

}  // namespace fleetadm::proxy
