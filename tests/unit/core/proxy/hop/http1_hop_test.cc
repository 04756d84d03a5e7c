// A hop and an API server as it should be: what is kept, what is shown, and how many at a time.
#include <atomic>
#include <map>
#include <thread>

#include "core/serve/http/body_pipe.h"
#include "tests/unit/core/proxy/hop/hop_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;

/// What a test changes while it runs.
class ChangingCredentials : public kube::CredentialSource {
 public:
  Result<kube::Credentials> current() override {
    const std::lock_guard lock(mutex_);
    if (broken_) return fail(Category::kAuth, "no credentials");
    return now_;
  }
  bool refresh() override {
    ++refreshed;
    return true;
  }
  void set(kube::Credentials now) {
    const std::lock_guard lock(mutex_);
    now_ = std::move(now);
  }
  void set_broken() { broken_ = true; }
  std::atomic<int> refreshed{0};

 private:
  std::mutex mutex_;
  kube::Credentials now_;
  std::atomic<bool> broken_{false};
};

class Http1HopTest : public HopLab {
 protected:
  ~Http1HopTest() override {
    listener_.reset();
    server_.stop();
  }
  void serve(std::function<serve::HttpResponse(const serve::HttpRequest&)> handler) {
    serve::ListenOptions options;
    options.certificate = server_certificate();
    options.client_ca = ca_.certificate;
    options.streams_body = [](const serve::HttpRequest& head) { return head.path == "/stream"; };
    listener_ = std::move(*serve::HttpListener::start(server_, options, std::move(handler)));
    credentials_->set({.token = "t0"});
  }
  Http1HopOptions options() const {
    auto out = options_for(listener_->port());
    out.credentials = credentials_;
    return out;
  }
  pki::KeyPair client_certificate(const std::string& name) const {
    pki::LeafOptions leaf;
    leaf.subject.common_name = name;
    leaf.client = true;
    return *pki::issue(ca_, leaf);
  }
  static serve::HttpResponse who_asked(const serve::HttpRequest& request) {
    return serve::answer_text(200, std::string(request.header("authorization")) + "|" + request.peer->common_name);
  }

  std::shared_ptr<ChangingCredentials> credentials_ = std::make_shared<ChangingCredentials>();
  serve::HttpRuntime server_{8};
  std::unique_ptr<serve::HttpListener> listener_;
};

TEST_F(Http1HopTest, KeepsItsConnectionForTheNextRequest) {
  serve([](const serve::HttpRequest& request) {
    return serve::answer_text(201, request.method + " " + request.path + "?" + request.query + " " +
                                       std::string(request.header("host")) + " " + request.body);
  });
  use(options());
  const auto authority = "127.0.0.1:" + std::to_string(listener_->port());
  for (int i = 0; i < 20; ++i) {
    auto asked = request("POST", "/api//a%2Fb", "body " + std::to_string(i));
    asked.query = "q=%3A";
    const auto answer = send(asked);
    ASSERT_TRUE(answer->has_ended());
    ASSERT_FALSE(answer->error()) << answer->error()->message;
    EXPECT_EQ(answer->status(), 201);
    EXPECT_EQ(answer->body(), "POST /api//a%2Fb?q=%3A " + authority + " body " + std::to_string(i));
    EXPECT_EQ(answer->header("content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(answer->header("content-length"), "");
  }
  const auto now = counts();
  EXPECT_EQ(now.made, 1U);
  EXPECT_EQ(now.open, 1U);
  EXPECT_EQ(now.idle, 1U);
}

TEST_F(Http1HopTest, AnswersWithoutBodyLeaveTheConnectionUsable) {
  serve([](const serve::HttpRequest& request) {
    auto out = serve::answer_text(request.path == "/304" ? 304 : 200, "text");
    return out;
  });
  use(options());
  EXPECT_EQ(get_and_wait("/304")->status(), 304);
  const auto head = send(request("HEAD", "/"));
  ASSERT_TRUE(head->has_ended());
  EXPECT_EQ(head->status(), 200);
  EXPECT_EQ(head->body(), "");
  EXPECT_EQ(get_and_wait("/")->body(), "text");
  EXPECT_EQ(counts().made, 1U);
}

TEST_F(Http1HopTest, ManyAtATimeShareABoundedNumberOfConnections) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  serve([&](const serve::HttpRequest& request) {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(5ms);
    --running;
    return serve::answer_text(200, request.path);
  });
  auto bounded = options();
  bounded.connections = 3;
  use(bounded);
  std::map<std::string, std::shared_ptr<HopAnswer>> answers;
  for (int i = 0; i < 60; ++i) answers["/" + std::to_string(i)] = get("/" + std::to_string(i));
  for (const auto& [path, answer] : answers) {
    ASSERT_TRUE(answer->has_ended());
    ASSERT_FALSE(answer->error()) << answer->error()->message;
    EXPECT_EQ(answer->body(), path);
  }
  EXPECT_EQ(counts().made, 3U);
  EXPECT_EQ(most, 3);
}

TEST_F(Http1HopTest, WhoWaitsTooLongOrWithTooManyIsToldSo) {
  serve([](const serve::HttpRequest& request) {
    if (request.path == "/slow") std::this_thread::sleep_for(2s);
    return serve::answer_text(200, "ok");
  });
  auto bounded = options();
  bounded.connections = 1;
  bounded.waiting = 1;
  bounded.queue = 100ms;
  use(bounded);
  const auto slow = get("/slow");
  ASSERT_TRUE(soon([&] { return counts().open == 1 && counts().waiting == 0; }));
  const auto waits = get("/waits");
  const auto one_more = get("/more");
  ASSERT_TRUE(one_more->has_ended());
  ASSERT_TRUE(one_more->error());
  EXPECT_EQ(one_more->error()->code, 503);
  EXPECT_GT(one_more->error()->retry_after_seconds, 0);
  ASSERT_TRUE(waits->has_ended());
  ASSERT_TRUE(waits->error());
  EXPECT_EQ(waits->error()->category, Category::kTimeout);
  ASSERT_TRUE(slow->has_ended());
  EXPECT_EQ(slow->body(), "ok");
}

TEST_F(Http1HopTest, ClosesWhatNobodyUses) {
  serve(who_asked);
  auto impatient = options();
  impatient.idle = 0s;
  use(impatient);
  get_and_wait("/");
  EXPECT_TRUE(soon([&] { return counts().open == 0; }));
  EXPECT_EQ(get_and_wait("/")->status(), 200);
  EXPECT_EQ(counts().made, 2U);
}

TEST_F(Http1HopTest, ShowsTheCredentialOfTheMoment) {
  serve(who_asked);
  use(options());
  EXPECT_EQ(get_and_wait("/")->body(), "Bearer t0|");
  credentials_->set({.token = "t1"});
  EXPECT_EQ(get_and_wait("/")->body(), "Bearer t1|");
  EXPECT_EQ(counts().made, 1U) << "a token needs no new connection";

  const auto alice = client_certificate("alice");
  credentials_->set({.client_certificate = alice.certificate, .client_key = alice.key});
  EXPECT_EQ(get_and_wait("/")->body(), "|alice");
  EXPECT_EQ(get_and_wait("/")->body(), "|alice");
  EXPECT_EQ(counts().made, 2U);
  const auto bob = client_certificate("bob");
  credentials_->set({.client_certificate = bob.certificate, .client_key = bob.key});
  EXPECT_EQ(get_and_wait("/")->body(), "|bob");
  EXPECT_EQ(counts().made, 3U);
  EXPECT_TRUE(soon([&] { return counts().open == 1; })) << "those of alice are closed";
}

TEST_F(Http1HopTest, WhoBringsACredentialShowsNothingOfTheHops) {
  serve(who_asked);
  use(options());
  const auto alice = client_certificate("alice");
  credentials_->set({.client_certificate = alice.certificate, .client_key = alice.key, .token = "hops"});
  EXPECT_EQ(get_and_wait("/")->body(), "Bearer hops|alice");
  auto brings = request("GET", "/");
  brings.headers = {{"authorization", "Bearer mine"}};
  for (int i = 0; i < 2; ++i) {
    const auto answer = send(brings);
    ASSERT_TRUE(answer->has_ended());
    EXPECT_EQ(answer->body(), "Bearer mine|");
  }
  EXPECT_EQ(get_and_wait("/")->body(), "Bearer hops|alice");
  EXPECT_EQ(counts().made, 2U);
}

TEST_F(Http1HopTest, MakesPlaceForAnotherIdentity) {
  serve(who_asked);
  auto bounded = options();
  bounded.connections = 1;
  use(bounded);
  auto brings = request("GET", "/");
  brings.headers = {{"authorization", "Bearer mine"}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(get_and_wait("/")->body(), "Bearer t0|");
    const auto answer = send(brings);
    ASSERT_TRUE(answer->has_ended());
    EXPECT_EQ(answer->body(), "Bearer mine|");
  }
  EXPECT_EQ(counts().made, 6U);
  EXPECT_EQ(counts().open, 1U);
}

TEST_F(Http1HopTest, AfterA401TheCredentialIsReadAgain) {
  serve([](const serve::HttpRequest&) { return serve::answer_text(401, "no"); });
  use(options());
  EXPECT_EQ(get_and_wait("/")->status(), 401);
  EXPECT_EQ(credentials_->refreshed, 1);
  auto brings = request("GET", "/");
  brings.headers = {{"authorization", "Bearer mine"}};
  ASSERT_TRUE(send(brings)->has_ended());
  EXPECT_EQ(credentials_->refreshed, 1) << "it was not the hop's";
}

TEST_F(Http1HopTest, WithoutCredentialsNothingIsSent) {
  std::atomic<int> asked{0};
  serve([&](const serve::HttpRequest&) {
    ++asked;
    return serve::answer_text(200, "ok");
  });
  use(options());
  credentials_->set_broken();
  const auto answer = get_and_wait("/");
  ASSERT_TRUE(answer->error());
  EXPECT_EQ(answer->error()->code, 502);
  credentials_->set({.token = "a\r\nx: y"});
  ASSERT_TRUE(get_and_wait("/")->error());
  EXPECT_EQ(asked, 0);
}

TEST_F(Http1HopTest, BodiesAreSentAsTheyAreRead) {
  serve([](const serve::HttpRequest& request) {
    serve::HttpResponse out;
    out.headers = {{"x-length", std::string(request.header("content-length"))}};
    out.stream = request.content;
    return out;
  });
  use(options());
  for (const bool length_known : {false, true}) {
    const std::size_t size = 3 * 1024 * 1024;
    std::string text(size, 'a');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
    auto pipe = serve::make_body_pipe(64 * 1024);
    auto asked = request("POST", "/stream");
    asked.content = pipe.reader;
    if (length_known) asked.headers = {{"content-length", std::to_string(size)}};
    const auto answer = send(asked);
    asked.content.reset();
    pipe.reader.reset();
    std::string_view rest = text;
    ASSERT_EQ(pipe.writer->write(rest, 20s), serve::BodyWriter::Outcome::kTaken);
    pipe.writer->finish();
    ASSERT_TRUE(answer->has_ended());
    ASSERT_FALSE(answer->error()) << answer->error()->message;
    EXPECT_TRUE(answer->whole());
    EXPECT_TRUE(answer->body() == text);
    EXPECT_EQ(answer->header("x-length"), length_known ? std::to_string(size) : "");
  }
  EXPECT_EQ(counts().made, 1U);
}

TEST_F(Http1HopTest, ABodyThatBreaksOffEndsItsRequestOnly) {
  std::atomic<int> cut{0};
  serve([&](const serve::HttpRequest& request) {
    if (!request.content) return serve::answer_text(200, "ok");
    std::string into;
    auto more = serve::BodyStream::More::kYes;
    while (more == serve::BodyStream::More::kYes || more == serve::BodyStream::More::kLater)
      more = request.content->wait(into, 1024, 1s);
    if (more == serve::BodyStream::More::kCut) ++cut;
    return serve::answer_text(200, "never");
  });
  use(options());
  get_and_wait("/");
  auto pipe = serve::make_body_pipe(1024);
  auto asked = request("POST", "/stream");
  asked.content = std::move(pipe.reader);
  const auto answer = send(std::move(asked));
  pipe.writer->push("some");
  pipe.writer->cut();
  ASSERT_TRUE(answer->has_ended());
  ASSERT_TRUE(answer->error());
  EXPECT_EQ(answer->error()->code, 400);
  EXPECT_TRUE(soon([&] { return cut == 1; })) << "the server must not take it for whole";

  for (const std::size_t said : {3, 5}) {
    auto wrong = serve::make_body_pipe(1024);
    auto lies = request("POST", "/stream");
    lies.headers = {{"content-length", std::to_string(said)}};
    lies.content = std::move(wrong.reader);
    wrong.writer->push("four");
    wrong.writer->finish();
    const auto refused = send(std::move(lies));
    ASSERT_TRUE(refused->has_ended());
    EXPECT_TRUE(refused->error()) << said;
  }
  EXPECT_EQ(get_and_wait("/")->body(), "ok");
}

TEST_F(Http1HopTest, ClosedItRefusesAndEndsWhatIsUnderWay) {
  serve([](const serve::HttpRequest&) {
    std::this_thread::sleep_for(300ms);
    return serve::answer_text(200, "late");
  });
  use(options());
  const auto under_way = get("/");
  ASSERT_TRUE(soon([&] { return counts().open == 1; }));
  on_io_thread([this] { hop_->close(); });
  ASSERT_TRUE(under_way->has_ended());
  EXPECT_TRUE(under_way->error());
  EXPECT_EQ(get_and_wait("/")->error()->code, 503);
}

TEST(HopOptions, AreThoseOfAConfiguration) {
  kube::RestConfig config;
  config.server = "https://a:6443";
  config.ca_data = "CA";
  config.tls_server_name = "kubernetes";
  config.credentials = kube::static_credentials({.token = "t"});
  config.name = "c1";
  const auto options = hop_options(config);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->name, "the API server of c1");
  EXPECT_EQ(options->server, config.server);
  EXPECT_EQ(options->ca, "CA");
  EXPECT_EQ(options->tls_server_name, "kubernetes");
  EXPECT_EQ(options->credentials, config.credentials);
  auto other = config;
  other.insecure = true;
  EXPECT_EQ(hop_options(other).error().category, Category::kUnsupported);
  other = config;
  other.proxy_url = "http://proxy:3128";
  const auto by_proxy = hop_options(other);
  ASSERT_TRUE(by_proxy);
  ASSERT_TRUE(by_proxy->proxy);
  EXPECT_EQ(by_proxy->proxy->authority(), "proxy:3128");
  other.proxy_url = "socks5://proxy";
  EXPECT_EQ(hop_options(other).error().category, Category::kUnsupported);
  other = config;
  other.impersonate_user = "root";
  EXPECT_EQ(hop_options(other).error().category, Category::kUnsupported);
}

TEST_F(Http1HopTest, IsNotMadeOfWhatItCannotUse) {
  serve(who_asked);
  auto bad = options();
  bad.server = "10.0.0.1";
  EXPECT_EQ(Http1Hop::make(io_.executor(), bad).error().category, Category::kUsage);
  bad = options();
  bad.ca = "no certificate";
  EXPECT_EQ(Http1Hop::make(io_.executor(), bad).error().category, Category::kTls);
}

}  // namespace
}  // namespace fleetadm::proxy
