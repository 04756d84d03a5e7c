// The agent is killed behind each of its writes while it looks after an add-on's credentials; the next one ends in the same
// state: one credential that works, where the add-on needs it, and nothing else.
#include <gtest/gtest.h>
#include <vector>

#include "tests/unit/core/addon/agent/keeping_fixture.h"

namespace fleetadm::addon::agent {
namespace {

constexpr const char* kSigned = "hello-example.com-signer-client-cert";
constexpr const char* kKubeconfigSecret = "hello-hub-kubeconfig";

class KilledAgent : public KeepingTokens {
 protected:
  using Step = std::function<void()>;

  static Json custom_signer() { return {{"signerName", "example.com/signer"}, {"subject", {{"user", "u"}}}}; }

  /// `before`: what was there, and done, as no agent was killed; `change`: what happens then, to the add-on or the agent's
  /// options.
  void ends_alike(const std::string& driver, const Step& before, const Step& change, const Step& check) {
    for (int last = 0; last < kMostWrites; ++last) {
      SCOPED_TRACE("killed after " + std::to_string(last) + " writes");
      begin_anew(driver);
      before();
      change();
      writes_ = 0;
      limit_ = last;
      live();
      const bool whole = writes_ < last;
      limit_ = -1;
      start();
      check();
      rests();
      if (whole || HasFailure()) return;
    }
    FAIL() << "more than " << kMostWrites << " writes";
  }
  /// The next agent.
  void start() {
    restart();
    (void)keeper->remove_leftovers([this](const std::string&) { return addon(); });
    live();
  }
  /// Until it has what it needs; the hub answers.
  void live() {
    for (int look = 0; look < 4; ++look) {
      (void)keeper->keep_credentials("hello", addon());
      sign();
    }
  }
  void rests() {
    hub->forget_calls();
    spoke->forget_calls();
    start();
    // At its start an agent makes sure that nothing is left of a request.
    EXPECT_EQ(hub->write_count() + spoke->write_count() - spoke->count("delete", "secrets"), 0);
    for (const Json& one : spoke->all(kube::resources::secrets()))
      EXPECT_FALSE(name_of(one).ends_with("-request")) << name_of(one);
  }

  void has_certificate(const char* name, std::size_t requests, const std::string& ns = kNs) const {
    const auto found = secret(name, ns);
    ASSERT_TRUE(found) << name;
    const auto value = [&](const char* key) { return base64_decode(str(*found, {"data", key})).value_or(""); };
    EXPECT_TRUE(pki::key_matches(value("tls.crt"), value("tls.key"))) << name;
    EXPECT_EQ(value("kubeconfig").empty(), std::string_view(name) != kKubeconfigSecret);
    EXPECT_EQ(value("token"), "");
    EXPECT_EQ(hub->all(kube::resources::certificate_signing_requests()).size(), requests);
    EXPECT_EQ(condition("ClusterCertificateRotated", "status"), "True");
  }
  void has_token() const {
    EXPECT_FALSE(stored(kKubeconfigSecret, "token").empty());
    EXPECT_NE(stored(kKubeconfigSecret, "kubeconfig").find("tokenFile: token"), std::string::npos);
    EXPECT_EQ(stored(kKubeconfigSecret, "tls.key"), "");
    EXPECT_EQ(condition("TokenRefreshed", "status"), "True");
    EXPECT_EQ(str(*addon(), {"status", "kubeClientDriver"}), "token");
  }

 private:
  static constexpr int kMostWrites = 24;

  void begin_anew(const std::string& driver) {
    hub = testkit::FakeApi::make();
    spoke = testkit::FakeApi::make();
    options.driver = driver;
    limit_ = -1;
    restart();
    const auto killed = [this](const testkit::ApiCall& call) -> std::optional<kube::Response> {
      if (limit_ >= 0 && writes_ >= limit_) return kube::Response{500, {}, {}};
      writes_ += call.is_write() ? 1 : 0;
      return answer_token_request(call);
    };
    hub->on_request(killed);
    spoke->on_request(killed);
  }

  int writes_ = 0;
  int limit_ = -1;  // so many writes; -1: nobody kills it
};

TEST_F(KilledAgent, AsItRegistersByCertificate) {
  ends_alike(
      "csr", [] {},
      [this] {
        declare(Json::array({kube_client(), custom_signer()}));
      },
      [this] {
        has_certificate(kKubeconfigSecret, 2);
        has_certificate(kSigned, 2);
      });
}

TEST_F(KilledAgent, AsItRegistersByToken) {
  ends_alike(
      "token", [] {}, [this] { declare(Json::array({kube_client()}), ready("uid-1")); }, [this] { has_token(); });
}

TEST_F(KilledAgent, AsItRenews) {
  std::string first;
  ends_alike(
      "csr",
      [&] {
        declare(Json::array({kube_client()}));
        live();
        first = stored(kKubeconfigSecret, "tls.crt");
      },
      [this] { clock->advance(std::chrono::hours(20)); },
      [&] {
        has_certificate(kKubeconfigSecret, 2);
        EXPECT_NE(stored(kKubeconfigSecret, "tls.crt"), first);
      });
}

TEST_F(KilledAgent, AsTheAddonMoves) {
  ends_alike(
      "csr",
      [this] {
        declare(Json::array({kube_client()}));
        live();
      },
      [this] {
        Json moved = *addon();
        moved["status"]["namespace"] = "elsewhere";
        hub->put(api::managed_cluster_addons(), moved);
      },
      [this] {
        has_certificate(kKubeconfigSecret, 2, "elsewhere");
        EXPECT_FALSE(secret(kKubeconfigSecret));
      });
}

TEST_F(KilledAgent, AsARegistrationIsTakenBack) {
  ends_alike(
      "csr",
      [this] {
        declare(Json::array({kube_client(), custom_signer()}));
        live();
      },
      [this] {
        Json fewer = *addon();
        fewer["status"]["registrations"] = Json::array({kube_client()});
        hub->put(api::managed_cluster_addons(), fewer);
      },
      [this] {
        has_certificate(kKubeconfigSecret, 2);
        EXPECT_FALSE(secret(kSigned));
      });
}

TEST_F(KilledAgent, AsTheAddonGoes) {
  ends_alike(
      "csr",
      [this] {
        declare(Json::array({kube_client(), custom_signer()}));
        live();
      },
      [this] { hub->erase(api::managed_cluster_addons(), "c1", "hello"); },
      [this] { EXPECT_TRUE(spoke->all(kube::resources::secrets()).empty()); });
}

TEST_F(KilledAgent, AsItGoesOverToTokens) {
  for (const bool answered : {true, false}) {
    ends_alike(
        "csr",
        [&] {
          declare(Json::array({kube_client()}), ready("uid-1"));
          if (answered) return live();
          (void)keeper->keep_credentials("hello", addon());  // its request still waits
        },
        [this] {
          options.driver = "token";
          restart();
        },
        [this] { has_token(); });
  }
}

TEST_F(KilledAgent, AsItGoesBackToCertificates) {
  ends_alike(
      "token",
      [this] {
        declare(Json::array({kube_client()}), ready("uid-1"));
        live();
      },
      [this] {
        options.driver = "csr";
        restart();
      },
      [this] {
        // Until the hub says as whom, nothing is asked for.
        EXPECT_TRUE(hub->all(kube::resources::certificate_signing_requests()).empty());
        EXPECT_EQ(str(*addon(), {"status", "kubeClientDriver"}), "csr");
        Json told = *addon();
        told["status"]["registrations"] = Json::array({kube_client()});
        hub->put(api::managed_cluster_addons(), told);
        live();
        has_certificate(kKubeconfigSecret, 1);
      });
}

}  // namespace
}  // namespace fleetadm::addon::agent
