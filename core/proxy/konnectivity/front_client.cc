#include "core/proxy/konnectivity/front_client.h"

#include <memory>
#include <utility>

#include "core/proxy/konnectivity/front_stream.h"
#include "core/proxy/konnectivity/server_dial.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::konnectivity {

void dial_through_front(const boost::asio::any_io_executor& executor, const FrontOptions& options, const std::string& target,
                        std::function<void(Result<boost::asio::ip::tcp::socket>)> done) {
  ServerOptions server;
  server.host = options.host;
  server.port = options.port;
  server.server_name = options.server_name;
  server.ca = options.ca;
  server.certificate = options.certificate;
  server.dial = options.dial;
  const std::string authority = join_host_port(options.host, options.port);
  auto speak = [executor, authority, target, done, patience = options.target](serve::ProtocolHost host) {
    return std::make_shared<FrontStream>(std::move(host), executor, authority, target, patience, done);
  };
  dial_server(executor, server, std::move(speak), [done](const Error& error) { done(fail(error)); });
}

}  // namespace fleetadm::konnectivity
