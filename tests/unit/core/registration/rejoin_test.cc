// A new bootstrap for an agent: what it is made of, and which request is approved on the way.
#include "core/registration/rejoin/rejoin.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/registration/agent/issuance.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"

namespace fleetadm::registration::rejoin {
namespace {

namespace r = kube::resources;

class RejoinTest : public testing::Test {
 protected:
  RejoinTest() {
    endpoint_.entry = "bootstrap";
    endpoint_.server = "https://hub:6443";
    endpoint_.ca_pem = ca_.certificate;
  }
  void put_secret(const std::string& name, const std::map<std::string, std::string>& data) {
    Json secret{{"metadata", {{"name", name}, {"namespace", std::string(api::kAgentNamespace)}}}};
    for (const auto& [key, value] : data) secret["data"][key] = base64_encode(value);
    spoke_->put(r::secrets(), secret);
  }
  std::map<std::string, std::string> identity() const { return {{"cluster-name", "c1"}, {"agent-name", "x1"}}; }
  Agent read() {
    auto agent = read_agent(spoke_->client());
    EXPECT_TRUE(agent.has_value()) << (agent ? "" : agent.error().message);
    return agent ? *agent : Agent{};
  }
  Result<Step> step(const std::string& before = {}) {
    return advance(spoke_->client(), hub_->client(), read(), endpoint_, before, Clock::system()->now());
  }
  /// As an agent stores and sends it.
  std::string ask() {
    const std::string key = *pki::generate_key();
    const agent::CertificateOrder order = agent::agent_order({"c1", "x1"}, endpoint_, {});
    const std::string pem = *pki::make_csr(key, order.subject);
    auto data = identity();
    data["pending-tls.key"] = key;
    data["pending-tls.csr"] = pem;
    put_secret("hub-kubeconfig-secret", data);
    return pem;
  }
  std::string send(const std::string& named_after, const std::string& pem) {
    const agent::CertificateOrder order = agent::agent_order({"c1", "x1"}, endpoint_, {});
    const std::string name = agent::request_name(order, named_after);
    hub_->put(r::certificate_signing_requests(),
              {{"metadata", {{"name", name}, {"labels", {{"open-cluster-management.io/cluster-name", "c1"}}}}},
               {"spec",
                {{"request", base64_encode(pem)},
                 {"signerName", "kubernetes.io/kube-apiserver-client"},
                 {"usages", Json::array({"digital signature", "key encipherment", "client auth"})}}}});
    return name;
  }
  bool approved(const std::string& name) {
    const auto request = hub_->get(r::certificate_signing_requests(), "", name);
    return request && controller::condition_is(*request, "Approved", "True");
  }

  std::shared_ptr<testkit::FakeApi> spoke_ = testkit::FakeApi::make();
  std::shared_ptr<testkit::FakeApi> hub_ = testkit::FakeApi::make();
  pki::KeyPair ca_ = pki::make_ca("hub", std::chrono::hours(24)).value();
  agent::Endpoint endpoint_;
};

TEST_F(RejoinTest, TheAddressIsKeptAndTheAuthorityIsTheHubsOfNow) {
  put_secret("bootstrap-hub-kubeconfig", {{"kubeconfig", bootstrap_kubeconfig(endpoint_, "t")}});
  const Agent agent = read();
  EXPECT_EQ(next_endpoint(agent, "", "\n" + ca_.certificate), endpoint_) << "the same authority in another text";
  const std::string other = pki::make_ca("hub", std::chrono::hours(24))->certificate;
  EXPECT_EQ(next_endpoint(agent, "", other).ca_pem, other);
  EXPECT_EQ(next_endpoint(agent, "", other).server, "https://hub:6443");
  EXPECT_EQ(next_endpoint(agent, "https://new:6443", other).server, "https://new:6443");
  EXPECT_EQ(next_endpoint(agent, "", "").ca_pem, "") << "a hub whose CA every system has";
}

TEST_F(RejoinTest, AnAgentBehindAProxyKeepsTheProxysAuthority) {
  endpoint_.proxy_url = "https://proxy:3128";
  put_secret("bootstrap-hub-kubeconfig", {{"kubeconfig", bootstrap_kubeconfig(endpoint_, "t")}});
  const std::string other = pki::make_ca("hub", std::chrono::hours(24))->certificate;
  const agent::Endpoint next = next_endpoint(read(), "", other);
  EXPECT_EQ(next.ca_pem, other + ca_.certificate);
  EXPECT_EQ(next.proxy_url, "https://proxy:3128");
  put_secret("bootstrap-hub-kubeconfig", {{"kubeconfig", bootstrap_kubeconfig(next, "t")}});
  EXPECT_EQ(next_endpoint(read(), "", other).ca_pem, next.ca_pem) << "it does not grow with each run";
}

TEST_F(RejoinTest, NothingButTheBootstrapIsWritten) {
  put_secret("bootstrap-hub-kubeconfig", {{"kubeconfig", "old"}, {"other", "kept"}});
  const std::string text = bootstrap_kubeconfig(endpoint_, "abcdef.0123456789abcdef");
  EXPECT_FALSE(*write_bootstrap(spoke_->client(), read(), text));
  const auto secret = spoke_->get(r::secrets(), api::kAgentNamespace, "bootstrap-hub-kubeconfig");
  EXPECT_EQ(*base64_decode(str(*secret, {"data", "kubeconfig"})), text);
  EXPECT_EQ(*base64_decode(str(*secret, {"data", "other"})), "kept");
  EXPECT_EQ(*agent::endpoint_of(text), endpoint_);
  spoke_->erase(r::secrets(), api::kAgentNamespace, "bootstrap-hub-kubeconfig");
  EXPECT_TRUE(*write_bootstrap(spoke_->client(), read(), text)) << "it was lost";
  EXPECT_EQ(read().bootstrap, text);
}

TEST_F(RejoinTest, TheSecretsAreThoseThatTheAgentWasGiven) {
  const Json args = Json::array({"agent", "run", "--cluster-name=c1", "--bootstrap-secret=mine", "--hub-kubeconfig-secret=its"});
  Json deployment{{"metadata", {{"name", "fleetadm-agent"}, {"namespace", std::string(api::kAgentNamespace)}}},
                  {"spec", {{"template", {{"spec", {{"containers", Json::array({{{"args", args}}})}}}}}}}};
  spoke_->put(r::deployments(), deployment);
  const Agent agent = read();
  EXPECT_EQ(agent.bootstrap_secret, "mine");
  EXPECT_EQ(agent.hub_secret, "its");
  EXPECT_EQ(agent.cluster_name, "c1") << "of a cluster that has lost its credential";
  deployment["spec"]["template"]["spec"]["containers"][0]["args"].push_back("--bootstrap-kubeconfig=/file");
  spoke_->put(r::deployments(), deployment);
  EXPECT_EQ(read_agent(spoke_->client()).error().category, Category::kConflict);
}

TEST_F(RejoinTest, OnlyTheRequestThatTheClusterHoldsIsApproved) {
  put_secret("hub-kubeconfig-secret", identity());
  EXPECT_FALSE(step()->waits_for.empty());
  const std::string pem = ask();
  EXPECT_NE(step()->waits_for.find("to send"), std::string::npos);
  // Whoever holds a bootstrap token may ask for the same identity, under a name of its own or under this one.
  const std::string foreign = *pki::make_csr(*pki::generate_key(), agent::agent_order({"c1", "x1"}, endpoint_, {}).subject);
  const std::string elsewhere = send(foreign, foreign);
  EXPECT_NE(step()->waits_for.find("to send"), std::string::npos);
  EXPECT_FALSE(approved(elsewhere));
  const std::string name = send(pem, foreign);
  ASSERT_FALSE(step().has_value());
  EXPECT_EQ(step().error().category, Category::kConflict);
  EXPECT_FALSE(approved(name));
  send(pem, pem);
  EXPECT_EQ(step()->approved, name);
  EXPECT_TRUE(approved(name));
  EXPECT_TRUE(step()->approved.empty()) << "once";
}

TEST_F(RejoinTest, ItIsDoneWithACertificateOfThisHubThatIsNew) {
  pki::LeafOptions leaf;
  leaf.subject = agent::subject_of({"c1", "x1"});
  leaf.client = true;
  const auto pair = pki::issue(ca_, leaf).value();
  auto data = identity();
  data["tls.crt"] = pair.certificate;
  data["tls.key"] = pair.key;
  data["kubeconfig"] = agent::hub_kubeconfig(endpoint_);
  put_secret("hub-kubeconfig-secret", data);
  EXPECT_TRUE(step()->done);
  EXPECT_TRUE(step()->expires.has_value());
  EXPECT_FALSE(step(pair.certificate)->done) << "it is the one that the hub does not take";
  endpoint_.ca_pem = pki::make_ca("hub", std::chrono::hours(24))->certificate;
  EXPECT_FALSE(step()->done) << "it is for the hub with its former CA";
}

TEST_F(RejoinTest, WorksThatTheHubLostAreFound) {
  put_secret("bootstrap-hub-kubeconfig", {{"kubeconfig", bootstrap_kubeconfig(endpoint_, "t")}});
  put_secret("hub-kubeconfig-secret", identity());
  const auto applied = [&](const std::string& work, const std::string& server) {
    const std::string hash = work::hub_hash(server);
    spoke_->put(api::applied_manifest_works(), {{"metadata", {{"name", work::applied_name(hash, work)}}},
                                                {"spec", {{"hubHash", hash}, {"manifestWorkName", work}}}});
  };
  applied("kept", "https://hub:6443");
  applied("lost", "https://hub:6443");
  applied("other", "https://another:6443");
  hub_->put(api::manifest_works(), {{"metadata", {{"name", "kept"}, {"namespace", "c1"}}}});
  const auto lost = works_unknown_to_hub(spoke_->client(), hub_->client(), read());
  ASSERT_TRUE(lost.has_value()) << lost.error().message;
  EXPECT_EQ(*lost, std::vector<std::string>{"lost"});
  hub_->fail_next("list", "manifestworks", 403, "Forbidden");
  EXPECT_FALSE(works_unknown_to_hub(spoke_->client(), hub_->client(), read()).has_value()) << "not seen is not absent";
}

}  // namespace
}  // namespace fleetadm::registration::rejoin
