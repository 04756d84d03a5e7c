// Requests over HTTP/2: what is sent, what is taken, and what becomes of both where the server leaves, refuses or falls silent.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <gtest/gtest.h>
#include <mutex>
#include <nghttp2/nghttp2.h>
#include <set>
#include <thread>
#include <zlib.h>

#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/transport.h"
#include "tests/support/http2_script.h"

namespace fleetadm::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testkit::Http2Script;
using Session = Http2Script::Session;
using Asked = Http2Script::Request;

constexpr std::size_t kMebibyte = 1024UL * 1024UL;

class Onlooker final : public StreamSink {
 public:
  void on_response(int code, const std::map<std::string, std::string>&) override {
    set([&] { status = code; });
  }
  void on_data(std::string_view chunk) override {
    set([&] { text += chunk; });
  }
  void on_end(std::optional<Error> failure) override {
    set([&] {
      ended = true;
      error = std::move(failure);
    });
  }
  template <class Done>
  bool wait(const Done& done, Duration timeout = seconds(10)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, done);
  }
  int status = 0;
  std::string text;
  bool ended = false;
  std::optional<Error> error;

 private:
  template <class Work>
  void set(const Work& work) {
    const std::scoped_lock lock(mutex_);
    work();
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
};

std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class Http2Test : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ca_ = *pki::make_ca("http2", std::chrono::hours(1));
    pki::LeafOptions leaf;
    leaf.subject.common_name = "server";
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    server_ = *pki::issue(ca_, leaf);
  }
  static pki::KeyPair client(std::string name) {
    pki::LeafOptions leaf;
    leaf.subject.common_name = std::move(name);
    leaf.client = true;
    return *pki::issue(ca_, leaf);
  }

  static RestConfig config(const Http2Script& server) {
    RestConfig out;
    out.server = server.url();
    out.ca_data = ca_.certificate;
    out.credentials =
        static_credentials({.client_certificate = {}, .client_key = {}, .token = "secret", .username = {}, .password = {}});
    return out;
  }
  static Request get(std::string path, Duration timeout = seconds(10)) {
    Request request;
    request.path = std::move(path);
    request.timeout = timeout;
    return request;
  }
  static Request post(std::string body) {
    Request request = get("/things");
    request.method = Method::kPost;
    request.body = std::move(body);
    return request;
  }

  static pki::KeyPair ca_;
  static pki::KeyPair server_;
};
pki::KeyPair Http2Test::ca_;
pki::KeyPair Http2Test::server_;

TEST_F(Http2Test, SendsRequestsAsTheyAre) {
  Asked seen;
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    seen = asked;
    session.answer(asked.stream, 201, "made", {{"x-one", "1"}, {"x-one", "2"}});
  });
  const auto transport = make_transport(config(server));
  Request request = post("{\"a\":1}");
  request.query = {{"fieldManager", "a b"}};
  request.headers = {{"X-Extra", "yes"}, {"X-Empty", ""}};
  const auto answer = transport->call(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "made");
  EXPECT_EQ(answer->headers.at("x-one"), "1, 2");
  EXPECT_FALSE(answer->headers.contains(":status"));
  EXPECT_EQ(seen.body, "{\"a\":1}");
  EXPECT_EQ(seen.headers.at(":method"), "POST");
  EXPECT_EQ(seen.headers.at(":path"), "/things?fieldManager=a%20b");
  EXPECT_EQ(seen.headers.at(":scheme"), "https");
  EXPECT_EQ("https://" + seen.headers.at(":authority"), server.url());
  EXPECT_EQ(seen.headers.at("authorization"), "Bearer secret");
  EXPECT_EQ(seen.headers.at("content-type"), "application/json");
  EXPECT_EQ(seen.headers.at("content-length"), "7");
  EXPECT_EQ(seen.headers.at("x-extra"), "yes");
  EXPECT_EQ(seen.headers.at("x-empty"), "");
  EXPECT_TRUE(seen.headers.at("user-agent").starts_with("fleetadm/"));
  EXPECT_FALSE(seen.headers.contains("host"));
}

TEST_F(Http2Test, NamesTheServersOwnHostBesideAnotherServerName) {
  Asked seen;
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    seen = asked;
    session.answer(asked.stream, 200);
  });
  RestConfig where = config(server);
  where.tls_server_name = "127.0.0.1";
  where.server.replace(where.server.find("127.0.0.1"), 9, "localhost");
  ASSERT_TRUE(make_transport(where)->call(get("/")));
  EXPECT_EQ("https://" + seen.headers.at(":authority"), where.server);
  where.tls_server_name = "other.example.com";
  const auto refused = make_transport(where)->call(get("/"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "NameMismatch");
}

TEST_F(Http2Test, GoesThroughTheProxyThatTheEnvironmentNamesUnlessItExemptsTheServer) {
  const Http2Script server(server_, [](Session& session, const Asked& asked) { session.answer(asked.stream, 200, "direct"); });
  RestConfig where = config(server);
  where.tls_server_name = "127.0.0.1";
  where.server.replace(where.server.find("127.0.0.1"), 9, "0.0.0.0");  // this machine, which is not told by its name
  ::setenv("https_proxy", "http://127.0.0.1:1", 1);
  EXPECT_FALSE(make_transport(where)->call(get("/")));
  ::setenv("no_proxy", "example.com,0.0.0.0", 1);
  const auto direct = make_transport(where)->call(get("/"));
  ::unsetenv("https_proxy");
  ::unsetenv("no_proxy");
  ASSERT_TRUE(direct) << direct.error().message;
  EXPECT_EQ(direct->body, "direct");
}

TEST_F(Http2Test, CarriesLargeBodiesBothWays) {
  const Http2Script server(
      server_, [&](Session& session, const Asked& asked) { session.answer(asked.stream, 200, asked.body + asked.body); });
  const auto transport = make_transport(config(server));
  std::string body(7 * kMebibyte, 'x');
  for (std::size_t i = 0; i < body.size(); i += 997) body[i] = static_cast<char>('a' + i % 26);
  Request request = post(body);
  request.method = Method::kPut;
  const auto answer = transport->call(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->body == body + body);
}

TEST_F(Http2Test, TakesCompressedAnswersWhole) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919) + " ";
  const std::string packed = gzip(text);
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    const std::string& path = asked.headers.at(":path");
    const std::string body = path == "/whole" ? packed : path == "/cut" ? packed.substr(0, packed.size() / 2) : "no gzip at all";
    session.answer(asked.stream, 200, body, {{"content-encoding", "gzip"}});
  });
  const auto transport = make_transport(config(server));
  const auto whole = transport->call(get("/whole"));
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_TRUE(whole->body == text);
  EXPECT_FALSE(transport->call(get("/cut")));
  EXPECT_FALSE(transport->call(get("/none")));
}

TEST_F(Http2Test, InterimAnswersAreNoAnswers) {
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    session.interim(asked.stream, 103);
    session.answer(asked.stream, 200, "done");
  });
  const auto answer = make_transport(config(server))->call(get("/"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "done");
}

TEST_F(Http2Test, SharesAConnectionAsFarAsTheServerAllows) {
  const Http2Script server(server_,
                           [](Session& session, const Asked& asked) {
                             const bool stays = asked.headers.at(":path") == "/watch";
                             session.answer(asked.stream, 200, std::to_string(asked.connection), {}, !stays);
                           },
                           {.max_streams = 3});
  const auto transport = make_transport(config(server));
  ASSERT_EQ(transport->call(get("/"))->body, "1");
  std::vector<std::shared_ptr<Onlooker>> watchers;
  std::vector<std::unique_ptr<StreamHandle>> handles;
  for (int i = 0; i < 3; ++i) {
    watchers.push_back(std::make_shared<Onlooker>());
    handles.push_back(transport->stream(get("/watch", Duration::zero()), watchers.back()));
    ASSERT_TRUE(watchers.back()->wait([&] { return watchers.back()->text == "1"; }));
  }
  ASSERT_EQ(transport->call(get("/"))->body, "2");
  handles.clear();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(transport->call(get("/"))->body, "1");
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(Http2Test, AnotherCertificateIsAnotherConnection) {
  const Http2Script server(server_,
                           [](Session& session, const Asked& asked) { session.answer(asked.stream, 200, asked.client_name); });
  class Changing final : public CredentialSource {
   public:
    Result<Credentials> current() override {
      const std::scoped_lock lock(mutex);
      return Credentials{
          .client_certificate = pair.certificate, .client_key = pair.key, .token = {}, .username = {}, .password = {}};
    }
    bool refresh() override { return false; }
    std::mutex mutex;
    pki::KeyPair pair;
  };
  const auto source = std::make_shared<Changing>();
  source->pair = client("one");
  RestConfig where = config(server);
  where.credentials = source;
  const auto transport = make_transport(where);
  EXPECT_EQ(transport->call(get("/"))->body, "one");
  EXPECT_EQ(transport->call(get("/"))->body, "one");
  EXPECT_EQ(server.connections(), 1);
  {
    const std::scoped_lock lock(source->mutex);
    source->pair = client("two");
  }
  EXPECT_EQ(transport->call(get("/"))->body, "two");
  EXPECT_EQ(server.connections(), 2);
  {
    const std::scoped_lock lock(source->mutex);
    source->pair.key = client("three").key;
    source->pair.certificate = client("four").certificate;
  }
  const auto broken = transport->call(get("/"));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().reason, "ClientCertificateUnusable");
}

TEST_F(Http2Test, WhatALeavingServerHasNotLookedAtIsSentElsewhere) {
  std::atomic<int> posts{0};
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    if (asked.headers.at(":method") == "GET") return session.answer(asked.stream, 200, "open", {}, false);
    ++posts;
    if (asked.connection == 1) return session.go_away(asked.stream - 2);
    session.answer(asked.stream, 200, std::to_string(asked.connection));
  });
  const auto transport = make_transport(config(server));
  const auto open = std::make_shared<Onlooker>();
  const auto handle = transport->stream(get("/watch", Duration::zero()), open);
  ASSERT_TRUE(open->wait([&] { return open->text == "open"; }));
  const auto answer = transport->call(post("x"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "2");
  EXPECT_EQ(posts, 2);
  EXPECT_FALSE(open->ended);  // it was looked at, and goes on where it is
}

TEST_F(Http2Test, WhatIsRefusedIsTriedAgainButNotForEver) {
  std::atomic<int> seen{0};
  std::atomic<int> refusals{1};
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    if (++seen <= refusals) return session.reset(asked.stream, NGHTTP2_REFUSED_STREAM);
    session.answer(asked.stream, 200, "taken");
  });
  const auto transport = make_transport(config(server));
  const auto taken = transport->call(post("x"));
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(seen, 2);
  refusals = 1000;
  seen = 0;
  EXPECT_FALSE(transport->call(post("x")));
  EXPECT_EQ(seen, 4);
}

TEST_F(Http2Test, ReadsAreRepeatedWhereAnOldConnectionWasCutAndWritesAreNot) {
  std::atomic<int> cuts{0};
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    if (asked.headers.at(":path") == "/warm") return session.answer(asked.stream, 200, std::to_string(asked.connection));
    if (cuts-- > 0) return session.cut();
    session.answer(asked.stream, 200, "again");
  });
  const auto transport = make_transport(config(server));
  ASSERT_TRUE(transport->call(get("/warm")));
  cuts = 1;
  const auto read = transport->call(get("/read"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->body, "again");
  cuts = 1;
  const auto write = transport->call(post("x"));
  ASSERT_FALSE(write);
  EXPECT_EQ(write.error().reason, "ConnectionCut");
  EXPECT_EQ(write.error().category, Category::kUnavailable);
}

TEST_F(Http2Test, ACutAnswerIsNoWholeOne) {
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    session.answer(asked.stream, 200, "half", {}, false);
    const std::string& path = asked.headers.at(":path");
    if (path == "/cut") session.cut();
    if (path == "/reset") session.reset(asked.stream, NGHTTP2_INTERNAL_ERROR);
    if (path == "/quiet") session.reset(asked.stream, NGHTTP2_NO_ERROR);
  });
  const auto transport = make_transport(config(server));
  for (const char* path : {"/cut", "/reset", "/quiet"}) {
    const auto watcher = std::make_shared<Onlooker>();
    const auto handle = transport->stream(get(path), watcher);
    ASSERT_TRUE(watcher->wait([&] { return watcher->ended; })) << path;
    EXPECT_EQ(watcher->text, "half") << path;
    ASSERT_TRUE(watcher->error) << path;
    EXPECT_EQ(watcher->error->category, Category::kUnavailable) << path;
  }
}

TEST_F(Http2Test, AServerThatFallsSilentIsNoticed) {
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    session.answer(asked.stream, 200, "open", {}, false);
    if (asked.headers.at(":path") == "/silent") session.fall_silent();
  });
  RestConfig where = config(server);
  where.read_idle_timeout = milliseconds(200);
  where.ping_timeout = milliseconds(200);
  const auto transport = make_transport(where);
  const auto lasting = std::make_shared<Onlooker>();
  const auto lasting_handle = transport->stream(get("/lasting", Duration::zero()), lasting);
  ASSERT_TRUE(lasting->wait([&] { return lasting->text == "open"; }));
  EXPECT_FALSE(lasting->wait([&] { return lasting->ended; }, milliseconds(1500)));  // it answers pings
  EXPECT_GE(server.pings(), 4);
  const auto begun = std::chrono::steady_clock::now();
  const auto silent = std::make_shared<Onlooker>();
  const auto silent_handle = transport->stream(get("/silent", Duration::zero()), silent);
  for (const auto& each : {lasting, silent}) {
    ASSERT_TRUE(each->wait([&] { return each->ended; }, seconds(5)));
    ASSERT_TRUE(each->error);
    EXPECT_EQ(each->error->reason, "ConnectionCut");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, milliseconds(1500));
}

TEST_F(Http2Test, PingsGoOutOnTheFullSecond) {
  const Http2Script server(server_,
                           [](Session& session, const Asked& asked) { session.answer(asked.stream, 200, "open", {}, false); });
  RestConfig where = config(server);
  where.read_idle_timeout = seconds(2);
  where.ping_timeout = seconds(2);
  const auto transport = make_transport(where);
  const auto phase = [] { return std::chrono::steady_clock::now().time_since_epoch() % seconds(1); };
  while (phase() < milliseconds(500) || phase() > milliseconds(600)) std::this_thread::sleep_for(milliseconds(5));
  const auto begun = std::chrono::steady_clock::now();
  const auto watch = std::make_shared<Onlooker>();
  const auto handle = transport->stream(get("/watch", Duration::zero()), watch);
  while (server.pings() == 0 && std::chrono::steady_clock::now() - begun < seconds(5))
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(server.pings(), 1);
  EXPECT_LT(phase(), milliseconds(450)) << "on its own, it would come half a second later";
  EXPECT_GT(std::chrono::steady_clock::now() - begun, seconds(1));
}

TEST_F(Http2Test, ARequestsOwnTimeEndsItAlone) {
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    if (asked.headers.at(":path") == "/late") return;
    session.answer(asked.stream, 200, "open", {}, false);
  });
  const auto transport = make_transport(config(server));
  const auto open = std::make_shared<Onlooker>();
  const auto handle = transport->stream(get("/watch", Duration::zero()), open);
  ASSERT_TRUE(open->wait([&] { return open->text == "open"; }));
  const auto late = transport->call(get("/late", milliseconds(300)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, "Timeout");
  EXPECT_EQ(late.error().category, Category::kTimeout);
  EXPECT_FALSE(open->ended);
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(Http2Test, TheServerIsToldOfWhatIsGivenUp) {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::uint32_t> codes;
  const Http2Script server(server_,
                           [&](Session& session, const Asked& asked) { session.answer(asked.stream, 200, "open", {}, false); },
                           {.on_reset = [&](std::int32_t, std::uint32_t code) {
                             const std::scoped_lock lock(mutex);
                             codes.insert(code);
                             changed.notify_all();
                           }});
  const auto transport = make_transport(config(server));
  const auto open = std::make_shared<Onlooker>();
  auto handle = transport->stream(get("/watch", Duration::zero()), open);
  ASSERT_TRUE(open->wait([&] { return open->text == "open"; }));
  handle->cancel();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, seconds(5), [&] { return codes.contains(NGHTTP2_CANCEL); }));
  EXPECT_FALSE(open->ended);
}

TEST_F(Http2Test, HeadsWithoutEndAreRefused) {
  const Http2Script server(server_, [&](Session& session, const Asked& asked) {
    Http2Script::Headers headers;
    const int count = asked.headers.at(":path") == "/many" ? 30 : 2;
    for (int i = 0; i < count; ++i) headers.emplace_back("x-" + std::to_string(i), std::string(20'000, 'h'));
    session.answer(asked.stream, 200, "ok", headers);
  });
  const auto transport = make_transport(config(server));
  const auto few = transport->call(get("/few"));
  ASSERT_TRUE(few) << few.error().message;
  EXPECT_EQ(few->headers.at("x-1").size(), 20'000U);
  EXPECT_FALSE(transport->call(get("/many")));
}

TEST_F(Http2Test, HundredsAtOnceComeThrough) {
  const Http2Script server(
      server_, [&](Session& session, const Asked& asked) { session.answer(asked.stream, 200, asked.headers.at(":path")); });
  const auto transport = make_transport(config(server));
  std::vector<std::shared_ptr<Onlooker>> watchers;
  std::vector<std::unique_ptr<StreamHandle>> handles;
  for (int i = 0; i < 500; ++i) {
    watchers.push_back(std::make_shared<Onlooker>());
    handles.push_back(transport->stream(get("/" + std::to_string(i)), watchers.back()));
  }
  for (int i = 0; i < 500; ++i) {
    auto& each = *watchers[static_cast<std::size_t>(i)];
    ASSERT_TRUE(each.wait([&] { return each.ended; })) << i;
    EXPECT_FALSE(each.error) << each.error->message;
    EXPECT_EQ(each.text, "/" + std::to_string(i));
  }
  EXPECT_LE(server.connections(), 6);
}

}  // namespace
}  // namespace fleetadm::kube
