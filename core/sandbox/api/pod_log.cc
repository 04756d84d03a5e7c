#include "core/sandbox/api/pod_log.h"

#include <algorithm>
#include <optional>

#include "core/sandbox/api/pod_containers.h"
#include "core/sandbox/node/environment.h"
#include "core/sandbox/node/log_body.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::sandbox {
namespace {

struct LogOptions {
  std::optional<std::uint64_t> tail_lines;
  std::optional<std::uint64_t> limit_bytes;
};

ApiResult<LogOptions> log_options(const serve::ApiRequest& request) {
  LogOptions options;
  std::vector<Cause> causes;
  const auto number = [&](const char* name, std::int64_t least, const char* rule) -> ApiResult<std::optional<std::uint64_t>> {
    if (!request.query.has(name)) return std::optional<std::uint64_t>();
    FLEETADM_TRY(const std::int64_t value, request.query.integer(name).map_error(from_error));
    if (value < least) causes.push_back(bad_value(name, value, rule));
    return std::optional<std::uint64_t>(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)));
  };
  FLEETADM_TRY(options.tail_lines, number("tailLines", 0, "must be greater than or equal to 0"));
  FLEETADM_TRY(options.limit_bytes, number("limitBytes", 1, "must be greater than 0"));
  if (!causes.empty()) {
    Kind named;
    named.kind = "PodLogOptions";
    return invalid(named, request.what.name, causes);
  }
  if (request.query.flag("timestamps") || request.query.has("sinceSeconds") || request.query.has("sinceTime"))
    return bad_request("the process node keeps no time of each line: timestamps, sinceSeconds and sinceTime cannot be answered");
  return options;
}

std::string waiting_reason(const Json& pod, const std::string& container) {
  for (const char* member : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& status : list_at(pod, {"status", member})) {
      if (str(status, {"name"}) == container && find(status, {"state", "waiting"}) != nullptr)
        return str(status, {"state", "waiting", "reason"}, "ContainerCreating");
    }
  }
  return {};
}

}  // namespace

ApiResult<serve::HttpResponse> answer_pod_log(const std::shared_ptr<ApiState>& state,
                                              const std::shared_ptr<const ContainerTable>& containers,
                                              const serve::ApiRequest& request, const KindPtr& kind) {
  const auto& what = request.what;
  FLEETADM_TRY(const LogOptions options, log_options(request));
  FLEETADM_TRY(const Json pod, state->engine->get(*kind, what.ns, what.name));
  FLEETADM_TRY(const std::string container, chosen_container(pod, request.query.get("container")));
  if (str(pod, {"spec", "nodeName"}).empty()) return serve::answer_text(200, "");

  const std::string key = kube::object_key(pod);
  const std::string uid = uid_of(pod);
  const std::string words = "container \"" + container + "\" in pod \"" + what.name + "\"";
  const auto runs = containers ? containers->find(key, uid, container) : std::nullopt;
  if (request.query.flag("previous") && (!runs || !runs->previous))
    return bad_request("previous terminated " + words + " not found");
  if (!runs) {
    if (const std::string reason = waiting_reason(pod, container); !reason.empty())
      return bad_request(words + " is waiting to start: " + reason);
    if (const Json* spec = container_named(pod, container); spec != nullptr && image_base(str(*spec, {"image"})) != "fleetadm")
      return serve::answer_text(200, "");
    return bad_request(words + " does not run in this sandbox's process");
  }
  const ContainerRun run = request.query.flag("previous") ? *runs->previous : runs->current;
  LogPart part{run.log, run.begin, run.end, options.tail_lines, options.limit_bytes, {}};
  if (request.query.flag("follow") && !run.end) {
    part.end_of_followed = end_of_run(containers, key, uid, container, run);
  }
  auto body = LogBody::open(std::move(part));
  if (!body) return tl::unexpected(from_error(body.error()));
  serve::HttpResponse response;
  response.headers.emplace_back("content-type", "text/plain");
  response.stream = std::move(*body);
  return response;
}

}  // namespace fleetadm::sandbox
