// Which clusters the tunnel certificates of the add-on cluster-proxy were issued to. All clusters' agents have the same subject
// (docs/reference/cluster-proxy.md#our-gateway-in-the-place-of-the-proxy-server), but each request was made by one of them.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::gateway {

struct IssuedCertificate {
  std::string sha256;  // of its DER, in hex
  std::string cluster;
  Instant expires;
};

/// Of a CertificateSigningRequest that was answered: its requester is the cluster's agent, as the hub's API server knows it, and
/// signer and subject are those of tunnels. Nothing for any other request.
std::optional<IssuedCertificate> read_issued(const Json& request);
/// Of the first certificate of a PEM; empty where there is none.
std::string certificate_sha256(std::string_view pem);

/// Thread-safe.
class IssuedCertificates {
 public:
  static constexpr std::size_t kMost = 6000;  // an object of the hub has to hold them; those that end first make room

  void add(const IssuedCertificate& issued);
  /// Of a ConfigMap, as data() gives it. What cannot be read is left out.
  void load(const Json& config_map);
  /// Those that have not expired.
  std::map<std::string, std::string> data(Instant now) const;
  /// Empty: it was issued to nobody that is known, or has expired.
  std::string cluster_of(std::string_view sha256, Instant now) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, IssuedCertificate, std::less<>> issued_;
};

}  // namespace fleetadm::gateway
