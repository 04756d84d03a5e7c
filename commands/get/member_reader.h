// Objects of one type, read from the API servers of many clusters.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/framework/context.h"
#include "commands/get/member_rows.h"
#include "core/proxy/client/fan_out.h"

namespace fleetadm::commands {

/// What is to be read of each cluster.
struct MemberQuery {
  std::string word;  // of the resource
  std::vector<std::string> names;
  std::string ns;  // empty: all
  std::string selector;
  std::string field_selector;
  bool objects = false;
};

/// For one name, a page of the list (after `token`), or with `page` false the whole list.
kube::Request member_request(const MemberQuery& query, const kube::Resource& resource, const std::string& name,
                             const std::string& token, bool page = true);

/// What a cluster has answered, or why it has not, stands at its place.
class MemberReader {
 public:
  MemberReader(Context& context, kube::Client gateway, std::vector<std::string> clusters, MemberQuery query, Duration deadline);

  /// The hub has the built-in types, too, in all likelihood in the same version: a cluster is only asked which types it has where
  /// the hub does not know the word, or the cluster does not serve what the hub means by it.
  Status read(const kube::Client& hub);

  /// What was read last.
  const kube::Resource& resource() const { return resource_; }

  std::vector<MemberRows> rows;
  std::vector<std::optional<Error>> errors;

 private:
  struct Progressed {
    std::size_t name = 0;
    std::string token;
    bool restarted = false;
  };

  std::string name_at(std::size_t which) const { return query_.names.empty() ? std::string() : query_.names[which]; }
  /// Reads from `which` of the clusters; the answer is those that do not know the type.
  std::vector<std::size_t> read_as(const kube::Resource& resource, const std::vector<std::size_t>& which);
  std::optional<kube::Request> take(std::size_t cluster, Progressed& progress, Result<kube::Response> answer);
  std::optional<kube::Request> next_name(Progressed& progress) const;
  /// What the word means on the first cluster of `among` that knows it; nothing where none does.
  std::optional<std::pair<std::size_t, kube::Resource>> resource_of_any(const std::vector<std::size_t>& among);
  Result<kube::Resource> resource_at(std::size_t which, std::stop_token stop) const;

  Context& context_;
  const kube::Client gateway_;
  const std::vector<std::string> clusters_;
  const MemberQuery query_;
  const Duration deadline_;
  kube::Resource resource_;
};

}  // namespace fleetadm::commands
