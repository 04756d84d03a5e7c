#include "core/sandbox/api/pod_connect.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/sandbox/api/pod_containers.h"
#include "core/sandbox/node/attach_end.h"
#include "core/sandbox/node/environment.h"
#include "core/sandbox/node/listening.h"
#include "core/sandbox/node/process_end.h"
#include "core/serve/streams/command_session.h"
#include "core/serve/streams/forward_session.h"
#include "core/serve/streams/upgrade_request.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::sandbox {
namespace {

using Containers = std::shared_ptr<const ContainerTable>;

ApiResult<serve::ChannelsWanted> channels_wanted(const serve::Query& query) {
  serve::ChannelsWanted wanted{query.flag("stdin"), query.flag("stdout"), query.flag("stderr"), query.flag("tty")};
  if (wanted.terminal) wanted.errors = false;  // a terminal has one output
  if (!wanted.input && !wanted.output && !wanted.errors)
    return bad_request("you must specify at least 1 of stdin, stdout, stderr");
  return wanted;
}

/// What a pod whose image is not fleetadm's lacks; empty where its image is.
std::string why_no_process(const Json& container) {
  const std::string image = str(container, {"image"});
  if (image_base(image) == "fleetadm") return {};
  return "this sandbox runs no process for the image \"" + image + "\": only fleetadm's own image runs here";
}

serve::HttpResponse upgraded_to(serve::UpgradeChoice choice, std::shared_ptr<serve::UpgradedStream> stream) {
  choice.answer.stream = stream;
  choice.answer.upgrade = std::move(stream);
  return std::move(choice.answer);
}

serve::HttpResponse command_answer(serve::UpgradeChoice choice, std::unique_ptr<serve::ExecTarget> end,
                                   const serve::ChannelsWanted& wanted) {
  auto link = choice.websocket ? serve::make_websocket_channels(wanted, choice.protocol == serve::kChannelsV5)
                               : serve::make_spdy_channels(wanted);
  return upgraded_to(std::move(choice), std::make_shared<serve::CommandSession>(std::move(link), std::move(end), wanted));
}

/// exec or attach of a container that runs.
Result<std::unique_ptr<serve::ExecTarget>> end_for(const Containers& containers, const Json& pod, const std::string& container,
                                                   const ContainerRuns& runs, const serve::ApiRequest& request,
                                                   const serve::ChannelsWanted& wanted) {
  const std::string key = kube::object_key(pod);
  const std::string uid = uid_of(pod);
  if (request.what.subresource == "attach") return attach_to(containers, key, uid, container, runs, wanted);
  auto lives = [containers, key, uid, container, place = runs.place] {
    const auto now = containers->find(key, uid, container);
    return now && now->place == place;
  };
  return start_command(*runs.place, request.query.all("command"), wanted, std::move(lives));
}

ApiResult<serve::HttpResponse> connect_command(const Containers& containers, const serve::ApiRequest& request, const Json& pod,
                                               const std::string& container) {
  const bool attach = request.what.subresource == "attach";
  FLEETADM_TRY(const serve::ChannelsWanted wanted, channels_wanted(request.query));
  if (!attach && request.query.all("command").empty()) return bad_request("you must specify a command to execute");
  auto choice = serve::choose_upgrade(*request.http, {serve::kChannelsV5, serve::kChannelsV4}, serve::kChannelsV4);
  if (choice.protocol.empty()) return std::move(choice.answer);

  // Kubernetes passes what comes by WebSocket on to the node by SPDY, and wraps its complaint once more.
  const std::string what = std::string(choice.websocket ? "Internal error occurred: " : "") +
                           (attach ? "error attaching to container: " : "error executing command in container: ");
  if (const std::string why = why_no_process(*container_named(pod, container)); !why.empty())
    return command_answer(std::move(choice), serve::make_failed_end(what + why), wanted);
  const auto runs = containers ? containers->find(kube::object_key(pod), uid_of(pod), container) : std::nullopt;
  if (!runs || !runs->place) {
    return api_fail(500, "InternalError",
                    "Internal error occurred: unable to upgrade connection: container not found (\"" + container +
                        "\"): it does not run now");
  }
  auto end = end_for(containers, pod, container, *runs, request, wanted);
  if (!end) end = serve::make_failed_end(what + end.error().message);
  return command_answer(std::move(choice), std::move(*end), wanted);
}

/// Of the request's own list, which WebSocket channels need: "ports=80&ports=81" or "ports=80,81".
ApiResult<std::vector<int>> ports_of_query(const serve::Query& query) {
  std::vector<int> ports;
  for (const std::string& value : query.all("ports")) {
    for (const char* at = value.data(); at <= value.data() + value.size();) {
      const char* const end = std::find(at, value.data() + value.size(), ',');
      int port = 0;
      const auto [rest, error] = std::from_chars(at, end, port);
      if (error != std::errc() || rest != end || port < 1 || port > 0xffff)
        return bad_request("unable to parse \"" + std::string(at, end) + "\" as a port");
      ports.push_back(port);
      at = end + 1;
    }
  }
  if (ports.empty()) return bad_request("query parameter \"ports\" is required");
  if (ports.size() > serve::kMaxForwardedPorts)
    return bad_request("at most " + std::to_string(serve::kMaxForwardedPorts) + " ports can be forwarded at once");
  return ports;
}

/// Which port here stands for one of the pod. Beside the declared ones only those count on which its own processes listen: not
/// everything on this machine's loopback is the pod's.
Result<int> port_here(const Containers& containers, const std::string& key, const std::string& uid, int port) {
  const auto places = containers->places(key, uid);
  if (places.empty()) return fail(Category::kUnavailable, "the pod does not run now");
  for (const auto& place : places) {
    if (const auto moved = place->ports.find(port); moved != place->ports.end()) return moved->second;
  }
  const bool listens = std::any_of(places.begin(), places.end(), [&](const auto& place) {
    return place->process > 0 && process_listens(place->process, port);
  });
  if (!listens) return fail(Category::kUnavailable, "connection refused: the pod does not listen on it");
  return port;
}

ApiResult<serve::HttpResponse> connect_ports(const Containers& containers, const serve::ApiRequest& request, const Json& pod) {
  auto choice = serve::choose_upgrade(*request.http, {serve::kTunnelledForwarding, serve::kChannelsV4}, serve::kForwarding);
  if (choice.protocol.empty()) return std::move(choice.answer);
  const std::string key = kube::object_key(pod);
  const std::string uid = uid_of(pod);
  if (!containers || containers->places(key, uid).empty()) {
    std::string why = "it does not run now";
    for (const Json& container : list_at(pod, {"spec", "containers"})) {
      if (const std::string none = why_no_process(container); !none.empty()) why = none;
    }
    return api_fail(500, "InternalError",
                    "Internal error occurred: unable to upgrade connection: pod not found (\"" + name_of(pod) + "_" +
                        namespace_of(pod) + "\"): " + why);
  }
  std::unique_ptr<serve::ForwardLink> link;
  if (choice.protocol == serve::kChannelsV4) {
    FLEETADM_TRY(const auto ports, ports_of_query(request.query));
    link = serve::make_channel_forwarding(ports);
  } else {
    link = serve::make_spdy_forwarding(choice.websocket);
  }
  auto find = [containers, key, uid](int port) { return port_here(containers, key, uid, port); };
  return upgraded_to(std::move(choice), std::make_shared<serve::ForwardSession>(std::move(link), std::move(find),
                                                                                "pod " + name_of(pod) + ", uid " + uid));
}

/// A port's number; text that is none is told when the connection is made.
Json port_json(const std::string& text) {
  int port = 0;
  std::from_chars(text.data(), text.data() + text.size(), port);
  return port;
}

}  // namespace

Json connection_options(const serve::ApiRequest& request) {
  const auto& query = request.query;
  const bool ports = request.what.subresource == "portforward";
  const bool attach = request.what.subresource == "attach";
  Json options = {{"kind", ports    ? "PodPortForwardOptions"
                           : attach ? "PodAttachOptions"
                                    : "PodExecOptions"},
                  {"apiVersion", "v1"}};
  if (ports) {
    for (const std::string& port : query.all("ports")) options["ports"].push_back(port_json(port));
    return options;
  }
  for (const char* stream : {"stdin", "stdout", "stderr", "tty"}) {
    if (query.flag(stream)) options[stream] = true;
  }
  if (const std::string container = query.get("container"); !container.empty()) options["container"] = container;
  if (!attach) options["command"] = query.all("command");
  return options;
}

bool is_pod_connection(const std::string& subresource) {
  return subresource == "exec" || subresource == "attach" || subresource == "portforward";
}

ApiResult<serve::HttpResponse> answer_pod_connection(const std::shared_ptr<ApiState>& state,
                                                     const std::shared_ptr<const ContainerTable>& containers,
                                                     const serve::ApiRequest& request, const KindPtr& kind) {
  const auto& what = request.what;
  if (request.query.has("dryRun")) return bad_request("dryRun is not supported");
  FLEETADM_TRY(const Json pod, state->engine->get(*kind, what.ns, what.name));
  std::string container;
  if (what.subresource != "portforward") {
    FLEETADM_TRY(container, chosen_container(pod, request.query.get("container")));
  }
  if (str(pod, {"spec", "nodeName"}).empty()) return bad_request("pod " + what.name + " does not have a host assigned");
  if (!serve::asks_stream_upgrade(*request.http)) return bad_request("Upgrade request required");
  return what.subresource == "portforward" ? connect_ports(containers, request, pod)
                                           : connect_command(containers, request, pod, container);
}

}  // namespace fleetadm::sandbox
