// A gateway with many tunnels, and what its clients notice of members, agents and gateways that are silent or gone.
#pragma once

#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/proxy/client/fan_out.h"
#include "kubeclient/transport/transport.h"
#include "tests/bench/proxy_lab.h"
#include "tests/bench/proxy_streams.h"

namespace fleetadm::bench {

inline Result<double> trimmed_memory(Part& gateway) {
  FLEETADM_CHECK(gateway.tell({{"do", "trim"}}));
  return mebibytes(gateway.pid(), "RssAnon:") * 1024;
}

/// The crowd comes, and stays.
inline Status idle_tunnels(ProxyLab& lab, Figures& figures) {
  Part& gateway = lab.parts().gateway;
  FLEETADM_TRY(const double before, trimmed_memory(gateway));
  FLEETADM_CHECK(lab.parts().crowd.tell({{"do", "come"}}));
  FLEETADM_CHECK(lab.wait_for_tunnels(gateway, lab.crowd()));
  std::this_thread::sleep_for(std::chrono::seconds(6));  // pings have been answered by then
  FLEETADM_TRY(const double with, trimmed_memory(gateway));
  FLEETADM_CHECK(lab.parts().crowd.tell({{"do", "leave"}}));
  FLEETADM_CHECK(lab.wait_for_tunnels(gateway, 0));
  FLEETADM_TRY(const double after, trimmed_memory(gateway));
  figures.set("idle_tunnel_kib", (with - before) / lab.crowd());
  figures.set("left_tunnel_kib", (after - before) / lab.crowd());
  FLEETADM_CHECK(lab.parts().crowd.tell({{"do", "come"}}));
  return lab.wait_for_tunnels(gateway, lab.crowd());
}

/// One request to each of so many members, of which every twentieth takes it and does not answer.
inline Status ask_all(ProxyLab& lab, int count, Figures& figures) {
  constexpr auto kDeadline = std::chrono::seconds(3);
  const auto gateway = kube::make_transport(lab.gateway());
  std::vector<std::string> clusters;
  for (int i = 0; i < count; ++i) clusters.push_back("m" + std::to_string(i));
  proxy::FanOut plan{*gateway, clusters, kDeadline, clusters.size()};
  kube::Request request;
  request.path = "/api/v1/pods";
  int answered = 0;
  double last = 0;  // of those that answered
  const auto begin = Timer::now();
  proxy::fan_out(plan, request, [&](proxy::FanOutAnswer answer) -> std::optional<kube::Request> {
    if (!answer.response || answer.response->status != 200) return std::nullopt;
    ++answered;
    last = milliseconds_since(begin);
    return std::nullopt;
  });
  const double took = milliseconds_since(begin);
  if (answered != count - count / 20)
    return fail(Category::kInternal, std::to_string(answered) + " of " + std::to_string(count) + " members answered");
  const std::string name = "fan_out_" + std::to_string(count);
  figures.set(name + "_answers_ms", last);
  figures.set(name + "_over_ms", took - std::chrono::duration<double, std::milli>(kDeadline).count());
  return {};
}

/// Seconds until a request succeeds, however many fail before.
inline Result<double> until_answered(const Way& way, const std::string& path, Timer::time_point since) {
  WayClient client(way);
  while (client.get(path) < 0) {
    if (seconds_since(since) > 60) return fail(Category::kTimeout, "no request succeeded again");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return seconds_since(since);
}

/// Killed, and started again at once, as a Deployment would with its pod on another node.
inline Status kill_gateway(ProxyLab& lab, const std::string& path, Figures& figures) {
  auto& parts = lab.parts();
  const auto begin = Timer::now();
  parts.gateway.kill();
  FLEETADM_CHECK(parts.next_gateway.tell(lab.gateway_plan()));
  FLEETADM_TRY(const double answered, until_answered(lab.through, path, begin));
  figures.set("killed_answers_s", answered);
  FLEETADM_CHECK(lab.wait_for_tunnels(parts.next_gateway, lab.crowd()));
  figures.set("killed_tunnels_s", seconds_since(begin));
  return {};
}

/// An end that takes bytes and says nothing any more, which is what the other end sees of a network that is gone without a FIN.
inline Status silent_ends(ProxyLab& lab, const std::string& path, Figures& figures) {
  auto& parts = lab.parts();
  FLEETADM_TRY([[maybe_unused]] const double warm, until_answered(lab.through, path, Timer::now()));
  parts.agent.signal(SIGSTOP);
  auto begin = Timer::now();
  WayClient client(lab.through);
  const long answer = client.get(path);
  figures.set("silent_request_s", seconds_since(begin));
  parts.agent.signal(SIGCONT);
  if (answer >= 0) return fail(Category::kInternal, "an agent that was stopped has answered");
  FLEETADM_TRY([[maybe_unused]] const double back, until_answered(lab.through, path, begin));

  parts.next_gateway.signal(SIGSTOP);
  begin = Timer::now();
  while (true) {
    FLEETADM_TRY(const Json state, parts.agent.tell({{"do", "state"}}));
    if (!flag(state, {"connected"})) break;
    if (seconds_since(begin) > 60) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  figures.set("silent_agent_s", seconds_since(begin));
  parts.next_gateway.signal(SIGCONT);
  FLEETADM_TRY([[maybe_unused]] const double again, until_answered(lab.through, path, begin));
  return {};
}

/// What others on the cluster notice of clients that have stopped reading, in turns without and with them.
inline Status stopped_clients(ProxyLab& lab, int requests, Figures& figures) {
  const std::string path = "/api/v1/namespaces/default/pods/p";
  std::map<bool, std::vector<double>> took;
  WayClient client(lab.through);
  for (int round = 0; round < 6; ++round) {
    const bool with = round % 2 == 1;
    std::vector<Exec> stopped;
    if (with) {
      FLEETADM_TRY(stopped, stopped_readers(lab.through, 8));
      std::this_thread::sleep_for(std::chrono::seconds(1));  // until all that is between is full
    }
    FLEETADM_TRY(const auto some, one_by_one(client, path, requests));
    took[with].insert(took[with].end(), some.begin(), some.end());
  }
  const double without = percentile(took[false], 0.99);
  figures.set("beside_p99_ms", without);
  figures.set("beside_stopped_p99_ms", percentile(took[true], 0.99));
  figures.set("beside_stopped_percent", 100 * (percentile(took[true], 0.99) / without - 1));
  return {};
}

}  // namespace fleetadm::bench
