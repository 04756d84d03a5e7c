// The other replicas of a gateway: a request for a cluster whose tunnel is not here goes to the one that has it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/proxy/hop/hop.h"
#include "core/proxy/hop/http1_hop.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::proxy {

struct PeersOptions {
  std::chrono::milliseconds question{2000};  // for all replicas to say whether they have a tunnel
  std::chrono::milliseconds known{5000};     // for how long it is not asked again who has a cluster's tunnel
};

/// I/O thread only.
class Peers : public std::enable_shared_from_this<Peers> {
 public:
  explicit Peers(boost::asio::any_io_executor executor, PeersOptions options = {});
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// HOST:PORT of each, by which CA it is known, and what this replica shows of itself. Those that are no longer named get no
  /// more requests; what runs there goes on.
  void use(const std::vector<std::string>& addresses, const std::string& ca, const pki::KeyPair& certificate);
  /// Null: there is no other replica. Its requests end with an Error of code 503 where none has a tunnel.
  std::shared_ptr<Hop> way_to(std::string_view cluster);
  /// Cuts what runs there.
  void close();

 private:
  class Certificate;
  class Way;
  struct Search;
  struct Known {
    std::string address;
    std::chrono::steady_clock::time_point until;
  };
  using Found = std::function<void(const std::shared_ptr<Hop>&)>;  // null: none has

  void find(const std::string& cluster, Found found);
  void ask(const std::shared_ptr<Search>& search, const std::string& address);
  void settle(const std::shared_ptr<Search>& search, const std::string& address);
  void forget(const std::string& cluster) { known_.erase(cluster); }

  const boost::asio::any_io_executor executor_;
  const PeersOptions options_;
  std::string ca_;
  std::shared_ptr<Certificate> certificate_;
  std::map<std::string, std::shared_ptr<Http1Hop>> replicas_;  // by address
  std::vector<std::shared_ptr<Http1Hop>> leaving_;             // what runs there has not ended yet
  std::map<std::string, Known> known_;                         // by cluster
  std::map<std::string, std::shared_ptr<Search>> searches_;    // the same
};

}  // namespace fleetadm::proxy
