// What commands that write say and check: success is told only after it was read back.
#pragma once

#include <string>
#include <string_view>

#include "commands/framework/context.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/report.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// "placement.cluster.open-cluster-management.io/p": what -o name prints.
std::string full_name(const kube::Resource& resource, std::string_view name);
/// "placement p created", with how dry the run was.
std::string told(const Context& context, const kube::Resource& resource, std::string_view name, std::string_view what);

/// Whether everything that was asked for is in what is stored, defaults of the server aside; lists are of the same length, null
/// means absent.
bool holds(const Json& stored, const Json& asked);

/// Reads the object and checks that it holds what was asked; in a dry run `written` is the answer. An object that differs or is
/// gone is an error: somebody else changed it, or the server dropped a part of it.
Result<Json> read_back(Context& context, const kube::Client& client, const kube::Resource& resource, std::string_view ns,
                       std::string_view name, const Json& asked, Json written);

/// The report of one written object.
Report written_report(const Context& context, const kube::Resource& resource, Json object, std::string_view what);

/// kUsage where a name is no RFC 1123 subdomain.
Status check_name(std::string_view what, std::string_view name);

/// The hint to a hub that is none: the type is unknown to the server.
template <class T>
Result<T> on_hub(Result<T> result) {
  if (result || result.error().code != 404 || !result.error().hint.empty() || result.error().reason == "NotFound") return result;
  return tl::unexpected(
      result.error().with_hint("this server does not serve the fleet's types: is it the hub? (--context, fleetadm init)"));
}

}  // namespace fleetadm::commands
