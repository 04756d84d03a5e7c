#include "tests/e2e/recording.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/vectors.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kRefusedMark = " refused ";

void drop_keys(Json& map, std::string_view word) {
  if (!map.is_object()) return;
  for (auto it = map.begin(); it != map.end();) it = it.key().find(word) == std::string::npos ? std::next(it) : map.erase(it);
}

bool is_of_the_server(const std::string& user) {
  return user.starts_with("system:kube-") || user.starts_with("system:serviceaccount:kube-system:") || user == "system:apiserver";
}

}  // namespace

std::vector<RecordedWrite> recorded(std::string_view file, const std::string& side, const std::vector<std::string>& steps) {
  std::vector<RecordedWrite> writes;
  const Status read = test::for_each_vector(file, [&](const Json& line) {
    const std::string step = str(line, {"step"});
    if (str(line, {"side"}) != side || std::find(steps.begin(), steps.end(), step) == steps.end()) return;
    if (str(line, {"path"}).find("/leases") != std::string::npos) return;
    const Json* request = find(line, {"request"});
    writes.push_back({side, step, str(line, {"who"}), str(line, {"verb"}) + " " + str(line, {"path"}),
                      static_cast<int>(num(line, {"code"})), request != nullptr ? *request : Json()});
  });
  EXPECT_TRUE(read) << read.error().message;
  return writes;
}

std::vector<RecordedWrite> karmada_wrote(const std::string& side, const std::vector<std::string>& steps) {
  return recorded("karmada-traces.jsonl.gz", side, steps);
}

std::vector<Json> karmada_made(const std::vector<std::string>& steps) {
  std::vector<Json> made;
  for (const RecordedWrite& one : karmada_wrote("member", steps)) {
    if (!one.created.is_null() && annotation_of(one.created, "work.karmada.io/name").empty()) made.push_back(one.created);
  }
  return made;
}

std::string path_of_recorded(const Json& object) {
  const std::string kind = str(object, {"kind"});
  const std::string ns = namespace_of(object);
  const std::string root = kind.starts_with("ClusterRole") ? "/apis/rbac.authorization.k8s.io/v1" : "/api/v1";
  std::string plural = kind + "s";
  std::transform(plural.begin(), plural.end(), plural.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return root + (ns.empty() ? "" : "/namespaces/" + ns) + "/" + plural + "/" + name_of(object);
}

Json karmada_form(const Json& object) {
  Json form = Json::object();
  for (const char* part : {"kind", "type", "rules", "roleRef"}) {
    if (const Json* found = find(object, {part})) form[part] = *found;
  }
  form["subjects"] = list_at(object, {"subjects"});
  for (Json& subject : form["subjects"]) drop_keys(subject, "apiGroup");
  form["name"] = name_of(object);
  form["namespace"] = namespace_of(object);
  form["labels"] = object_at(object, {"metadata", "labels"});
  form["annotations"] = object_at(object, {"metadata", "annotations"});
  for (const char* map : {"labels", "annotations"}) {
    drop_keys(form[map], "fleetadm.io/");
    drop_keys(form[map], "service-account.uid");
  }
  return form;
}

std::vector<std::string> written_by_programs(const KubeServer& server, std::uintmax_t from) {
  std::vector<std::string> writes;
  for (const AuditEntry& entry : server.audit_since(from)) {
    const bool stored = entry.is_write() && entry.subresource != "token" && !entry.resource.ends_with("reviews");
    if (!stored || entry.resource == "leases" || entry.resource == "pods" || is_of_the_server(entry.user)) continue;
    const std::string refused = entry.code >= 300 ? std::string(kRefusedMark) + std::to_string(entry.code) : "";
    writes.push_back(entry.user + " " + entry.verb + " " + entry.uri.substr(0, entry.uri.find('?')) + refused);
  }
  return writes;
}

std::vector<std::string> refused_of(const std::vector<std::string>& writes) {
  std::vector<std::string> refused;
  std::copy_if(writes.begin(), writes.end(), std::back_inserter(refused),
               [](const std::string& one) { return one.find(kRefusedMark) != std::string::npos; });
  return refused;
}

void settle(const std::vector<const KubeServer*>& servers) {
  EXPECT_TRUE(eventually(
      [&] {
        std::vector<std::uintmax_t> from;
        for (const KubeServer* server : servers) from.push_back(server->audit_position());
        std::this_thread::sleep_for(std::chrono::seconds(1));
        bool quiet = true;
        for (std::size_t i = 0; i < servers.size(); ++i) quiet = quiet && written_by_programs(*servers[i], from[i]).empty();
        return quiet;
      },
      std::chrono::seconds(30)));
}

}  // namespace fleetadm::testkit
