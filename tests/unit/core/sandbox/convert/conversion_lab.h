// A sandbox cluster with a definition whose versions a real webhook converts, and a client of the cluster.
#pragma once

#include <future>
#include <gtest/gtest.h>
#include <optional>

#include "core/sandbox/controllers/controller.h"
#include "core/sandbox/fleet/cluster.h"
#include "tests/support/conversion_webhook.h"
#include "tests/support/https.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::sandbox {

class ConversionLab : public ::testing::Test {
 protected:
  using Mood = testkit::ConversionWebhook::Mood;
  static constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

  struct Answer {
    int status = 0;
    Json body;
    std::string message() const { return str(body, {"message"}); }
  };

  void SetUp() override {
    start();
    expect(send("POST", kDefinitions, webhook_->definition("x.example.com")), 201);
  }
  void TearDown() override {
    cluster_.reset();
    runtime_.stop();
  }
  void start() {
    cluster_.reset();
    auto started = Cluster::start(runtime_, {.name = "c1", .folder = folder_.path() / "cluster"});
    ASSERT_TRUE(started) << started.error().message;
    cluster_ = std::move(*started);
    pki::LeafOptions leaf;
    leaf.subject = {"alice", {"system:masters"}, {}};
    leaf.client = true;
    admin_ = *pki::issue(cluster_->ca(), leaf);
  }

  static std::string links(const std::string& version, const std::string& rest = {}) {
    return "/apis/x.example.com/" + version + "/namespaces/default/links" + rest;
  }
  static Json link_v1(const std::string& name, const std::string& address = "h:1") {
    return {{"apiVersion", "x.example.com/v1"},
            {"kind", "Link"},
            {"metadata", {{"name", name}}},
            {"spec", {{"address", address}, {"replicas", 2}}}};
  }
  static Json link_v2(const std::string& name, const std::string& host = "h", const std::string& port = "1") {
    return {{"apiVersion", "x.example.com/v2"},
            {"kind", "Link"},
            {"metadata", {{"name", name}}},
            {"spec", {{"host", host}, {"port", port}, {"count", 2}}}};
  }

  Answer send(const std::string& method, const std::string& path, const Json& body = nullptr,
              const std::string& type = "application/json", long seconds = 10) {
    const auto got = testkit::https({.url = cluster_->url() + path,
                                     .method = method,
                                     .body = body.is_null() ? std::string() : dump_json(body),
                                     .content_type = type,
                                     .ca = cluster_->ca().certificate,
                                     .certificate = admin_.certificate,
                                     .key = admin_.key,
                                     .timeout_seconds = seconds});
    auto parsed = parse_json(got.body);
    return {got.status, parsed ? std::move(*parsed) : Json(got.body)};
  }
  Answer get(const std::string& path) { return send("GET", path); }
  Answer merge(const std::string& path, const Json& patch) { return send("PATCH", path, patch, "application/merge-patch+json"); }
  static Json expect(const Answer& answer, int status) {
    EXPECT_EQ(answer.status, status) << dump_json(answer.body);
    return answer.body;
  }
  Json made(const Json& object) {
    const auto version = str(object, {"apiVersion"});
    return expect(send("POST", links(version.substr(version.rfind('/') + 1)), object), 201);
  }
  StoredPtr stored(const std::string& name) {
    return cluster_->api().engine().store().get("x.example.com/links", "default", name);
  }
  /// The events of a watch that ends after this many seconds.
  std::future<std::vector<Json>> watch(const std::string& path, int seconds) {
    const auto target =
        path + (path.find('?') == std::string::npos ? "?" : "&") + "watch=1&timeoutSeconds=" + std::to_string(seconds);
    return std::async(std::launch::async, [this, target, seconds] {
      const auto got = testkit::https({.url = cluster_->url() + target,
                                       .ca = cluster_->ca().certificate,
                                       .certificate = admin_.certificate,
                                       .key = admin_.key,
                                       .timeout_seconds = seconds + 10});
      std::vector<Json> out;
      std::istringstream lines(got.body);
      for (std::string line; std::getline(lines, line);) {
        if (auto parsed = parse_json(line)) out.push_back(std::move(*parsed));
      }
      return out;
    });
  }
  /// "ADDED a h", …: type, name and host of each event.
  static std::vector<std::string> words(const std::vector<Json>& events) {
    std::vector<std::string> out;
    for (const Json& event : events) {
      const Json& object = object_at(event, {"object"});
      out.push_back(str(event, {"type"}) + " " + name_of(object) + " " + str(object, {"spec", "host"}));
    }
    return out;
  }

  testkit::TemporaryFolder folder_{"conversion"};
  serve::HttpRuntime runtime_{3};
  std::unique_ptr<testkit::ConversionWebhook> webhook_ = std::make_unique<testkit::ConversionWebhook>();
  std::unique_ptr<Cluster> cluster_;
  pki::KeyPair admin_;
};

}  // namespace fleetadm::sandbox
