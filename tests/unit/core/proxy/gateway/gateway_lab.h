// A gateway's front over real TLS, between a hub that is a fake API and a member that is a fake hop.
#pragma once

#include <boost/asio/post.hpp>
#include <curl/curl.h>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/proxy/gateway/front.h"
#include "core/serve/http/body_pipe.h"
#include "tests/support/fake_api.h"

namespace fleetadm::proxy {

/// Answers as it is told, and remembers what it was sent.
class FakeHop final : public Hop {
 public:
  explicit FakeHop(serve::HttpRuntime& runtime) : runtime_(runtime) {}

  using Answer = std::function<Result<serve::HttpResponse>(const serve::HttpRequest&)>;
  void answer_with(Answer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  std::vector<serve::HttpRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  serve::HttpRequest last() const {
    const auto all = requests();
    return all.empty() ? serve::HttpRequest{} : all.back();
  }

  void send(serve::HttpRequest request, Done done) override {
    if (!request.content) return finish(std::move(request), done);
    struct Reading {
      serve::HttpRequest request;
      std::shared_ptr<serve::BodyReader> content;
      Done done;
    };
    auto content = std::exchange(request.content, nullptr);
    auto reading = std::make_shared<Reading>(Reading{std::move(request), content, std::move(done)});
    auto step = std::make_shared<std::function<void()>>();
    *step = [this, reading] {
      if (!reading->content) return;
      while (true) {
        const auto more = reading->content->read(reading->request.body, 64 * 1024);
        if (more == serve::BodyStream::More::kLater) return;
        if (more == serve::BodyStream::More::kYes) continue;
        reading->content->on_ready({});
        reading->content = nullptr;
        if (more == serve::BodyStream::More::kEnd) return finish(std::move(reading->request), reading->done);
        return reading->done(fail(Category::kUnavailable, "the body broke off"));
      }
    };
    content->on_ready([this, step] { boost::asio::post(runtime_.executor(), [step] { (*step)(); }); });
    (*step)();
  }

 private:
  void finish(serve::HttpRequest request, const Done& done) {
    Answer answer;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      answer = answer_;
    }
    if (answer) return done(answer(request));
    serve::HttpResponse ok;
    ok.headers = {{"content-type", "application/json"}};
    ok.body = "{}";
    done(std::move(ok));
  }

  serve::HttpRuntime& runtime_;
  mutable std::mutex mutex_;
  Answer answer_;
  std::vector<serve::HttpRequest> requests_;
};

struct LabRequest {
  std::string target = "/clusters/c1/proxy/api/v1/pods";
  std::string method = "GET";
  std::vector<std::string> headers{};
  std::string token{};
  const pki::KeyPair* certificate = nullptr;
  std::string body{};
  bool http2 = false;
};
struct LabAnswer {
  long status = 0;
  std::string head;
  std::string body;
};

class GatewayLab : public testing::Test {
 protected:
  GatewayLab() {
    hub_ca_ = *pki::make_ca("hub-clients", std::chrono::hours(1));
    serving_ca_ = *pki::make_ca("serving", std::chrono::hours(1));
    jane_ = certificate_of({"jane", {"devs", "system:masters"}, {}});
    options_.clock = clock_;
    options_.state = [this](std::string_view cluster) {
      const auto at = states_.find(std::string(cluster));
      return at == states_.end() ? ClusterState::kAbsent : at->second;
    };
    options_.hop = [this](std::string_view cluster) -> std::shared_ptr<Hop> { return cluster == "c1" ? hop_ : nullptr; };
    options_.audit = [this](const AuditRecord& record) {
      const std::lock_guard lock(mutex_);
      audit_.push_back(record);
    };
    api_->on_request([this](const testkit::ApiCall& call) { return review(call); });
  }
  ~GatewayLab() override {
    listener_.reset();
    runtime_.stop();
  }

  void start() {
    front_ = std::make_unique<Front>(runtime_, api_->client(), options_);
    pki::LeafOptions leaf;
    leaf.server = true;
    leaf.ip_addresses = {"127.0.0.1"};
    serve::ListenOptions listen;
    listen.certificate = *pki::issue(serving_ca_, leaf);
    listen.client_ca = hub_ca_.certificate;
    listen.streams_body = [](const serve::HttpRequest&) { return true; };
    auto started = serve::HttpListener::start_direct(runtime_, listen, [this](serve::HttpRequest request, serve::Reply reply) {
      front_->handle(std::move(request), std::move(reply));
    });
    ASSERT_TRUE(started) << started.error().message;
    listener_ = std::move(*started);
  }

  pki::KeyPair certificate_of(const pki::Subject& subject, const pki::KeyPair* ca = nullptr) const {
    pki::LeafOptions leaf;
    leaf.subject = subject;
    leaf.client = true;
    return *pki::issue(ca == nullptr ? hub_ca_ : *ca, leaf);
  }

  LabAnswer ask(const LabRequest& request) const {
    LabAnswer out;
    CURL* curl = curl_easy_init();
    const auto blob = [](const std::string& text) {
      return curl_blob{.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_COPY};
    };
    const std::string url = "https://" + listener_->endpoint() + request.target;
    const curl_blob trusted = blob(serving_ca_.certificate);
    curl_slist* headers = nullptr;
    for (const std::string& header : request.headers) headers = curl_slist_append(headers, header.c_str());
    if (!request.token.empty()) headers = curl_slist_append(headers, ("Authorization: Bearer " + request.token).c_str());
    headers = curl_slist_append(headers, "Expect:");
    const curl_write_callback hear = [](char* data, std::size_t size, std::size_t count, void* into) {
      static_cast<std::string*>(into)->append(data, size * count);
      return size * count;
    };
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
    curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &trusted);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, request.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, hear);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &out.body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, hear);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &out.head);
    if (request.method == "HEAD") curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    if (!request.body.empty()) {
      curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
      curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    }
    if (request.certificate != nullptr) {
      const curl_blob certificate = blob(request.certificate->certificate);
      const curl_blob key = blob(request.certificate->key);
      curl_easy_setopt(curl, CURLOPT_SSLCERT_BLOB, &certificate);
      curl_easy_setopt(curl, CURLOPT_SSLKEY_BLOB, &key);
    }
    const CURLcode code = curl_easy_perform(curl);
    EXPECT_EQ(code, CURLE_OK) << curl_easy_strerror(code);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out.status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return out;
  }
  LabAnswer ask_as_jane(LabRequest request) const {
    request.certificate = &jane_;
    return ask(request);
  }

  /// The records so far; waits until there are as many.
  std::vector<AuditRecord> audited(std::size_t count) const {
    for (int i = 0; i < 500; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (audit_.size() >= count) return audit_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "no " << count << " audit records";
    return {};
  }
  int reviews(std::string_view plural) const { return api_->count("create", plural); }

  /// The hub's answers: tokens by `tokens_`, access by `allows_`.
  std::optional<kube::Response> review(const testkit::ApiCall& call) {
    if (hub_is_away_) return kube::Response{.status = 500, .headers = {}, .body = "{}"};
    const std::lock_guard lock(mutex_);
    Json body = call.body;
    if (call.plural == "tokenreviews") {
      token_specs_.push_back(body["spec"]);
      const auto at = tokens_.find(str(body, {"spec", "token"}));
      const auto audiences = string_list_at(body, {"spec", "audiences"});
      const std::string audience = audiences.empty() ? "api" : audiences.front();
      const bool good = at != tokens_.end() && str(at->second, {"audience"}, "api") == audience;
      body["status"] = {{"authenticated", good}};
      if (good) {
        body["status"]["user"] = at->second["user"];
        body["status"]["audiences"] = Json::array({audience});
      }
    } else if (call.plural == "subjectaccessreviews") {
      access_specs_.push_back(body["spec"]);
      body["status"] = {{"allowed", !allows_ || allows_(body["spec"])}};
    } else {
      return std::nullopt;
    }
    body["spec"].erase("token");
    return kube::Response{.status = 201, .headers = {}, .body = dump_json(body)};
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(Clock::system()->now());
  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make(clock_);
  serve::HttpRuntime runtime_{2};
  std::shared_ptr<FakeHop> hop_ = std::make_shared<FakeHop>(runtime_);
  pki::KeyPair hub_ca_;
  pki::KeyPair serving_ca_;
  pki::KeyPair jane_;
  FrontOptions options_;
  std::map<std::string, ClusterState> states_{
      {"c1", ClusterState::kAccepted}, {"c2", ClusterState::kAccepted}, {"denied", ClusterState::kDenied}};
  mutable std::mutex mutex_;
  std::map<std::string, Json> tokens_;            // {user, audience?}
  std::function<bool(const Json& spec)> allows_;  // empty: all
  std::vector<Json> token_specs_;
  std::vector<Json> access_specs_;
  std::vector<AuditRecord> audit_;
  std::atomic<bool> hub_is_away_{false};
  std::unique_ptr<Front> front_;
  std::unique_ptr<serve::HttpListener> listener_;
};

}  // namespace fleetadm::proxy
