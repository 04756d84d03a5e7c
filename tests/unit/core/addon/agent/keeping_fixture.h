// The agent's side of add-ons on a hub and a cluster in memory; the hub's part is played.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>

#include "core/addon/agent/addon_keeper.h"
#include "core/addon/rules/agent_identity.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/fake_api.h"

namespace fleetadm::addon::agent {

class KeepingAddons : public testing::Test {
 protected:
  static constexpr const char* kNs = "open-cluster-management-agent-addon";
  static constexpr const char* kClient = "kubernetes.io/kube-apiserver-client";

  Json declare(Json registrations, Json more_status = Json::object()) {
    more_status["registrations"] = std::move(registrations);
    more_status["namespace"] = kNs;
    return hub->put(api::managed_cluster_addons(), {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                                                    {"kind", "ManagedClusterAddOn"},
                                                    {"metadata", {{"name", "hello"}, {"namespace", "c1"}}},
                                                    {"spec", Json::object()},
                                                    {"status", std::move(more_status)}});
  }
  static Json kube_client() {
    return {{"signerName", kClient},
            {"subject",
             {{"user", agent_user("c1", "hello", "hello-agent")},
              {"groups", Json::array({cluster_addon_group("c1", "hello"), addon_group("hello")})}}}};
  }
  std::optional<Json> addon() const { return hub->get(api::managed_cluster_addons(), "c1", "hello"); }
  std::optional<Json> secret(const std::string& name, const std::string& ns = kNs) const {
    return spoke->get(kube::resources::secrets(), ns, name);
  }
  std::string stored(const std::string& name, const char* key) const {
    const auto found = secret(name);
    return found ? base64_decode(str(*found, {"data", key})).value_or("") : "";
  }
  controller::Outcome look() {
    const auto outcome = keeper->keep_credentials("hello", addon());
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome.value_or(controller::Outcome{});
  }
  /// The hub's part: approves and signs all requests.
  void sign() {
    for (Json request : hub->all(kube::resources::certificate_signing_requests())) {
      if (!str(request, {"status", "certificate"}).empty()) continue;
      const std::string pem = base64_decode(str(request, {"spec", "request"})).value();
      request["status"] = {
          {"conditions", Json::array({{{"type", "Approved"}, {"status", "True"}}})},
          {"certificate", base64_encode(pki::sign_request(ca, pem, clock->now(), std::chrono::hours(24)).value())}};
      hub->put(kube::resources::certificate_signing_requests(), request);
    }
  }
  std::string condition(const char* type, const char* member) const {
    const auto now = addon();
    const Json* found = now ? controller::find_condition(*now, type) : nullptr;
    return found == nullptr ? "" : str(*found, {member});
  }
  void restart() { keeper = std::make_unique<AddonKeeper>(hub->client(), spoke->client(), options, clock); }

  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  std::shared_ptr<testkit::FakeApi> spoke = testkit::FakeApi::make();
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(Clock::system()->now());
  pki::KeyPair ca = pki::make_ca("hub", std::chrono::hours(24 * 365)).value();
  AddonOptions options{{"c1", "agent1"}, {"hub", "https://hub", "CA\n", "", ""}, "csr", 0, std::chrono::minutes(5)};
  std::unique_ptr<AddonKeeper> keeper = std::make_unique<AddonKeeper>(hub->client(), spoke->client(), options, clock);
};

class KeepingTokens : public KeepingAddons {
 protected:
  KeepingTokens() {
    options.driver = "token";
    restart();
    hub->on_request([this](const testkit::ApiCall& call) { return answer_token_request(call); });
  }
  std::optional<kube::Response> answer_token_request(const testkit::ApiCall& call) {
    if (call.subresource != "token") return std::nullopt;
    ++asked;
    path = call.path;
    return kube::Response{201, {}, dump_json({{"kind", "TokenRequest"}, {"status", {{"token", token()}}}})};
  }
  std::string token() const {
    const auto seconds = [](Instant at) {
      return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
    };
    const Json claims{{"iat", seconds(clock->now())},
                      {"exp", seconds(clock->now() + std::chrono::hours(10))},
                      {"kubernetes.io", {{"serviceaccount", {{"name", "hello-agent"}, {"uid", uid}}}}}};
    return base64url_encode("{}") + "." + base64url_encode(dump_json(claims)) + ".sig" + std::to_string(asked);
  }
  Json ready(const std::string& account_uid) const {
    return {{"conditions", Json::array({{{"type", "TokenInfrastructureReady"},
                                         {"status", "True"},
                                         {"message", "ServiceAccount c1/hello-agent (UID: " + account_uid + ") is ready"}}})}};
  }

  int asked = 0;
  std::string path;
  std::string uid = "uid-1";
};

}  // namespace fleetadm::addon::agent
