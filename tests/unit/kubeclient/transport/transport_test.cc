// The transport against a real TLS server: whom it trusts, what it sends, and how it ends.
#include "kubeclient/transport/transport.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "kubeclient/base/log.h"
#include "kubeclient/config/rest_config.h"
#include "tests/support/tls_server.h"
#include "tests/unit/kubeclient/transport/transport_fixture.h"

namespace fleetadm::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testkit::TlsHandler;
using testkit::TlsRequest;
using testkit::TlsServer;
using testkit::TlsWrite;

TEST_F(TransportTest, AsksForCompressionBeyondTheMachineUnlessToldNotTo) {
  std::mutex mutex;
  std::vector<std::string> seen;
  const TlsServer server(ours->server, [&](const TlsRequest& request, const TlsWrite& write) {
    const std::scoped_lock lock(mutex);
    const auto found = request.headers.find("accept-encoding");
    seen.push_back(found == request.headers.end() ? "" : found->second);
    return echo(request, write);
  });
  auto where = config(server);
  where.server = "https://0.0.0.0:" + std::to_string(server.port());  // reaches this machine without being named as it
  where.tls_server_name = "127.0.0.1";
  ASSERT_TRUE(make_transport(where)->call(get("/")));
  where.disable_compression = true;
  ASSERT_TRUE(make_transport(where)->call(get("/")));
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(seen, (std::vector<std::string>{"gzip", ""}));
}

TEST_F(TransportTest, SendsVerbsBodiesQueriesAndHeaders) {
  std::mutex mutex;
  std::vector<TlsRequest> seen;
  const TlsServer server(ours->server, [&](const TlsRequest& request, const TlsWrite& write) {
    {
      const std::scoped_lock lock(mutex);
      seen.push_back(request);
    }
    return echo(request, write);
  });
  source->credentials.token = "abc";
  auto where = config(server);
  where.server += "/prefix/";
  where.impersonate_user = "jane";
  where.impersonate_groups = {"g1"};
  where.impersonate_extra = {{"Scopes/x", {"v"}}};
  const auto transport = make_transport(where);
  for (const auto method : {Method::kGet, Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
    auto request = get("/api/v1/x");
    request.method = method;
    request.query = {{"labelSelector", "a in (b,c)"}, {"limit", "5"}};
    if (method != Method::kGet) request.body = "{}";
    const auto response = transport->call(request);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body,
              std::string(to_string(method)) + " /prefix/api/v1/x?labelSelector=a%20in%20%28b%2Cc%29&limit=5 " + request.body);
    EXPECT_EQ(response->headers.at("content-type"), "application/json");
  }
  const std::scoped_lock lock(mutex);
  const auto& headers = seen.at(1).headers;
  EXPECT_EQ(headers.at("authorization"), "Bearer abc");
  EXPECT_EQ(headers.at("impersonate-user"), "jane");
  EXPECT_EQ(headers.at("impersonate-group"), "g1");
  EXPECT_EQ(headers.at("impersonate-extra-scopes%2fx"), "v");
  EXPECT_EQ(headers.at("content-type"), "application/json");
  EXPECT_FALSE(headers.contains("accept-encoding"));  // nothing to save on loopback
  EXPECT_TRUE(headers.at("user-agent").starts_with("fleetadm/"));
  EXPECT_FALSE(headers.contains("expect"));
  EXPECT_EQ(server.connections(), kFirst + 1);
}

TEST_F(TransportTest, TrustsTheKubeconfigsAuthorityAlone) {
  std::atomic<int> answered{0};
  const auto count = [&](const TlsRequest& request, const TlsWrite& write) {
    ++answered;
    return echo(request, write);
  };
  source->credentials.token = "secret-token";
  const auto foreign = authority("foreign");
  const TlsServer server(foreign.server, count);
  const auto refused = make_transport(config(server))->call(get("/api"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kTls);
  EXPECT_EQ(refused.error().reason, "UnknownAuthority");
  EXPECT_NE(refused.error().message.find("127.0.0.1:" + std::to_string(server.port())), std::string::npos);
  EXPECT_EQ(refused.error().cluster, "test");

  auto no_ca = config(server);
  no_ca.ca_data.clear();
  EXPECT_EQ(make_transport(no_ca)->call(get("/api")).error().reason, "UnknownAuthority");
  auto bad_ca = config(server);
  bad_ca.ca_data = "no certificate";
  EXPECT_EQ(make_transport(bad_ca)->call(get("/api")).error().category, Category::kTls);
  EXPECT_EQ(answered, 0);

  auto both = config(server);
  both.ca_data += foreign.ca.certificate;
  EXPECT_TRUE(make_transport(both)->call(get("/api")));
}

TEST_F(TransportTest, ChecksNamesAndDates) {
  auto leaf = server_leaf();
  leaf.ip_addresses = {"127.0.0.9"};
  const TlsServer other_name(pki::issue(ours->ca, leaf).value(), echo);
  auto where = config(other_name);
  auto result = make_transport(where)->call(get("/api"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "NameMismatch");
  EXPECT_NE(result.error().message.find("127.0.0.1"), std::string::npos);
  EXPECT_NE(result.error().hint.find("tls-server-name"), std::string::npos);
  where.tls_server_name = "api.example.com";
  EXPECT_TRUE(make_transport(where)->call(get("/api")));
  where.tls_server_name = "other.example.com";
  result = make_transport(where)->call(get("/api"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "NameMismatch");
  EXPECT_NE(result.error().message.find("other.example.com"), std::string::npos);

  leaf = server_leaf();
  leaf.backdate = std::chrono::hours(5);
  leaf.validity = -std::chrono::hours(1);
  const TlsServer expired(pki::issue(ours->ca, leaf).value(), echo);
  EXPECT_EQ(make_transport(config(expired))->call(get("/api")).error().reason, "CertificateExpired");
  leaf = server_leaf();
  leaf.backdate = -std::chrono::hours(2);
  const TlsServer early(pki::issue(ours->ca, leaf).value(), echo);
  EXPECT_EQ(make_transport(config(early))->call(get("/api")).error().reason, "CertificateNotYetValid");
}

TEST_F(TransportTest, TheHostHeaderIsTheServersOwn) {
  std::string host;
  const TlsServer server(ours->server, [&](const TlsRequest& request, const TlsWrite& write) {
    host = request.headers.at("host");
    return echo(request, write);
  });
  auto where = config(server);
  where.tls_server_name = "api.example.com";
  ASSERT_TRUE(make_transport(where)->call(get("/api")));
  EXPECT_EQ(host, "127.0.0.1:" + std::to_string(server.port()));
}

TEST_F(TransportTest, RefusesWhatWouldNotBeChecked) {
  RestConfig where;
  where.name = "test";
  where.server = "https://127.0.0.1:1";
  where.insecure = true;
  auto result = make_transport(where)->call(get("/api"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().category, Category::kTls);
  EXPECT_NE(result.error().message.find("insecure-skip-tls-verify"), std::string::npos);
  where.insecure = false;
  where.server = "http://192.0.2.1:8080";
  EXPECT_EQ(make_transport(where)->call(get("/api")).error().category, Category::kTls);
  for (const auto* bad : {"", "ftp://127.0.0.1", "https://", "://"}) {
    where.server = bad;
    EXPECT_EQ(make_transport(where)->call(get("/api")).error().category, Category::kUsage) << bad;
  }
  const auto watcher = std::make_shared<Watcher>();
  const auto handle = make_transport(where)->stream(get("/api"), watcher);
  ASSERT_TRUE(watcher->wait([&] { return watcher->ends == 1; }));
  EXPECT_TRUE(watcher->error);
}

TEST_F(TransportTest, PlainHttpOnLoopbackCarriesNoCredentials) {
  std::map<std::string, std::string> headers;
  const TlsServer server(
      {},
      [&](const TlsRequest& request, const TlsWrite& write) {
        headers = request.headers;
        return echo(request, write);
      },
      false);
  source->credentials.token = "secret";
  ASSERT_TRUE(make_transport(config(server))->call(get("/api")));
  EXPECT_FALSE(headers.contains("authorization"));
  EXPECT_EQ(source->asked, 0);

  auto tls = config(server);
  tls.server.replace(0, 4, "https");
  EXPECT_EQ(make_transport(tls)->call(get("/api")).error().reason, "NotTls");
}

TEST_F(TransportTest, NamesRefusedAndUnresolvableServers) {
  RestConfig where;
  {
    const TlsServer gone(ours->server, echo);
    where = config(gone);
  }
  EXPECT_EQ(make_transport(where)->call(get("/api")).error().reason, "ConnectionRefused");
  where.server = "https://does-not-exist.invalid:6443";
  where.proxy_url.clear();
  const auto result = make_transport(where)->call(get("/api"));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().category, Category::kInternal);
  EXPECT_NE(result.error().message.find("does-not-exist.invalid:6443"), std::string::npos);
}

TEST_F(TransportTest, PresentsTheClientCertificate) {
  const TlsServer server(ours->server, [](const TlsRequest& request, const TlsWrite& write) {
    return write(TlsServer::response(200, request.client_name));
  });
  pki::LeafOptions leaf;
  leaf.subject.common_name = "agent-1";
  leaf.client = true;
  const auto pair = pki::issue(ours->ca, leaf).value();
  source->credentials.client_certificate = pair.certificate;
  source->credentials.client_key = pair.key;
  const auto transport = make_transport(config(server));
  EXPECT_EQ(transport->call(get("/api"))->body, "agent-1");

  // A rotated certificate means a new connection.
  leaf.subject.common_name = "agent-2";
  const auto rotated = pki::issue(ours->ca, leaf).value();
  source->credentials.client_certificate = rotated.certificate;
  source->credentials.client_key = rotated.key;
  EXPECT_EQ(transport->call(get("/api"))->body, "agent-2");
  EXPECT_EQ(server.connections(), kFirst + 2);

  source->credentials.client_key = pair.key;
  const auto mixed = make_transport(config(server))->call(get("/api"));
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().category, Category::kAuth);
}

TEST_F(TransportTest, TwoTransportsNeverShareAConnection) {
  const TlsServer server(ours->server, echo);
  const auto one = make_transport(config(server));
  const auto two = make_transport(config(server));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(one->call(get("/api")));
    EXPECT_TRUE(two->call(get("/api")));
  }
  EXPECT_EQ(server.connections(), 2 * (kFirst + 1));
}

TEST_F(TransportTest, RequestsInAnothersNameUseTheConnectionsOfTheirCredential) {
  const TlsServer server(ours->server, [](const TlsRequest& request, const TlsWrite& write) {
    const auto named = request.headers.find("impersonate-user");
    return write(TlsServer::response(200, named == request.headers.end() ? "themselves" : named->second));
  });
  const RestConfig own = config(server);
  RestConfig worker = own;
  worker.impersonate_user = "worker";
  auto one = make_transport(own);
  const auto two = make_transport(worker);
  EXPECT_EQ(one->call(get("/api"))->body, "themselves");
  EXPECT_EQ(two->call(get("/api"))->body, "worker");
  EXPECT_EQ(one->call(get("/api"))->body, "themselves");
  EXPECT_EQ(server.connections(), kFirst + 1);
  one.reset();
  EXPECT_TRUE(two->call(get("/api"))) << "it holds what it was lent";
  EXPECT_EQ(server.connections(), kFirst + 1);

  RestConfig other = worker;
  other.credentials = std::make_shared<Source>();
  EXPECT_TRUE(make_transport(other)->call(get("/api")));
  EXPECT_EQ(server.connections(), 2 * (kFirst + 1)) << "another credential";
}

TEST_F(TransportTest, A401IsRepeatedOnceWithFreshCredentials) {
  std::atomic<int> requests{0};
  const TlsServer server(ours->server, [&](const TlsRequest& request, const TlsWrite& write) {
    ++requests;
    const bool fresh = request.headers.at("authorization") == "Bearer fresh" && request.target != "/never";
    return write(TlsServer::response(fresh ? 200 : 401, fresh ? request.body : "who are you"));
  });
  for (const bool slow : {false, true}) {
    source = std::make_shared<Source>();
    source->slow = slow;
    source->credentials.token = "stale";
    const auto transport = make_transport(config(server));
    auto request = get("/api");
    request.method = Method::kPost;
    request.body = "body";
    requests = 0;
    auto response = transport->call(request);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "body");
    EXPECT_EQ(requests, 2);

    requests = 0;
    response = transport->call(get("/never"));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 401);
    EXPECT_EQ(response->body, "who are you");
    EXPECT_EQ(requests, 2);

    source->can_refresh = false;
    requests = 0;
    const auto watcher = std::make_shared<Watcher>();
    const auto handle = transport->stream(get("/never"), watcher);
    ASSERT_TRUE(watcher->wait([&] { return watcher->ends == 1; }));
    EXPECT_EQ(watcher->status, 401);
    EXPECT_EQ(watcher->text, "who are you");
    EXPECT_EQ(requests, 1);
  }
}

TEST_F(TransportTest, VerboseLogsHoldNoSecrets) {
  const TlsServer server(ours->server, [](const TlsRequest&, const TlsWrite& write) {
    return write(
        TlsServer::response(200, R"({"kind":"Secret","data":{"k":"c2VjcmV0LXRoaW5n"}})", "Set-Cookie: secret-cookie\r\n"));
  });
  source->credentials.token = "secret-token";
  auto request = get("/api/v1/namespaces/a/secrets");
  request.method = Method::kPost;
  request.body = R"({"kind":"Secret","stringData":{"k":"secret-plain"}})";
  request.headers["Cookie"] = "secret-jar";
  log::set_verbosity(9);
  testing::internal::CaptureStderr();
  const auto response = make_transport(config(server))->call(request);
  const std::string logged = testing::internal::GetCapturedStderr();
  log::set_verbosity(0);
  ASSERT_TRUE(response);
  EXPECT_NE(logged.find("POST " + server.url() + "/api/v1/namespaces/a/secrets 200"), std::string::npos) << logged;
  EXPECT_EQ(logged.find("secret-"), std::string::npos) << logged;
  EXPECT_EQ(logged.find("c2VjcmV0"), std::string::npos) << logged;
}

TEST_F(TransportTest, FailedCredentialsSendNothing) {
  class Broken final : public CredentialSource {
   public:
    Result<Credentials> current() override { return fail(Category::kAuth, "the plugin failed"); }
    bool refresh() override { return false; }
  };
  std::atomic<int> requests{0};
  const TlsServer server(ours->server, [&](const TlsRequest& request, const TlsWrite& write) {
    ++requests;
    return echo(request, write);
  });
  auto where = config(server);
  where.credentials = std::make_shared<Broken>();
  EXPECT_EQ(make_transport(where)->call(get("/api")).error().message, "the plugin failed");
  where.credentials = source;
  source->credentials.token = "two\r\nX-Injected: lines";
  EXPECT_EQ(make_transport(where)->call(get("/api")).error().category, Category::kUsage);
  EXPECT_EQ(requests, 0);
}

TEST_F(TransportTest, EndsInTimeAndOnCancel) {
  std::atomic<bool> release{false};
  const TlsServer server(ours->server, [&](const TlsRequest& request, const TlsWrite& write) {
    if (request.target == "/trickle") {
      write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      while (!release && write("1\r\nx\r\n")) std::this_thread::sleep_for(milliseconds(5));
      return false;
    }
    while (!release) std::this_thread::sleep_for(milliseconds(5));
    return false;
  });
  const auto transport = make_transport(config(server));
  for (const auto* path : {"/silent", "/trickle"}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto late = transport->call(get(path, milliseconds(200)));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().category, Category::kTimeout) << late.error().message;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));

    std::stop_source stop;
    auto request = get(path, Duration::zero());
    request.stop = stop.get_token();
    std::jthread later([&] {
      std::this_thread::sleep_for(milliseconds(100));
      stop.request_stop();
    });
    const auto cancelled = transport->call(request);
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().category, Category::kCancelled);
  }
  release = true;
}

}  // namespace
}  // namespace fleetadm::kube
