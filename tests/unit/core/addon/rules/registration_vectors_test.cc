// Every recorded answer of upstream's registration of add-ons, answered again.
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <set>

#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/csr_verdict.h"
#include "core/addon/rules/registration_scenario.h"
#include "core/addon/rules/scenario.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/vectors.h"

namespace fleetadm::addon {
namespace {

using rollout::Semantics;
constexpr const char* kFile = "addon-registration.jsonl.gz";

/// Objects as they are compared; the words of an error are not, where a condition repeats them neither.
Json objects_of(const Json& list, bool with_uid = false) {
  std::vector<Json> objects;
  for (const Json& object : list) {
    Json shown = comparable(object);
    if (with_uid && !uid_of(object).empty()) shown["metadata"]["uid"] = uid_of(object);
    if (Json* conditions = const_cast<Json*>(find(shown, {"status", "conditions"})); conditions != nullptr) {
      for (Json& condition : *conditions) {
        if (str(condition, {"reason"}) == "SetPermissionFailed") condition["message"] = "";
      }
    }
    objects.push_back(std::move(shown));
  }
  std::sort(objects.begin(), objects.end(), [](const Json& a, const Json& b) {
    return std::tuple(str(a, {"kind"}), namespace_of(a), name_of(a)) < std::tuple(str(b, {"kind"}), namespace_of(b), name_of(b));
  });
  return objects;
}

std::string unlike(const char* what, const Json& expect, const Json& got) {
  if (expect == got) return {};
  return std::string(what) + ": expected " + dump_json(expect) + ", got " + dump_json(got) + "\n";
}

std::string setup_difference(const Json& expect, const Json& got) {
  const bool failed = find(got, {"error"}) != nullptr;
  return unlike("changed", objects_of(list_at(expect, {"changed"})), objects_of(list_at(got, {"changed"}))) +
         unlike("roleBindings", objects_of(list_at(expect, {"roleBindings"})), objects_of(list_at(got, {"roleBindings"}))) +
         unlike("reasons", list_at(expect, {"reasons"}), list_at(got, {"reasons"})) +
         unlike("error", find(expect, {"error"}) != nullptr, failed);
}

std::string token_difference(const Json& expect, const Json& got) {
  return unlike("changed", objects_of(list_at(expect, {"changed"})), objects_of(list_at(got, {"changed"}))) +
         unlike("hub", objects_of(list_at(expect, {"hub"}), true), objects_of(list_at(got, {"hub"}), true)) +
         unlike("deleted", list_at(expect, {"deleted"}), list_at(got, {"deleted"}));
}

std::string csr_difference(const Json& expect, const Json& got) {
  return unlike("approved", object_at(expect, {"approved"}), object_at(got, {"approved"})) +
         unlike("signed", object_at(expect, {"signed"}), object_at(got, {"signed"})) +
         unlike("signError", find(expect, {"signError"}) != nullptr, find(got, {"signError"}) != nullptr);
}

/// The request of a line, and what the rules of ours say about it, looked at in the plainest way.
class Request {
 public:
  explicit Request(const Json& line) : addon_(str(line, {"addon"})) {
    for (const Json& object : list_at(line, {"objects"})) {
      if (str(object, {"kind"}) == "CertificateSigningRequest" && name_of(object) == str(line, {"csr"})) csr_ = object;
      if (str(object, {"kind"}) == "AddOnTemplate") template_ = object;
      if (str(object, {"kind"}) == "ManagedCluster" && !flag(object, {"spec", "hubAcceptsClient"}))
        refused_.insert(name_of(object));
    }
    cluster_ = label_of(csr_, api::kClusterNameLabel);
    const auto pem = base64_decode(str(csr_, {"spec", "request"}));
    if (const auto info = pem ? pki::parse_csr(*pem) : fail(Category::kInvalid, "no base64")) asked_ = *info;
  }

  bool breaks(const std::string& rule) const {
    if (rule == "name") return !name_of(csr_).starts_with("addon-" + cluster_ + "-" + addon_ + "-");
    if (rule == "cluster") return refused_.contains(cluster_);
    if (rule == "usages")
      return list_at(csr_, {"spec", "usages"}).size() != 3 || str(csr_["spec"]["usages"][0], {}) == "server auth";
    if (rule == "requester")
      return !str(csr_, {"spec", "username"}).starts_with("system:open-cluster-management:" + cluster_ + ":");
    if (rule == "kubernetes-signer") return str(csr_, {"spec", "signerName"}).starts_with("kubernetes.io/");
    if (rule == "request") return !asked_ || !asked_->signature_valid;
    if (rule == "subject") return asked_ && (has_own_subject() || !has_default_subject());
    if (rule == "alternative-names") return asked_ && has_other_names();
    if (rule == "extensions") return asked_ && asked_->other_extensions;
    if (rule == "template") return template_.is_null();
    if (rule == "signer") return registration_for(template_, str(csr_, {"spec", "signerName"})) == nullptr;
    return false;
  }

 private:
  bool has_own_subject() const {
    const Json& registrations = list_at(template_, {"spec", "registration"});
    return std::any_of(registrations.begin(), registrations.end(), [](const Json& one) {
      return find(one, {"customSigner", "subject"}) != nullptr;
    });
  }
  bool has_default_subject() const {
    const std::string group = "system:open-cluster-management:cluster:" + cluster_ + ":addon:" + addon_;
    std::set<std::string> groups(asked_->subject.organizations.begin(), asked_->subject.organizations.end());
    groups.erase("system:authenticated");
    return asked_->subject.common_name == group + ":agent:" + addon_ + "-agent" && asked_->subject.organizational_units.empty() &&
           !asked_->other_subject_attributes &&
           groups == std::set<std::string>{group, "system:open-cluster-management:addon:" + addon_};
  }
  bool has_other_names() const {
    return !asked_->ip_addresses.empty() || !asked_->emails.empty() || !asked_->uris.empty() || asked_->dns_names.size() > 1 ||
           (asked_->dns_names.size() == 1 && asked_->dns_names[0] != addon_ + ".addon.open-cluster-management.io");
  }

  std::string addon_;
  std::string cluster_;
  Json csr_;
  Json template_;
  std::set<std::string> refused_;
  std::optional<pki::CsrInfo> asked_;
};

/// Upstream cannot read the elliptic key of a signer's CA; we sign with it.
bool signs_by_elliptic_key(const Json& expect, const Json& got) {
  return str(expect, {"signError"}).find("ParseECPrivateKey") != std::string::npos && find(got, {"signed"}) != nullptr;
}

TEST(RegistrationVectors, UpstreamsConductAnswersEveryLineAlike) {
  int run = 0;
  int different = 0;
  std::map<std::string, int> refused;
  int elliptic = 0;
  const Status read = test::for_each_vector(kFile, [&](const Json& line) {
    ++run;
    const auto got = answer_registration_scenario(line, Semantics::kUpstream);
    ASSERT_TRUE(got) << str(line, {"id"}) << ": " << got.error().message;
    const Json& expect = object_at(line, {"expect"});
    const std::string part = str(line, {"part"});
    std::string difference;
    if (const std::string rule = str(*got, {"refusedBy"}); !rule.empty()) {
      ++refused[rule];
      if (expect.empty()) difference = "upstream does not approve it either: nothing is to be told\n";
      if (!Request(line).breaks(rule)) difference += "it does not break rule " + rule + ": " + dump_json(*got) + "\n";
    } else if (part == "csr" && signs_by_elliptic_key(expect, *got)) {
      ++elliptic;
    } else {
      difference = part == "setup" ? setup_difference(expect, *got)
                   : part == "csr" ? csr_difference(expect, *got)
                                   : token_difference(expect, *got);
    }
    if (!difference.empty() && ++different <= 10) ADD_FAILURE() << str(line, {"id"}) << " " << part << ": " << difference;
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << run << " recorded answers, " << different << " different, " << elliptic
            << " signed by an elliptic key; refused by:";
  for (const auto& [rule, count] : refused) std::cout << " " << rule << " " << count;
  std::cout << "\n";
  EXPECT_EQ(different, 0);
  EXPECT_GE(run, 485);
}

TEST(RegistrationVectors, TheHubApprovesAndSignsNothingThatUpstreamLeaves) {
  int approved = 0;
  int signed_ones = 0;
  const Status read = test::for_each_vector(kFile, [&](const Json& line) {
    if (str(line, {"part"}) != "csr") return;
    const auto got = answer_registration_scenario(line, Semantics::kStrict);
    ASSERT_TRUE(got) << str(line, {"id"});
    const Json& expect = object_at(line, {"expect"});
    if (find(*got, {"approved"}) != nullptr) {
      ++approved;
      EXPECT_NE(find(expect, {"approved"}), nullptr) << str(line, {"id"});
    }
    if (find(*got, {"signed"}) != nullptr) {
      ++signed_ones;
      EXPECT_TRUE(find(expect, {"signed"}) != nullptr || signs_by_elliptic_key(expect, *got)) << str(line, {"id"});
    }
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_GT(approved, 20);
  EXPECT_GT(signed_ones, 5);
}

TEST(RegistrationVectors, TheHubSettlesEverySetupThatItDoesNotRefuse) {
  int failed = 0;
  int of_others = 0;
  const Status read = test::for_each_vector(kFile, [&](const Json& line) {
    if (str(line, {"part"}) != "setup") return;
    const auto got = answer_registration_scenario(line, Semantics::kStrict);
    ASSERT_TRUE(got) << str(line, {"id"});
    const std::string error = str(*got, {"error"});
    if (error.empty()) return;
    // Upstream takes over a binding that another one made.
    const bool not_ours = error.find("exists and is not this add-on's") != std::string::npos;
    ++(not_ours ? of_others : failed);
    // What is wrong in the objects stays wrong; no two roles exclude one another.
    EXPECT_EQ(error.find("roleRef"), std::string::npos) << str(line, {"id"}) << ": " << error;
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_LT(failed, 20);
  EXPECT_LE(of_others, 20);
}

}  // namespace
}  // namespace fleetadm::addon
