// New kubeconfigs, and changes of existing ones.
#include <algorithm>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::kube {

Json make_kubeconfig(std::string_view server, std::string_view ca_pem, const Json& user, std::string_view context) {
  const std::string name(context);
  Json cluster = {{"server", std::string(server)}};
  if (!ca_pem.empty()) cluster["certificate-authority-data"] = base64_encode(ca_pem);
  Json document = {{"apiVersion", "v1"}, {"kind", "Config"}, {"current-context", name}, {"preferences", Json::object()}};
  for (const char* list : {"clusters", "users", "contexts"}) document[list] = Json::array();
  document["clusters"].push_back({{"name", name}, {"cluster", std::move(cluster)}});
  document["users"].push_back({{"name", name}, {"user", user}});
  document["contexts"].push_back({{"name", name}, {"context", {{"cluster", name}, {"user", name}}}});
  return document;
}

Status modify_kubeconfig(const std::string& file, const std::function<Status(Json&)>& change) {
  FLEETADM_TRY([[maybe_unused]] const FileLock lock, FileLock::take(file));
  Json document = Json::object();
  const auto text = read_file(file);
  if (!text && text.error().category != Category::kNotFound) return fail(text.error());
  if (text) {
    // A file that we cannot read is never overwritten.
    FLEETADM_CHECK(Kubeconfig::from_text(*text, file));
    FLEETADM_TRY(auto documents, parse_yaml_documents(*text));
    if (!documents.empty()) document = std::move(documents.front().value);
  }
  const Json before = document;
  FLEETADM_CHECK(change(document));
  if (text && document == before) return {};
  return write_file(file, dump_yaml(document));
}

Status merge_kubeconfig(const std::string& file, const Json& from) {
  return modify_kubeconfig(file, [&](Json& document) -> Status {
    if (document.empty()) document = {{"apiVersion", "v1"}, {"kind", "Config"}, {"preferences", Json::object()}};
    for (const char* section : {"clusters", "users", "contexts"}) {
      Json& list = document[section];
      if (!list.is_array()) list = Json::array();
      for (const Json& entry : list_at(from, {section})) {
        const auto at =
            std::find_if(list.begin(), list.end(), [&](const Json& one) { return str(one, {"name"}) == str(entry, {"name"}); });
        if (at == list.end()) {
          list.push_back(entry);
        } else {
          *at = entry;
        }
      }
    }
    return {};
  });
}

}  // namespace fleetadm::kube
