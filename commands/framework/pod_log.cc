#include "commands/framework/pod_log.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "kubeclient/base/log.h"
#include "kubeclient/transport/body_pipe.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxRefusal = std::size_t{64} * 1024;

}  // namespace

Result<LogEnd> print_pod_log(Context& context, const kube::Client& client, kube::Request request,
                             std::chrono::steady_clock::time_point deadline, std::uint64_t& printed) {
  request.accept = "text/plain, application/json, */*";
  request.timeout = Duration::zero();
  request.stop = context.stop();
  const auto pipe = std::make_shared<kube::BodyPipe>(deadline);
  const auto stream = client.transport()->stream(request, pipe);
  FLEETADM_TRY(kube::Response head, pipe->head());
  const bool refused = head.status < 200 || head.status > 299;
  const bool escaped = context.terminal().stdout_is_terminal();
  std::uint64_t known = printed;
  for (std::string_view piece = pipe->next(); !piece.empty(); piece = pipe->next()) {
    if (refused) {
      head.body.append(piece.substr(0, kMaxRefusal - std::min(kMaxRefusal, head.body.size())));
      continue;
    }
    const auto skipped = std::min<std::uint64_t>(known, piece.size());
    known -= skipped;
    piece.remove_prefix(skipped);
    if (piece.empty()) continue;
    if (!context.terminal().write_stdout(escaped ? log::escape_terminal(piece, true) : std::string(piece)))
      return LogEnd::kNoReader;
    printed += piece.size();
  }
  if (refused) return fail(kube::error_of(head, request));
  if (const auto error = pipe->error()) return fail(*error);
  return LogEnd::kWhole;
}

}  // namespace fleetadm::commands
