// The certificate request's life, one step at a time, against a hub in memory.
#include "core/registration/agent/issuance.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/registration/agent/certificate_keeper.h"
#include "core/registration/agent/rotation.h"
#include "kubeclient/base/encoding.h"
#include "signer.h"
#include "tests/support/fake_api.h"

namespace fleetadm::registration::agent {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testkit::FakeApi;

const Identity kMe{"c1", "abcde"};
const Endpoint kHub{"hub", "https://hub", "CA\n", "", ""};
const kube::Resource& csrs() { return kube::resources::certificate_signing_requests(); }

class Issuing : public testing::Test {
 protected:
  Issuance step() {
    auto done = advance(hub->client(), {store, store}, agent_order(kMe, kHub, options), *clock);
    EXPECT_TRUE(done) << done.error().message;
    return done.value_or(Issuance{});
  }
  Json request() { return hub->all(csrs()).at(0); }
  void answer(const char* type, Instant at, bool sign = false, const pki::Subject* subject = nullptr) {
    Json object = request();
    object["status"]["conditions"] = Json::array(
        {{{"type", type}, {"status", "True"}, {"reason", "r"}, {"message", "m"}, {"lastUpdateTime", format_time(at)}}});
    if (sign) {
      std::string pem = base64_decode(str(object, {"spec", "request"})).value();
      if (subject != nullptr) pem = pki::make_csr(pki::generate_key().value(), *subject).value();
      object["status"]["certificate"] = base64_encode(testkit::sign_request(ca, pem, validity));
    }
    hub->put(csrs(), object);
  }

  std::shared_ptr<FakeApi> hub = FakeApi::make();
  std::shared_ptr<FakeApi> spoke = FakeApi::make();
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(Clock::system()->now());
  HubSecretStore store{spoke->client(), "ns", "hub-kubeconfig-secret"};
  RequestOptions options;
  pki::KeyPair ca = pki::make_ca("hub", hours(48)).value();
  Duration validity = hours(10);
};

TEST_F(Issuing, KeyAndNamesAreStoredBeforeTheRequestIsSent) {
  hub->fail_next("create", "certificatesigningrequests", 500, "InternalError", 100);
  EXPECT_FALSE(advance(hub->client(), {store, store}, agent_order(kMe, kHub, options), *clock));
  const HubSecret stored = store.load().value();
  EXPECT_EQ(stored.identity(), kMe);
  EXPECT_FALSE(stored.get(kPendingKeyKey).empty());
  EXPECT_TRUE(pki::parse_csr(stored.get(kPendingRequestKey)));
  EXPECT_EQ(stored.get(kPrivateKeyKey), "");
}

TEST_F(Issuing, ALostAnswerMakesNoSecondRequest) {
  hub->lose_answer_of_next("create", "certificatesigningrequests");
  (void)advance(hub->client(), {store, store}, agent_order(kMe, kHub, options), *clock);
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
  EXPECT_EQ(hub->all(csrs()).size(), 1U);
}

TEST_F(Issuing, WaitsUntilSigned) {
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
  answer("Approved", clock->now());
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
  answer("Approved", clock->now(), true);
  const Issuance issued = step();
  EXPECT_EQ(issued.state, Issuance::State::kIssued);
  EXPECT_EQ(why_unusable(issued.stored, kMe, kHub, clock->now()), "");
  EXPECT_FALSE(issued.stored.data.contains(kPendingKeyKey));
  EXPECT_FALSE(issued.stored.data.contains(kPendingRequestKey));
  EXPECT_EQ(hub->count("create", "certificatesigningrequests"), 1);
}

TEST_F(Issuing, KeysOfOthersStayInTheSecret) {
  spoke->put(kube::resources::secrets(),
             {{"metadata", {{"name", "hub-kubeconfig-secret"}, {"namespace", "ns"}, {"labels", {{"a", "b"}}}}},
              {"data", {{"config.yaml", "eA=="}}}});
  step();
  answer("Approved", clock->now(), true);
  EXPECT_EQ(step().stored.get("config.yaml"), "x");
  EXPECT_EQ(label_of(*spoke->get(kube::resources::secrets(), "ns", "hub-kubeconfig-secret"), "a"), "b");
}

TEST_F(Issuing, TheLifetimeIsAskedForOnlyWhereGiven) {
  options.expiration_seconds = 3600;
  step();
  EXPECT_EQ(num(request(), {"spec", "expirationSeconds"}), 3600);
}

TEST_F(Issuing, DeniedIsAskedAgainAfterAnHour) {
  step();
  const std::string name = name_of(request());
  answer("Denied", clock->now());
  EXPECT_EQ(step().state, Issuance::State::kDenied);
  clock->advance(minutes(59));
  EXPECT_EQ(step().state, Issuance::State::kDenied);
  EXPECT_EQ(hub->all(csrs()).size(), 1U);
  clock->advance(minutes(2));
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
  ASSERT_EQ(hub->all(csrs()).size(), 2U);
  EXPECT_NE(step().request_name, name);
}

TEST_F(Issuing, DeniedIsAskedAgainOnceTheRequestIsGone) {
  step();
  answer("Denied", clock->now());
  EXPECT_EQ(step().state, Issuance::State::kDenied);
  hub->erase(csrs(), {}, name_of(request()));
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
  EXPECT_EQ(hub->all(csrs()).size(), 1U);
}

TEST_F(Issuing, FailedSigningIsARefusal) {
  step();
  answer("Failed", clock->now());
  EXPECT_EQ(step().state, Issuance::State::kDenied);
}

TEST_F(Issuing, ACleanedUpRequestIsSentAgain) {
  step();
  const std::string name = name_of(request());
  hub->erase(csrs(), {}, name);
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
  EXPECT_EQ(name_of(request()), name);
}

TEST_F(Issuing, AnExpiredCertificateIsReplaced) {
  step();
  answer("Approved", clock->now(), true);
  clock->advance(validity + hours(1));
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
  EXPECT_EQ(hub->all(csrs()).size(), 2U);
}

TEST_F(Issuing, ACertificateForSomethingElseIsNotTaken) {
  step();
  const pki::Subject other = subject_of({"c2", "abcde"});
  answer("Approved", clock->now(), true, &other);
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
  EXPECT_EQ(store.load().value().get(kCertificateKey), "");
  EXPECT_EQ(hub->all(csrs()).size(), 2U);
}

TEST_F(Issuing, AForeignRequestUnderOurNameIsLeftAlone) {
  step();
  Json foreign = request();
  foreign["spec"]["request"] = base64_encode("something else");
  hub->put(csrs(), foreign);
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
  EXPECT_EQ(hub->all(csrs()).size(), 2U);
}

TEST_F(Issuing, StopsAtTenRequests) {
  for (int i = 0; i < 10; ++i) {
    hub->put(csrs(),
             {{"metadata", {{"name", "c1-" + std::to_string(i)}, {"labels", {{std::string(api::kClusterNameLabel), "c1"}}}}},
              {"spec", {{"username", "fake-user"}}}});
    hub->put(csrs(), {{"metadata",
                       {{"name", "addon-" + std::to_string(i)},
                        {"labels", {{std::string(api::kClusterNameLabel), "c1"}, {std::string(api::kAddonNameLabel), "a"}}}}}});
  }
  EXPECT_EQ(step().state, Issuance::State::kHalted);
  EXPECT_EQ(hub->count("create", "certificatesigningrequests"), 0);
  hub->erase(csrs(), {}, "c1-0");
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
}

TEST_F(Issuing, RequestsOfOthersDoNotStopIt) {
  for (int i = 0; i < 20; ++i) {
    hub->put(csrs(),
             {{"metadata", {{"name", "x-" + std::to_string(i)}, {"labels", {{std::string(api::kClusterNameLabel), "c1"}}}}},
              {"spec", {{"username", "system:open-cluster-management:c2:agent"}}}});
  }
  EXPECT_EQ(step().state, Issuance::State::kWaiting);
  EXPECT_EQ(hub->count("create", "certificatesigningrequests"), 1);
}

TEST_F(Issuing, AnotherIdentityGetsAnotherKey) {
  step();
  const std::string key = store.load().value().get(kPendingKeyKey);
  ASSERT_TRUE(advance(hub->client(), {store, store}, agent_order({"c1", "other"}, kHub, options), *clock));
  EXPECT_NE(store.load().value().get(kPendingKeyKey), key);
  EXPECT_EQ(store.load().value().identity(), (Identity{"c1", "other"}));
}

class Keeping : public Issuing {
 protected:
  void SetUp() override {
    step();
    answer("Approved", clock->now(), true);
    step();
    hub->erase(csrs(), {}, name_of(request()));
    hub->put(api::managed_clusters(), {{"metadata", {{"name", "c1"}}}});
    hub->forget_calls();
    spoke->forget_calls();
  }
  Result<controller::Outcome> round(bool accepted = true) { return keeper.reconcile(accepted); }
  std::string rotated() {
    const auto managed = hub->get(api::managed_clusters(), {}, "c1");
    const Json* found = controller::find_condition(*managed, "ClusterCertificateRotated");
    return found == nullptr ? "" : str(*found, {"status"}) + " " + str(*found, {"reason"});
  }

  std::vector<std::string> told;
  CertificateKeeper keeper{hub->client(), store, {kMe, kHub, {}, minutes(5)}, clock, [this](const HubSecret& secret) {
                             told.push_back(secret.get(kCertificateKey));
                           }};
};

TEST_F(Keeping, NothingIsWrittenWhileNothingIsDue) {
  for (int i = 0; i < 3; ++i) {
    const auto outcome = round();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->requeue_after, Duration(minutes(5)));
  }
  EXPECT_EQ(spoke->write_count() + hub->write_count(), 0);
  EXPECT_EQ(told.size(), 1U);
}

TEST_F(Keeping, WhatIsWatchedIsReadWhenItChangesAndWhenItIsDue) {
  bool tells = true;
  CertificateKeeper watched{
      hub->client(), store, {kMe, kHub, {}, minutes(5), [&tells] { return tells; }}, clock, [](const HubSecret&) {}};
  const auto reads = [&] { return spoke->count("get", "secrets"); };
  ASSERT_TRUE(watched.reconcile(true));
  const int first = reads();
  clock->advance(minutes(5));
  EXPECT_EQ(watched.reconcile(true)->requeue_after, Duration(minutes(5)));
  EXPECT_EQ(reads(), first);
  watched.changed();
  ASSERT_TRUE(watched.reconcile(true));
  EXPECT_EQ(reads(), first + 1);
  tells = false;
  ASSERT_TRUE(watched.reconcile(true));
  EXPECT_EQ(reads(), first + 2) << "a change would not be told";
  tells = true;
  clock->set(plan_renewal(store.load().value(), subject_of(kMe), clock->now()).at);
  ASSERT_TRUE(watched.reconcile(true));
  EXPECT_EQ(hub->all(csrs()).size(), 1U);
}

TEST_F(Keeping, RenewsWhenDueAndSaysSo) {
  const Instant at = plan_renewal(store.load().value(), subject_of(kMe), clock->now()).at;
  clock->set(at - minutes(1));
  EXPECT_EQ(round()->requeue_after, Duration(minutes(1)));
  clock->set(at);
  EXPECT_EQ(round(false)->requeue_after, Duration(minutes(5)));  // not accepted: no right to renew
  EXPECT_EQ(hub->all(csrs()).size(), 0U);
  EXPECT_EQ(round()->requeue_after, Duration(std::chrono::seconds(1)));
  ASSERT_EQ(hub->all(csrs()).size(), 1U);
  validity = hours(40);
  answer("Approved", clock->now(), true);
  ASSERT_TRUE(round());
  EXPECT_EQ(rotated(), "True ClientCertificateUpdated");
  EXPECT_EQ(told.size(), 2U);
  EXPECT_FALSE(plan_renewal(store.load().value(), subject_of(kMe), clock->now()).due);
}

TEST_F(Keeping, ADeletedSecretIsMadeAnew) {
  round();
  spoke->erase(kube::resources::secrets(), "ns", "hub-kubeconfig-secret");
  ASSERT_TRUE(round());
  answer("Approved", clock->now(), true);
  ASSERT_TRUE(round());
  EXPECT_EQ(why_unusable(store.load().value(), kMe, kHub, clock->now()), "");
}

TEST_F(Keeping, ASpoiledKubeconfigIsRepairedWithoutANewCertificate) {
  round();
  ASSERT_TRUE(store.edit([](HubSecret& secret) -> Status {
    secret.data.erase(kKubeconfigKey);
    secret.data[kAgentNameKey] = "wrong";
    return {};
  }));
  ASSERT_TRUE(round());
  EXPECT_EQ(why_unusable(store.load().value(), kMe, kHub, clock->now()), "");
  EXPECT_EQ(store.load().value().identity(), kMe);
  EXPECT_EQ(hub->write_count(), 0);
}

TEST_F(Keeping, RefusalsAreReportedAndTriedAgain) {
  clock->set(plan_renewal(store.load().value(), subject_of(kMe), clock->now()).at);
  hub->fail_next("create", "certificatesigningrequests", 403, "Forbidden");
  ASSERT_TRUE(round());
  EXPECT_EQ(rotated(), "False ClientCertificateUpdateFailed");
  round();
  answer("Denied", clock->now());
  ASSERT_TRUE(round());
  EXPECT_EQ(rotated(), "False ClientCertificateUpdateFailed");
  EXPECT_FALSE(why_unusable(store.load().value(), kMe, kHub, clock->now()) != "");
}

}  // namespace
}  // namespace fleetadm::registration::agent
