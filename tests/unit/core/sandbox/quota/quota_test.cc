#include <atomic>
#include <thread>

#include "core/sandbox/quota/admission.h"
#include "core/sandbox/quota/usage.h"
#include "tests/unit/core/sandbox/controllers/lab.h"

namespace fleetadm::sandbox {
namespace {

class Quotas : public ControllerLab {
 protected:
  void quota(const Json& hard, const Json& more = Json::object()) {
    Json spec = {{"hard", hard}};
    spec.update(more);
    make("", "resourcequotas", {{"metadata", {{"name", "q"}}}, {"spec", std::move(spec)}});
    sync();
  }
  void sync() { sync_resource_quota(context(), "default", "q"); }
  std::string used(const std::string& name) { return str(get("", "resourcequotas", "q"), {"status", "used", name}); }
  std::string refused(std::string_view group, std::string_view plural, Json object) {
    const auto made = try_make(group, plural, std::move(object));
    return made ? std::string() : made.error().message;
  }
  static Json named(const std::string& name) { return {{"metadata", {{"name", name}}}}; }
  static Json pod(const std::string& name, const char* cpu = nullptr) {
    Json spec = pod_spec();
    if (cpu != nullptr) spec["containers"][0]["resources"]["requests"]["cpu"] = cpu;
    return {{"metadata", {{"name", name}}}, {"spec", std::move(spec)}};
  }
};

TEST_F(Quotas, CountObjectsAndRefuseTheOneTooMany) {
  quota({{"secrets", "1"}, {"count/replicasets.apps", "1"}});
  EXPECT_EQ(used("secrets"), "0");
  make("", "secrets", named("a"));
  EXPECT_EQ(used("secrets"), "1") << "counted as it is admitted";
  EXPECT_EQ(refused("", "secrets", named("b")),
            "secrets \"b\" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1");
  make("apps", "replicasets", workload("r", {{"replicas", 0}}));
  EXPECT_NE(refused("apps", "replicasets", workload("s", {{"replicas", 0}})), "");
  remove(context(), *kind("", "secrets"), get("", "secrets", "a"));
  sync();
  EXPECT_EQ(used("secrets"), "0");
  EXPECT_EQ(refused("", "secrets", named("b")), "");
}

TEST_F(Quotas, AddUpWhatPodsAskFor) {
  quota({{"requests.cpu", "1"}, {"pods", "5"}});
  EXPECT_EQ(refused("", "pods", pod("a")), "pods \"a\" is forbidden: failed quota: q: must specify requests.cpu for: c");
  make("", "pods", pod("a", "600m"));
  EXPECT_EQ(used("requests.cpu"), "600m");
  EXPECT_EQ(refused("", "pods", pod("b", "500m")),
            "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: "
            "requests.cpu=1");
  set_pod("a", "Succeeded");
  sync();
  EXPECT_EQ(used("pods"), "0") << "what is over takes nothing";
  EXPECT_EQ(refused("", "pods", pod("b", "500m")), "");
}

TEST_F(Quotas, AreForThePodsOfTheirScopes) {
  quota({{"pods", "1"}}, {{"scopes", Json::array({"NotBestEffort"})}});
  for (const char* name : {"a", "b"}) EXPECT_EQ(refused("", "pods", pod(name)), "");
  EXPECT_EQ(used("pods"), "0");
  EXPECT_EQ(refused("", "pods", pod("c", "1")), "");
  EXPECT_NE(refused("", "pods", pod("d", "1")), "");
  EXPECT_NE(refusal("", "resourcequotas", "q", [](Json& next) { at_or_make(next, {"spec", "scopes"}) = {"BestEffort"}; }), "");
}

TEST_F(Quotas, ADryRunTakesNothing) {
  quota({{"secrets", "1"}});
  auto by = as_controller("test");
  by.dry_run = true;
  Json secret = named("a");
  secret.update({{"apiVersion", "v1"}, {"kind", "Secret"}});
  EXPECT_TRUE(engine().create(*kind("", "secrets"), "default", secret, by));
  EXPECT_EQ(used("secrets"), "0");
}

TEST_F(Quotas, KeepWhatAWriteOnItsWayTakes) {
  quota({{"secrets", "2"}});
  const auto secrets = kind("", "secrets");
  const Json secret = {{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", "a"}, {"namespace", "default"}}}};
  const auto by = as_controller("test");
  ASSERT_TRUE(
      quota::admit(engine(), server_->pending_writes(), {*secrets, "CREATE", "default", "a", false, &secret, nullptr, by}));
  EXPECT_EQ(used("secrets"), "1");
  make("", "secrets", named("b"));
  sync();
  EXPECT_EQ(used("secrets"), "2") << "a is let through, and not stored yet";
  EXPECT_NE(refused("", "secrets", named("c")), "");
  make("", "configmaps", named("a"));
  sync();
  EXPECT_EQ(used("secrets"), "2") << "another object of that name";
  server_->pending_writes().done({"default", "/secrets", "a"});
  sync();
  EXPECT_EQ(used("secrets"), "1") << "its write failed";
}

TEST_F(Quotas, ForgetWritesThatStayAway) {
  quota::PendingWrites pending(std::chrono::milliseconds(20));
  const quota::Amounts one = {{"secrets", Quantity::from_int(1)}};
  pending.charge({"default", "/secrets", "a"}, "q", one);
  pending.charge({"default", "/secrets", "b"}, "q", one);
  pending.charge({"default", "/secrets", "b"}, "q", one);
  pending.charge({"default", "/secrets", "b"}, "other", one);
  pending.charge({"else", "/secrets", "a"}, "q", one);
  EXPECT_EQ(pending.of("default", "q").at("secrets").to_string(), "2");
  pending.done({"default", "/secrets", "b"});
  EXPECT_EQ(pending.of("default", "q").at("secrets").to_string(), "1");
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_TRUE(pending.of("default", "q").empty());
}

TEST_F(Quotas, HoldAgainstManyWritersAndTheirOwnController) {
  constexpr int kRoom = 40;
  quota({{"secrets", std::to_string(kRoom)}});
  std::atomic<bool> over = false;
  std::thread counter([&] {
    while (!over) sync();
  });
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 6; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 20; ++i) {
        const auto made = try_make("", "secrets", named(std::to_string(writer) + "-" + std::to_string(i)));
        EXPECT_TRUE(made || made.error().code == 403 || made.error().code == 409) << made.error().message;
      }
    });
  }
  for (auto& one : writers) one.join();
  over = true;
  counter.join();
  EXPECT_LE(all("", "secrets").size(), std::size_t{kRoom});
  sync();
  for (int i = 0; i <= kRoom; ++i) static_cast<void>(try_make("", "secrets", named("last-" + std::to_string(i))));
  EXPECT_EQ(all("", "secrets").size(), std::size_t{kRoom});
  EXPECT_EQ(used("secrets"), std::to_string(kRoom));
}

TEST_F(Quotas, TellAReplicaSetThatItsPodsAreRefused) {
  quota({{"pods", "1"}});
  make("apps", "replicasets", workload("r", {{"replicas", 2}}));
  for (int i = 0; i < 2; ++i) sync_replica_set(context(), "default", "r");
  EXPECT_EQ(all("", "pods").size(), 1U);
  EXPECT_EQ(condition(get("apps", "replicasets", "r"), "ReplicaFailure"), "True FailedCreate");
  EXPECT_EQ(asked(), "2026-01-01T00:00:35Z") << "it tries again";
  edit("apps", "replicasets", "r", [](Json& next) { at_or_make(next, {"spec", "replicas"}) = 1; });
  sync_replica_set(context(), "default", "r");
  EXPECT_EQ(condition(get("apps", "replicasets", "r"), "ReplicaFailure"), "none");
}

TEST_F(Quotas, CountWhatAPodNeedsAtItsPeak) {
  const auto container = [](const char* cpu, const char* policy) {
    Json out = {{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}, {"example.com/gpu", "1"}}}}}};
    if (policy != nullptr) out["restartPolicy"] = policy;
    return out;
  };
  const Json peak = {{"spec",
                      {{"initContainers", Json::array({container("1", "Always"), container("3", nullptr)})},
                       {"containers", Json::array({container("1", nullptr), container("500m", nullptr)})}}}};
  auto amounts = quota::usage_of(*kind("", "pods"), peak, Instant());
  EXPECT_EQ(amounts["requests.cpu"].to_string(), "4") << "the long one before, beside what stays";
  EXPECT_EQ(amounts["requests.example.com/gpu"].to_string(), "3");
  EXPECT_EQ(amounts["count/pods"].to_string(), "1");
}

TEST_F(Quotas, LimitRangesFillInAndRefuse) {
  const Json limit = {{"type", "Container"},
                      {"default", {{"cpu", "500m"}}},
                      {"defaultRequest", {{"cpu", "100m"}}},
                      {"min", {{"cpu", "50m"}}},
                      {"max", {{"cpu", "1"}}}};
  make("", "limitranges", {{"metadata", {{"name", "l"}}}, {"spec", {{"limits", Json::array({limit})}}}});
  const Json made = make("", "pods", pod("a"));
  const Json& container = list_at(made, {"spec", "containers"}).front();
  EXPECT_EQ(str(container, {"resources", "requests", "cpu"}), "100m");
  EXPECT_EQ(str(container, {"resources", "limits", "cpu"}), "500m");
  EXPECT_EQ(annotation_of(made, "kubernetes.io/limit-ranger"),
            "LimitRanger plugin set: cpu request for container c; cpu limit for container c");
  EXPECT_EQ(str(made, {"status", "qosClass"}), "Burstable");
  EXPECT_EQ(refused("", "pods", pod("b", "10m")),
            "pods \"b\" is forbidden: minimum cpu usage per Container is 50m, but request is 10m");
  Json big = pod("c", "100m");
  big["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "2";
  EXPECT_EQ(refused("", "pods", big), "pods \"c\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
}

}  // namespace
}  // namespace fleetadm::sandbox
