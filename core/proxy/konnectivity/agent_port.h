// The server's side of the tunnels of upstream's proxy-agents: takes their streams, each for the cluster of its certificate, and
// dials through them.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::konnectivity {

class AgentLine;

struct AgentPortOptions {
  /// The cluster that the request's client certificate was issued to, as it is remembered: all clusters' agents have the same
  /// subject. An Error refuses the stream; its message is for the log.
  std::function<Result<std::string>(const serve::HttpRequest& request)> cluster_of;
  std::string server_id;                  // which replica this is
  std::size_t servers = 1;                // replicas, at first; agents look for as many
  std::chrono::milliseconds dial{10000};  // for an agent to have connected to a target; it gives up after 5 s itself
  /// An agent that looks for other replicas comes here again and again, and leaves when it sees where it is: a tunnel that is
  /// younger carries nothing while there is another one.
  std::chrono::milliseconds settled{2000};
};

/// I/O thread only; the listener streams all bodies and lets them be idle for long (HttpLimits::idle).
class AgentPort : public std::enable_shared_from_this<AgentPort> {
 public:
  using Done = std::function<void(Result<boost::asio::ip::tcp::socket>)>;
  static constexpr std::size_t kMostTunnels = 16;  // of a cluster; the oldest makes room

  AgentPort(boost::asio::any_io_executor executor, AgentPortOptions options)
      : executor_(std::move(executor)), options_(std::move(options)) {}

  /// A request of the listener. What it announces must be its cluster's own (identifiers.h), or it is refused.
  void handle(serve::HttpRequest request, const serve::Reply& reply);
  /// Connects to "host:port" as the cluster's agent sees it, on its newest tunnel that takes connections and is settled. The
  /// result is a socket like that of front_client.h. `done` is called once, not from within: kUnavailable, kTimeout, kInvalid.
  void dial(std::string_view cluster, const std::string& target, Done done);
  std::size_t tunnels(std::string_view cluster) const;
  /// The cluster, of those that have had a tunnel, that such a name is one of (identifiers.h).
  std::optional<std::string> cluster_of_host(std::string_view host) const;
  /// How many replicas there are, this one among them: agents look for as many. Those that were told of fewer learn it when they
  /// connect again: their tunnels end as soon as they carry no connection, some with each call.
  void expect_servers(std::size_t count);
  /// Ends the tunnels of a cluster that is no longer accepted.
  void cut(std::string_view cluster);

 private:
  std::vector<std::shared_ptr<AgentLine>> lines_of(std::string_view cluster) const;

  boost::asio::any_io_executor executor_;
  const AgentPortOptions options_;
  std::size_t servers_ = options_.servers;
  std::map<std::string, std::vector<std::weak_ptr<AgentLine>>, std::less<>> lines_;  // of each cluster, the newest at the end
  std::map<std::string, std::string, std::less<>> by_proxy_host_;                    // of the same, by service_proxy_host()
};

}  // namespace fleetadm::konnectivity
