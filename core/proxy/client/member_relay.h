// A gateway of this process alone, on loopback: it takes requests for members in the form of the hub's gateway, and sends each on
// the way that there is, with what that way asks for. For programs that can only bring one token (kubectl cannot show the gateway
// who asks and bring a token of the member beside that), and for hubs with upstream's cluster-proxy instead of our gateway.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>

#include "core/proxy/client/hops.h"
#include "core/proxy/hop/http1_hop.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::proxy {

/// How requests to one cluster go on.
struct MemberRoute {
  Way way = Way::kGateway;
  std::string server;       // https://host:port of what is spoken to: the gateway, the user server, the member
  std::string ca;           // PEM, which vouches for it
  std::string server_name;  // that its certificate has to be valid for; empty: the server's host
  std::string prefix;       // before the path at the member
  /// Of the member. Beside the credentials of the hub, in a header of our gateway's; otherwise as the request's own. Empty: none.
  std::string token;
  /// Where the server is not simply dialed; on the relay's I/O thread (Http1HopOptions::connect).
  using Dialed = std::function<void(Result<boost::asio::ip::tcp::socket>)>;
  std::function<void(const boost::asio::any_io_executor& executor, Dialed done)> dial;
};

/// May block; on a thread of the relay's.
using FindRoute = std::function<Result<MemberRoute>(const std::string& cluster)>;

class MemberRelay {
 public:
  struct Options {
    FindRoute route;                                 // asked at a cluster's first request, and again when a minute has passed
    std::shared_ptr<kube::CredentialSource> caller;  // of the hub: shown to our gateway, and to nobody else
  };

  /// Listens on a free port of 127.0.0.1, under TLS with a CA of its own, and answers those alone who bring token().
  static Result<std::shared_ptr<MemberRelay>> start(Options options);
  ~MemberRelay();
  MemberRelay(const MemberRelay&) = delete;
  MemberRelay& operator=(const MemberRelay&) = delete;

  /// Paths stand behind member_prefix().
  std::string server() const;
  const std::string& ca() const;
  const std::string& token() const;

 private:
  struct Inner;
  explicit MemberRelay(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

/// The connection to a relay, which keeps it running.
kube::RestConfig relay_config(const std::shared_ptr<MemberRelay>& relay);

}  // namespace fleetadm::proxy
