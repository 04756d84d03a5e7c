// When what the hub stands on ends, as its metrics tell.
#include "core/hub/certificates.h"

#include <gtest/gtest.h>
#include <thread>

#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/transport/transport.h"
#include "tests/support/fake_api.h"

namespace fleetadm::hub {
namespace {

TEST(HubCertificates, AreInItsMetrics) {
  const auto api = testkit::FakeApi::make();
  const auto ca = pki::make_ca("hub", std::chrono::hours(24 * 365)).value();
  api->put(kube::resources::secrets(),
           {{"metadata", {{"name", "fleetadm-hub-webhook"}, {"namespace", std::string(api::kHubNamespace)}}},
            {"data", {{"ca.crt", base64_encode(ca.certificate)}}}});
  kube::RestConfig config;
  config.server = "https://127.0.0.1:1";  // it does not answer: what the kubeconfig has is told all the same
  config.ca_data = ca.certificate;
  controller::Manager manager({.threads = 1, .health_address = "127.0.0.1:0"});
  ASSERT_TRUE(manager.serve_health());
  add_certificates(manager, api->client(), config, Clock::system());
  std::jthread running([&manager](std::stop_token stop) { (void)manager.run(std::move(stop)); });
  kube::RestConfig health;
  health.server = "http://" + manager.health_endpoint();
  const auto transport = kube::make_transport(health);
  std::string text;
  const auto told = [&](const std::string& series) {
    kube::Request request;
    request.path = "/metrics";
    const auto answer = transport->call(request);
    text = answer ? answer->body : answer.error().message;
    return text.find(series) != std::string::npos;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!told(R"(fleetadm_expiration_ok{cluster="hub",hop="webhook CA"} 1)") && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(told(R"(fleetadm_expiration_ok{cluster="hub",hop="webhook CA"} 1)")) << text;
  EXPECT_TRUE(told(R"(fleetadm_expiration_timestamp_seconds{cluster="hub",hop="server CA"} )")) << text;
  EXPECT_FALSE(told(R"(hop="server certificate")")) << "the server was not reached";
}

}  // namespace
}  // namespace fleetadm::hub
