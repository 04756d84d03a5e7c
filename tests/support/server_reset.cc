#include "tests/support/server_reset.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "kubeclient/base/encoding.h"
#include "tests/support/https.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kFirstKey = "/registry/";
constexpr std::string_view kBehindLastKey = "/registry0";
constexpr std::size_t kLargestTransaction = 128;  // etcd's own limit
constexpr auto kPause = std::chrono::milliseconds(50);
constexpr auto kPatience = std::chrono::seconds(20);

// The API server renews its lease all the time.
bool servers_own(std::string_view key) { return key.starts_with("/registry/leases/kube-system/apiserver-"); }

Result<Json> ask_etcd(const KubeServer& server, std::string_view path, const Json& question) {
  const HttpsAnswer answer = https({.url = "http://127.0.0.1:" + std::to_string(server.etcd_port()) + std::string(path),
                                    .method = "POST",
                                    .body = dump_json(question),
                                    .keep = true});
  if (answer.status != 200) {
    return fail(Category::kUnavailable,
                "etcd of " + server.name() + " answered " + std::to_string(answer.status) + " " + answer.body);
  }
  return parse_json(answer.body);
}

}  // namespace

struct ServerReset::Change {
  std::string key;
  const std::string* value = nullptr;  // null: it goes
};

Result<ServerReset> ServerReset::prepare(const KubeServer& server, const std::vector<std::string>& made_by_controllers) {
  ServerReset reset;
  FLEETADM_TRY(reset.keys_, read(server));
  for (const std::string& key : made_by_controllers) reset.keys_.erase(key);
  reset.groups_ = server.request("GET", "/apis").body;
  return reset;
}

Result<ServerReset::Keys> ServerReset::read(const KubeServer& server) {
  FLEETADM_TRY(const Json answer, ask_etcd(server, "/v3/kv/range",
                                           {{"key", base64_encode(kFirstKey)}, {"range_end", base64_encode(kBehindLastKey)}}));
  Keys keys;
  for (const Json& entry : list_at(answer, {"kvs"})) {
    FLEETADM_TRY(std::string key, base64_decode(str(entry, {"key"})));
    if (!servers_own(key)) keys.emplace(std::move(key), str(entry, {"value"}));
  }
  return keys;
}

std::vector<ServerReset::Change> ServerReset::changes_since(const Keys& now) const {
  std::vector<Change> changes;
  for (const auto& [key, value] : now) {
    if (!keys_.contains(key)) changes.push_back({.key = key});
  }
  for (const auto& [key, value] : keys_) {
    const auto at = now.find(key);
    if (at == now.end() || at->second != value) changes.push_back({.key = key, .value = &value});
  }
  return changes;
}

Status ServerReset::write(const KubeServer& server, const std::vector<Change>& changes) const {
  for (std::size_t from = 0; from < changes.size(); from += kLargestTransaction) {
    Json operations = Json::array();
    for (std::size_t i = from; i < std::min(changes.size(), from + kLargestTransaction); ++i) {
      const std::string key = base64_encode(changes[i].key);
      operations.push_back(changes[i].value == nullptr ? Json{{"request_delete_range", {{"key", key}}}}
                                                       : Json{{"request_put", {{"key", key}, {"value", *changes[i].value}}}});
    }
    FLEETADM_TRY(const Json answer, ask_etcd(server, "/v3/kv/txn", {{"success", std::move(operations)}}));
  }
  return {};
}

Status ServerReset::perform(const KubeServer& server) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (int unchanged = 0; unchanged < 2;) {
    FLEETADM_TRY(const Keys now, read(server));
    const std::vector<Change> changes = changes_since(now);
    unchanged = changes.empty() ? unchanged + 1 : 0;
    if (std::chrono::steady_clock::now() > deadline) {
      return fail(Category::kTimeout, server.name() + " does not come to rest: " + (changes.empty() ? "" : changes.front().key));
    }
    FLEETADM_CHECK(write(server, changes));
    std::this_thread::sleep_for(kPause);
  }
  if (testkit::eventually([&] { return server.request("GET", "/apis").body == groups_; }, kPatience)) return {};
  return fail(Category::kTimeout, server.name() + " still serves groups that are gone");
}

}  // namespace fleetadm::testkit
