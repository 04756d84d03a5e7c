// The other replicas of a gateway: a request for a cluster whose tunnel is not here goes to the one that has it, and where the
// tunnel is on its way from one to another, waits for it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
  std::chrono::milliseconds moved{5000};     // so long ago a tunnel was lost, and may be on its way to another replica
  std::chrono::milliseconds patience{2000};  // then: how long a request waits for it
  std::chrono::milliseconds look{50};        // between two looks for it
  /// This replica's own way to a cluster, if it has one by now.
  std::function<std::shared_ptr<Hop>(std::string_view cluster)> own;
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
  /// Null: there is no other replica, and nothing to wait for. Its requests end with an Error of code 503 where none has a
  /// tunnel. A request that may have reached the member is never sent again, but for one that only reads.
  std::shared_ptr<Hop> way_to(std::string_view cluster);
  /// This replica has lost its tunnel of the cluster.
  void lost(const std::string& cluster);
  /// Cuts what runs there.
  void close();

 private:
  class Certificate;
  class Way;
  struct Search;
  struct Attempt;
  using AttemptPtr = std::shared_ptr<Attempt>;
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct Replica {
    std::shared_ptr<Http1Hop> hop;
    std::optional<SteadyTime> silent_since;  // it did not answer when it was last asked
  };
  struct Known {
    std::string address;
    SteadyTime until;
  };
  using Found = std::function<void(const std::shared_ptr<Hop>&)>;  // null: none has

  void go(const AttemptPtr& attempt);
  void pass(const AttemptPtr& attempt, const std::shared_ptr<Hop>& hop);
  void judge(const AttemptPtr& attempt, const Result<serve::HttpResponse>& came);
  void wait_or_end(const AttemptPtr& attempt);
  bool may_come(const std::string& cluster) const;
  void find(const std::string& cluster, bool anew, Found found);
  void ask(const std::shared_ptr<Search>& search, const std::string& address);
  void heard(const std::string& address, bool answered);
  void settle(const std::shared_ptr<Search>& search, const std::string& address);

  const boost::asio::any_io_executor executor_;
  const PeersOptions options_;
  std::string ca_;
  std::shared_ptr<Certificate> certificate_;
  std::map<std::string, Replica> replicas_;                  // by address
  std::vector<std::shared_ptr<Http1Hop>> leaving_;           // what runs there has not ended yet
  std::optional<SteadyTime> left_;                           // when one was last taken away
  std::map<std::string, Known> known_;                       // by cluster
  std::map<std::string, SteadyTime, std::less<>> lost_;      // the same: when its tunnel was lost
  std::map<std::string, std::shared_ptr<Search>> searches_;  // the same
};

}  // namespace fleetadm::proxy
