#include "core/proxy/konnectivity/agent_port.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "core/proxy/konnectivity/agent_line.h"
#include "core/proxy/konnectivity/identifiers.h"
#include "core/proxy/rules/percent.h"
#include "kubeclient/base/log.h"

namespace fleetadm::konnectivity {
namespace {

constexpr std::size_t kMostAtOnce = 200;  // agents that are sent to look for other replicas

}  // namespace

void AgentPort::handle(serve::HttpRequest request, const serve::Reply& reply) {
  if (request.method != "POST" || request.path != "/AgentService/Connect" || !request.content)
    return reply(serve::answer_text(404, "not found"));
  const auto cluster = options_.cluster_of(request);
  if (!cluster) {
    log::warn("konnectivity", "an agent's tunnel is refused: " + cluster.error().message);
    return reply(serve::answer_text(403, "the certificate is no cluster's"));
  }
  for (const std::string& identifiers : request.all("agentidentifiers")) {
    const auto foreign = foreign_identifier(identifiers, *cluster);
    if (!foreign) continue;
    log::warn("konnectivity", "a tunnel of cluster \"" + *cluster + "\" is refused: it announces \"" + *foreign + "\"");
    return reply(serve::answer_text(403, "an identifier is not the cluster's"));
  }
  const auto line = std::make_shared<AgentLine>(executor_, request.content, servers_);
  auto& lines = lines_[*cluster];
  by_proxy_host_.try_emplace(service_proxy_host(*cluster), *cluster);
  std::erase_if(lines, [](const auto& other) { return other.expired(); });
  if (lines.size() >= kMostTunnels) {
    if (const auto oldest = lines.front().lock()) oldest->cut();
    lines.erase(lines.begin());
  }
  lines.push_back(line);
  serve::HttpResponse answer;
  answer.headers = {
      {"content-type", "application/grpc"}, {"serverid", options_.server_id}, {"servercount", std::to_string(servers_)}};
  answer.stream = line;
  reply(std::move(answer));
}

std::vector<std::shared_ptr<AgentLine>> AgentPort::lines_of(std::string_view cluster) const {
  std::vector<std::shared_ptr<AgentLine>> out;
  const auto at = lines_.find(cluster);
  if (at == lines_.end()) return out;
  for (const auto& weak : at->second) {
    if (auto line = weak.lock(); line && line->takes_dials()) out.push_back(std::move(line));
  }
  return out;
}

void AgentPort::dial(std::string_view cluster, const std::string& target, Done done) {
  const auto lines = lines_of(cluster);
  const auto newest = std::chrono::steady_clock::now() - options_.settled;
  const auto settled = std::find_if(lines.rbegin(), lines.rend(), [&](const auto& line) { return line->since() <= newest; });
  if (settled != lines.rend()) return (*settled)->dial(target, options_.dial, std::move(done));
  if (!lines.empty()) return lines.front()->dial(target, options_.dial, std::move(done));
  boost::asio::post(executor_, [done = std::move(done), cluster = std::string(cluster)] {
    done(fail(Category::kUnavailable, "cluster \"" + cluster + "\" has no tunnel"));
  });
}

std::size_t AgentPort::tunnels(std::string_view cluster) const { return lines_of(cluster).size(); }

void AgentPort::expect_servers(std::size_t count) {
  servers_ = std::max<std::size_t>(count, 1);
  std::size_t left = kMostAtOnce;
  for (const auto& [cluster, lines] : lines_) {
    for (const auto& weak : lines) {
      const auto line = weak.lock();
      if (!line || line->told_servers() >= servers_ || !line->idle()) continue;
      line->cut();
      if (--left == 0) return;
    }
  }
}

void AgentPort::cut(std::string_view cluster) {
  const auto at = lines_.find(cluster);
  if (at == lines_.end()) return;
  for (const auto& weak : std::exchange(at->second, {})) {
    if (const auto line = weak.lock()) line->cut();
  }
  lines_.erase(at);
  by_proxy_host_.erase(service_proxy_host(cluster));
}

std::optional<std::string> AgentPort::cluster_of_host(std::string_view host) const {
  if (const auto at = by_proxy_host_.find(host); at != by_proxy_host_.end()) return at->second;
  for (const std::string_view cluster : {host, host.substr(0, host.rfind('.'))}) {
    const auto at = lines_.find(cluster);
    if (at != lines_.end() && !foreign_identifier("host=" + proxy::percent_encoded(host), cluster)) return at->first;
  }
  return std::nullopt;
}

}  // namespace fleetadm::konnectivity
