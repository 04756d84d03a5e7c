// fleetadm-sandbox-limits(7): what a sandbox's servers take of a client, said by the numbers that they go by.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "commands/topics/topics.h"
#include "core/apimachinery/depth.h"
#include "core/apimachinery/patch.h"
#include "core/apimachinery/protobuf.h"
#include "core/apimachinery/structural.h"
#include "core/serve/http/server.h"
#include "core/serve/streams/command_session.h"
#include "core/serve/streams/forward_session.h"

namespace fleetadm::commands {
namespace {

/// "4,096"
template <class Number>
std::string counted(Number number) {
  auto out = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(out.size()) - 3; at > 0; at -= 3) out.insert(static_cast<std::size_t>(at), ",");
  return out;
}

/// "3 MiB"
std::string sized(std::size_t bytes) {
  constexpr std::size_t kKibi = 1024;
  return bytes % (kKibi * kKibi) == 0 ? counted(bytes / (kKibi * kKibi)) + " MiB" : counted(bytes / kKibi) + " KiB";
}

/// "30 s", "4 h"
std::string timed(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return seconds >= 3600 && seconds % 3600 == 0 ? counted(seconds / 3600) + " h" : counted(seconds) + " s";
}

/// The entries of a section, each a term and what holds for it, between what is said before and after them.
std::string listed(const std::string& before, const std::vector<std::pair<std::string, std::string>>& entries,
                   const std::string& after = {}) {
  std::string out = before;
  if (!out.empty()) out += "\n\n";
  for (const auto& [term, text] : entries) out += "* " + term + ": " + text + "\n";
  out.pop_back();
  return after.empty() ? out : out + "\n\n" + after;
}

Topic::Section limits_of_requests() {
  const serve::HttpLimits limits;
  return {
      "REQUESTS",
      listed({},
             {{"body", sized(limits.body) + "; larger ones get 413"},
              {"bodies", sized(limits.bodies) + " for all requests to a cluster in flight; further requests get 429"},
              {"head", sized(limits.header) + " of URL and headers; beyond that 400, or the end of the HTTP/2 stream"},
              {"depth", counted(apimachinery::kMaxObjectDepth) +
                            " levels of nesting in JSON and YAML, including the result of a patch; " +
                            counted(apimachinery::kMaxProtobufDepth) + " in protobuf. Deeper bodies get 400, such patches 422"},
              {"values", counted(apimachinery::kMaxProtobufValues) + " in a protobuf body"},
              {"JSON patch", counted(apimachinery::kMaxJsonPatchOperations) + " operations, as with Kubernetes, which copy " +
                                 sized(apimachinery::kMaxCopiedBytes) + " and move " + counted(apimachinery::kMaxMovedValues) +
                                 " values at most"},
              {"schema", counted(apimachinery::kMaxSchemaNodes) + " nodes in each version of a custom resource definition"}})};
}

Topic::Section limits_of_time() {
  const serve::HttpLimits limits;
  return {"TIME", listed({},
                         {{"handshake", timed(limits.handshake)},
                          {"request", timed(limits.request) + " from its first byte to its last"},
                          {"answer", timed(limits.stuck) + " without the client reading any of the response"},
                          {"idle", timed(limits.idle) + " between requests"}},
                         "Then the connection is closed; if an HTTP/2 connection has other active requests, "
                         "only the stream ends. As in Kubernetes, a watch lasts as long as the client requested.")};
}

Topic::Section limits_of_number() {
  const serve::HttpLimits limits;
  return {"NUMBER",
          listed({},
                 {{"connections", counted(limits.connections) + " to a cluster; further connections are closed immediately"},
                  {"requests", counted(limits.streams) + " at the same time on one HTTP/2 connection"},
                  {"watches", counted(limits.answers) + " per cluster, including followed logs; further ones get 429"},
                  {"sessions", counted(limits.upgrades) + " of exec, attach and port-forward per cluster; further ones get 429"},
                  {"waiting requests",
                   counted(serve::kMaxQueuedRequests) + " across all clusters of the sandbox; further ones get 429"}},
                 "As in Kubernetes, the number of objects is not limited: a ReplicaSet that wants a "
                 "million pods fills the machine's memory.")};
}

Topic::Section limits_of_sessions() {
  const serve::CommandSessionLimits command;
  const serve::ForwardSessionLimits forward;
  return {
      "SESSIONS",
      listed("Of exec, attach, cp and port-forward.",
             {{"idle", timed(command.times.idle) + " without a byte either way, as kubelets have it"},
              {"opening", timed(command.open) + " for the client to open its channels"},
              {"goodbye", timed(command.times.leave) + " for the client to close after the end"},
              {"input", sized(command.waiting) + " that a command has not read yet, " + sized(forward.waiting) +
                            " that a forwarded port has not; then the client waits"},
              {"forwarding", counted(forward.tunnels) + " connections at the same time in one session; over WebSocket channels " +
                                 counted(serve::kMaxForwardedPorts) + " ports"}})};
}

}  // namespace

Topic sandbox_limits_topic() {
  Topic topic;
  topic.name = "sandbox-limits";
  topic.summary = "Limits of the sandbox's API servers";
  topic.synopsis = "fleetadm sandbox up";
  topic.sections = {{"DESCRIPTION",
                     "Each cluster of a sandbox is a server on loopback. Whatever is sent to it, whoever "
                     "sends it, is limited: what exceeds these limits is refused or cut off, while other "
                     "requests continue to be served. The limits are fixed."},
                    {"TRUST",
                     "A sandbox is for one person. Its node runs pods of fleetadm's image as processes on this "
                     "machine, as the user who runs the sandbox: whoever can create pods or pods/exec can run "
                     "fleetadm with any arguments, and read and write what that user can. Variables that load code "
                     "(LD_*, GCONV_PATH, GLIBC_TUNABLES, LOCPATH, OPENSSL_*) are not passed to these processes, and "
                     "they refuse credential plugins in kubeconfigs, commands from PATH and pagers "
                     "(FLEETADM_CREDENTIAL_PLUGIN_POLICY, FLEETADM_PLUGINS, FLEETADM_PAGER)."},
                    limits_of_requests(),
                    limits_of_time(),
                    limits_of_number(),
                    limits_of_sessions()};
  return topic;
}

}  // namespace fleetadm::commands
