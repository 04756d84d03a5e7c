#include "tests/e2e/traces.h"

#include <algorithm>
#include <regex>
#include <utility>

#include "tests/support/vectors.h"

namespace fleetadm::testkit {
namespace {

std::string normal_path(std::string path) {
  path = path.substr(0, path.find('?'));
  path = std::regex_replace(path, std::regex("certificatesigningrequests/[^/]+"), "certificatesigningrequests/<csr>");
  path = std::regex_replace(path, std::regex("/events/[^/]+"), "/events/<event>");
  path = std::regex_replace(path, std::regex("addon.open-cluster-management.io/v1(alpha|beta)1/"),
                            "addon.open-cluster-management.io/");
  return std::regex_replace(path, std::regex("appliedmanifestworks/[0-9a-f]{64}a?-"), "appliedmanifestworks/<hash>-");
}

}  // namespace

std::string our_actor(const AuditEntry& entry) {
  if (entry.user == "system:serviceaccount:open-cluster-management-hub:fleetadm-hub") return "registration";
  if (entry.user == "system:serviceaccount:open-cluster-management:agent-registration-bootstrap") return "bootstrap";
  if (entry.user.starts_with("system:open-cluster-management:c1:")) return "agent";
  // As itself, or as the account that works are applied as: a real server's log names who asks, a sandbox's whom it asks as.
  if (entry.user.starts_with("system:serviceaccount:open-cluster-management-agent:fleetadm-agent")) return "agent";
  return {};
}

Result<std::vector<TracedWrite>> recorded_writes(std::string_view file) {
  std::vector<TracedWrite> writes;
  FLEETADM_CHECK(test::for_each_vector(file, [&](const Json& line) {
    const std::string actor = str(line, {"side"}) + " " + str(line, {"who"}) + " ";
    writes.push_back({actor + str(line, {"verb"}) + " " + normal_path(str(line, {"path"})), object_at(line, {"request"}),
                      str(line, {"step"}), object_at(line, {"after"})});
  }));
  return writes;
}

std::vector<TracedWrite> our_writes(const KubeServer& server, const std::string& side, std::uintmax_t from) {
  std::vector<TracedWrite> writes;
  for (const AuditEntry& entry : server.audit_since(from)) {
    const std::string actor = our_actor(entry);
    const bool own_lease = entry.resource == "leases" && entry.ns != "c1";
    if (!entry.is_write() || actor.empty() || entry.code >= 300 || entry.resource.ends_with("reviews") || own_lease) continue;
    writes.push_back({side + " " + actor + " " + entry.verb + " " + normal_path(entry.uri), entry.request, {}, {}});
  }
  return writes;
}

std::set<std::string> what_was_written(const std::vector<TracedWrite>& writes) {
  std::set<std::string> all;
  for (const TracedWrite& write : writes) all.insert(write.what);
  return all;
}

bool is_event_series(const std::string& what) {
  return what.ends_with("patch /apis/events.k8s.io/v1/namespaces/c1/events/<event>");
}

Json meaning_of(const Json& object) {
  Json out = Json::object();
  for (const char* part : {"rules", "subjects", "roleRef"}) {
    if (const Json* found = find(object, {part})) out[part] = *found;
  }
  if (Json& rules = out["rules"]; rules.is_array()) {
    for (Json& rule : rules) {
      for (auto& words : rule) std::sort(words.begin(), words.end());
    }
    std::sort(rules.begin(), rules.end());
  }
  if (Json& subjects = out["subjects"]; subjects.is_array()) std::sort(subjects.begin(), subjects.end());
  out["name"] = name_of(object);
  out["labels"] = object_at(object, {"metadata", "labels"});
  out["labels"].erase("kubernetes.io/metadata.name");
  out["finalizers"] = list_at(object, {"metadata", "finalizers"});
  return out;
}

}  // namespace fleetadm::testkit
