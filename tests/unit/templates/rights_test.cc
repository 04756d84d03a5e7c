// What fleetadm may do on a hub and on a cluster, line by line, compared with what was approved: more rights are a decision, and
// show up as a change of rights.txt. FLEETADM_UPDATE_GOLDEN=1 writes it anew.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

#include "templates/templates.h"
#include "tests/support/source_folder.h"

namespace fleetadm::templates {
namespace {

std::string approved_file() { return testkit::source_folder() + "/tests/unit/templates/rights.txt"; }

std::string words(const Json& list) {
  std::vector<std::string> sorted;
  for (const Json& one : list) sorted.push_back(one.get<std::string>().empty() ? "core" : one.get<std::string>());
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (const std::string& one : sorted) text += (text.empty() ? "" : " ") + one;
  return text;
}

std::string line_of(const Json& rule) {
  if (!list_at(rule, {"nonResourceURLs"}).empty())
    return words(list_at(rule, {"nonResourceURLs"})) + ": " + words(list_at(rule, {"verbs"}));
  std::string line = words(list_at(rule, {"apiGroups"})) + " / " + words(list_at(rule, {"resources"}));
  if (const Json& names = list_at(rule, {"resourceNames"}); !names.empty()) line += " [" + words(names) + "]";
  return line + ": " + words(list_at(rule, {"verbs"}));
}

bool selects(const Json& selector, const Json& role) {
  const auto wanted = strings_at(selector, {"matchLabels"});
  const auto labels = strings_at(role, {"metadata", "labels"});
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) { return labels.contains(one.first); });
}

bool selected(const Json& role, const Json& aggregate) {
  const Json& selectors = list_at(aggregate, {"aggregationRule", "clusterRoleSelectors"});
  return std::any_of(selectors.begin(), selectors.end(), [&](const Json& selector) { return selects(selector, role); });
}

std::string labels_of(const Json& selector) {
  std::string text;
  for (const auto& [key, value] : strings_at(selector, {"matchLabels"})) text += (text.empty() ? "" : ",") + key + "=" + value;
  return text;
}

/// By subject and scope: the rules of every role that is bound to it, or the name of a role that is not among the objects; of a
/// role that is made of others, also their labels where none is among the objects.
std::string rights(std::string_view file, const std::map<std::string, Json>& values) {
  const auto objects = render(file, values);
  if (!objects) return objects.error().message;
  std::map<std::string, std::set<std::string>> by_subject;
  for (const Json& binding : *objects) {
    if (!str(binding, {"kind"}).ends_with("RoleBinding")) continue;
    const std::string ns = namespace_of(binding);
    std::set<std::string> lines;
    bool found = false;
    for (const Json& role : *objects) {
      if (str(role, {"kind"}) != str(binding, {"roleRef", "kind"}) || name_of(role) != str(binding, {"roleRef", "name"}))
        continue;
      found = true;
      for (const Json& rule : list_at(role, {"rules"})) lines.insert(line_of(rule));
      for (const Json& part : *objects) {
        if (str(part, {"kind"}) != "ClusterRole" || !selected(part, role)) continue;
        for (const Json& rule : list_at(part, {"rules"})) lines.insert(line_of(rule));
      }
      for (const Json& selector : list_at(role, {"aggregationRule", "clusterRoleSelectors"})) {
        const auto is_of_it = [&](const Json& part) { return selects(selector, part); };
        if (std::none_of(objects->begin(), objects->end(), is_of_it)) lines.insert("the roles with " + labels_of(selector));
      }
    }
    if (!found) lines.insert("the role " + str(binding, {"roleRef", "name"}));
    for (const Json& subject : list_at(binding, {"subjects"})) {
      const std::string who = str(subject, {"kind"}) + " " + str(subject, {"name"});
      by_subject[who + (ns.empty() ? " everywhere" : " in " + ns)].insert(lines.begin(), lines.end());
    }
  }
  std::string text = "# " + std::string(file) + "\n";
  for (const auto& [who, lines] : by_subject) {
    text += who + "\n";
    for (const std::string& line : lines) text += "  " + line + "\n";
  }
  return text + "\n";
}

TEST(Rights, AreThoseThatWereApproved) {
  const std::string now =
      rights("hub/rbac.yaml", {}) + rights("hub/cluster-profiles.yaml", {}) + rights("hub/push.yaml", {}) +
      rights("hub/bootstrap.yaml", {}) +
      rights("hub/gateway.yaml", {{"image", "x"}, {"gateway_replicas", 1}, {"gateway_args", Json::array()}}) +
      rights("hub/gateway-push.yaml", {}) +
      rights("hub/konnectivity.yaml",
             {{"proxy_namespace", "proxy"}, {"proxy_secrets", Json{"ca", "front", "agents", "client", "signer"}}}) +
      rights("agent/rbac.yaml",
             {{"secrets", Json{"bootstrap-hub-kubeconfig", "hub-kubeconfig-secret"}}, {"hub_secret", "hub-kubeconfig-secret"}}) +
      rights("agent/figures.yaml", {}) + rights("hosted/rbac.yaml", {{"namespace", "hosted"}}) +
      rights("push/member.yaml", {{"namespace", "fleetadm-push-0"}, {"user", "cluster:hub:fleetadm-push-0:works"}}) +
      rights("push/full-rights.yaml", {{"namespace", "fleetadm-push-0"}, {"user", "cluster:hub:fleetadm-push-0:works"}}) +
      rights("push/karmada.yaml", {{"cluster", "c1"}, {"hub", "0"}});
  if (std::getenv("FLEETADM_UPDATE_GOLDEN") != nullptr) std::ofstream(approved_file()) << now;
  std::ifstream in(approved_file());
  std::stringstream approved;
  approved << in.rdbuf();
  EXPECT_EQ(now, approved.str());
}

TEST(Rights, RegistrationCannotChangeWorkloads) {
  const std::string agent = rights("agent/rbac.yaml", {{"secrets", Json{"b", "h"}}, {"hub_secret", "h"}});
  const std::size_t own = agent.find("ServiceAccount fleetadm-agent everywhere");
  const std::size_t work = agent.find("ServiceAccount fleetadm-agent-work everywhere");
  ASSERT_NE(own, std::string::npos);
  ASSERT_NE(work, std::string::npos);
  ASSERT_LT(own, work);
  std::string registration = agent.substr(own, work - own);
  const std::string reads =
      "rbac.authorization.k8s.io / clusterroles [open-cluster-management:fleetadm-agent-proxy]: get list watch";
  ASSERT_NE(registration.find(reads), std::string::npos);
  registration.erase(registration.find(reads), reads.size());
  for (const char* word : {"rbac.authorization.k8s.io", "the role admin", "customresourcedefinitions", "appliedmanifestworks"}) {
    EXPECT_EQ(registration.find(word), std::string::npos) << word;
    EXPECT_NE(agent.find(word, work), std::string::npos) << word;
  }
  for (const char* word : {"storageclasses", "validatingadmissionpolicies", "configmaps"}) {
    EXPECT_EQ(agent.find(word), std::string::npos) << word;
  }
}

// A chart's roles go at the same time. A role that is summed up must not go before the sum: the server would make that anew.
TEST(Rights, NothingOfAChartIsSummedUpByARoleOfIt) {
  for (const char* file : {"agent/rbac.yaml", "hub/rbac.yaml"}) {
    const auto objects = render(file, {{"secrets", Json{"b", "h"}}, {"hub_secret", "h"}});
    ASSERT_TRUE(objects) << objects.error().message;
    int sums = 0;
    for (const Json& sum : *objects) {
      sums += find(sum, {"aggregationRule"}) != nullptr ? 1 : 0;
      for (const Json& part : *objects)
        EXPECT_FALSE(str(part, {"kind"}) == "ClusterRole" && selected(part, sum)) << name_of(part) << " in " << name_of(sum);
    }
    EXPECT_EQ(sums, 1) << file;
  }
}

// The hub hands on what the agents of managed-serviceaccount need, and does not hold it: it never reads their Secrets.
TEST(Rights, AccountAgentsReachSecretsByNameAndTheHubOnlyBindsTheirRole) {
  const auto objects = render("addons/managed-serviceaccount.yaml", {{"image", "fleetadm:test"}});
  ASSERT_TRUE(objects) << objects.error().message;
  std::map<std::string, std::set<std::string>> roles;
  const auto add = [&](const Json& role) {
    for (const Json& rule : list_at(role, {"rules"})) roles[name_of(role)].insert(line_of(rule));
  };
  for (const Json& object : *objects) {
    if (str(object, {"kind"}) == "ClusterRole") add(object);
    EXPECT_EQ(label_of(object, "open-cluster-management.io/aggregate-to-addon-hub") == "true",
              name_of(object) == "fleetadm:managed-serviceaccount:bind");
    for (const Json& manifest : list_at(object, {"spec", "agentSpec", "workload", "manifests"})) {
      EXPECT_NE(str(manifest, {"kind"}), "ClusterRole");
      EXPECT_NE(str(manifest, {"kind"}), "Namespace") << "it is other add-ons', too";
      if (str(manifest, {"kind"}) == "Role") add(manifest);
    }
  }
  const std::map<std::string, std::set<std::string>> approved = {
      {"fleetadm:managed-serviceaccount",
       {"authentication.open-cluster-management.io / managedserviceaccounts: delete get list watch",
        "authentication.open-cluster-management.io / managedserviceaccounts/status: patch", "core / secrets: create get update"}},
      {"fleetadm:managed-serviceaccount:bind",
       {"rbac.authorization.k8s.io / clusterroles [fleetadm:managed-serviceaccount]: bind"}},
      {"open-cluster-management:managed-serviceaccount:addon-agent",
       {"core / serviceaccounts/token: create", "core / serviceaccounts: create delete get list watch"}}};
  EXPECT_EQ(roles, approved);
}

}  // namespace
}  // namespace fleetadm::templates
