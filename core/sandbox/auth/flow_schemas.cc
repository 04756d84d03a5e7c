#include "core/sandbox/auth/flow_schemas.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "kubeclient/base/shared_values.h"

namespace fleetadm::sandbox {
namespace {

struct ResourceFlowRule {
  std::vector<std::string> verbs;
  std::vector<std::string> groups;
  std::vector<std::string> resources;
  std::vector<std::string> namespaces;
  bool cluster_scope = false;
};

struct UrlFlowRule {
  std::vector<std::string> verbs;
  std::vector<std::string> urls;
};

struct FlowSubject {
  std::string kind;
  std::string name;
  std::string ns;  // of a service account
};

struct FlowRule {
  std::vector<FlowSubject> subjects;
  std::vector<ResourceFlowRule> resources;
  std::vector<UrlFlowRule> urls;
};

bool names(const std::vector<std::string>& list, std::string_view word) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& one) { return one == "*" || one == word; });
}

bool is_subject(const FlowSubject& subject, const serve::User& user) {
  if (subject.kind == "User") return subject.name == "*" || subject.name == user.name;
  if (subject.kind == "Group") return subject.name == "*" || user.in(subject.name);
  const std::string accounts = "system:serviceaccount:" + subject.ns + ":";
  return subject.name == "*" ? user.name.starts_with(accounts) : user.name == accounts + subject.name;
}

bool matches(const ResourceFlowRule& rule, const serve::Attributes& what) {
  if (!names(rule.verbs, what.verb) || !names(rule.groups, what.group)) return false;
  if (!names(rule.resources, what.subresource.empty() ? what.resource : what.resource + "/" + what.subresource)) return false;
  return what.ns.empty() ? rule.cluster_scope : names(rule.namespaces, what.ns);
}

bool matches(const UrlFlowRule& rule, const serve::Attributes& what) {
  if (!names(rule.verbs, what.verb)) return false;
  return std::any_of(rule.urls.begin(), rule.urls.end(), [&](const std::string& url) {
    return url == "*" || url == what.path ||
           (url.ends_with("/*") && what.path.starts_with(std::string_view(url).substr(0, url.size() - 1)));
  });
}

template <class Rules>
bool any_matches(const Rules& rules, const serve::Attributes& what) {
  return std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return matches(rule, what); });
}

bool matches(const FlowRule& rule, const serve::User& user, const serve::Attributes& what) {
  const bool concerned =
      std::any_of(rule.subjects.begin(), rule.subjects.end(), [&](const FlowSubject& one) { return is_subject(one, user); });
  return concerned && (what.resource_request ? any_matches(rule.resources, what) : any_matches(rule.urls, what));
}

FlowSubject subject_from(const Json& subject) {
  const std::string kind = str(subject, {"kind"});
  if (kind == "User") return {kind, str(subject, {"user", "name"}), {}};
  if (kind == "Group") return {kind, str(subject, {"group", "name"}), {}};
  return {kind, str(subject, {"serviceAccount", "name"}), str(subject, {"serviceAccount", "namespace"})};
}

std::vector<FlowRule> read_flow_rules(const Json& list) {
  std::vector<FlowRule> out;
  out.reserve(list.size());
  for (const Json& rule : list) {
    FlowRule& into = out.emplace_back();
    for (const Json& subject : list_at(rule, {"subjects"})) into.subjects.push_back(subject_from(subject));
    for (const Json& one : list_at(rule, {"resourceRules"})) {
      into.resources.push_back({string_list_at(one, {"verbs"}), string_list_at(one, {"apiGroups"}),
                                string_list_at(one, {"resources"}), string_list_at(one, {"namespaces"}),
                                flag(one, {"clusterScope"})});
    }
    for (const Json& one : list_at(rule, {"nonResourceRules"}))
      into.urls.push_back({string_list_at(one, {"verbs"}), string_list_at(one, {"nonResourceURLs"})});
  }
  return out;
}

/// The clusters of a process share them: their flow schemas are mostly those that every cluster begins with.
std::shared_ptr<const std::vector<FlowRule>> flow_rules(const Json& schema) {
  static auto* const kRules = new SharedValues<std::vector<FlowRule>>();  // for good: a cluster may outlive static objects
  const Json& list = list_at(schema, {"spec", "rules"});
  return kRules->of(dump_json(list), [&list] { return std::make_shared<const std::vector<FlowRule>>(read_flow_rules(list)); });
}

bool lasts(const serve::Attributes& what) {
  static constexpr std::array<std::string_view, 5> kLasting = {"attach", "exec", "log", "portforward", "proxy"};
  return what.verb != "watch" && std::find(kLasting.begin(), kLasting.end(), what.subresource) != kLasting.end();
}

}  // namespace

struct FlowSchemas::Snapshot {
  struct Schema {
    std::int64_t precedence = 0;
    std::string name;
    FlowClass flow;
    std::shared_ptr<const std::vector<FlowRule>> rules;
  };
  std::vector<Schema> schemas;  // in the order in which they are tried
};

std::shared_ptr<const FlowSchemas::Snapshot> FlowSchemas::snapshot() const {
  const std::lock_guard lock(mutex_);
  const auto wanted = wanted_.load();
  if (snapshot_ && built_ == wanted) return snapshot_;
  const auto each = [&](const char* plural, const auto& add) {
    const auto list = engine_.store().list(std::string("flowcontrol.apiserver.k8s.io/") + plural, "");
    if (!list) return;
    for (const auto& item : list->items) add(item.name, item.object->json());
  };
  std::map<std::string, std::string> levels;
  each("prioritylevelconfigurations", [&](const std::string& name, const Json& object) { levels[name] = uid_of(object); });
  auto next = std::make_shared<Snapshot>();
  each("flowschemas", [&](const std::string& name, const Json& object) {
    const auto level = levels.find(str(object, {"spec", "priorityLevelConfiguration", "name"}));
    if (level == levels.end()) return;
    next->schemas.push_back(
        {num(object, {"spec", "matchingPrecedence"}), name, {uid_of(object), level->second}, flow_rules(object)});
  });
  std::sort(next->schemas.begin(), next->schemas.end(), [](const auto& left, const auto& right) {
    return std::tie(left.precedence, left.name) < std::tie(right.precedence, right.name);
  });
  built_ = wanted;
  snapshot_ = std::move(next);
  return snapshot_;
}

std::optional<FlowClass> FlowSchemas::classify(const serve::User& user, const serve::Attributes& what) const {
  if (lasts(what)) return std::nullopt;
  const auto now = snapshot();
  for (const auto& schema : now->schemas) {
    const bool matched =
        std::any_of(schema.rules->begin(), schema.rules->end(), [&](const FlowRule& rule) { return matches(rule, user, what); });
    if (matched) return schema.flow;
  }
  return std::nullopt;
}

Json dangling_condition(const std::string& level, bool exists, Instant since) {
  return {{"type", "Dangling"},
          {"status", exists ? "False" : "True"},
          {"lastTransitionTime", format_time(since)},
          {"reason", exists ? "Found" : "NotFound"},
          {"message", "This FlowSchema references the PriorityLevelConfiguration object named \"" + level + "\" " +
                          (exists ? "and it exists" : "but there is no such object")}};
}

}  // namespace fleetadm::sandbox
