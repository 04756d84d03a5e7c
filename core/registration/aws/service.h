// The public endpoints of AWS, and whom they are asked as. The environment says what it says to any program for AWS:
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE (which EKS
// gives to pods whose service account names a role); AWS_ENDPOINT_URL_<SERVICE> and AWS_ENDPOINT_URL, and AWS_CA_BUNDLE.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "core/registration/aws/sigv4.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::registration::aws {

struct Environment {
  std::function<std::string(const char*)> variable;  // empty text: not set
  std::shared_ptr<Clock> clock = Clock::system();
  std::function<std::shared_ptr<kube::Transport>(const kube::RestConfig&)> connect;  // empty: kube::make_transport
};
/// This process's.
Environment process_environment();

/// Thread-safe.
class Services {
 public:
  explicit Services(Environment environment) : environment_(std::move(environment)) {}

  /// Sends a signed request. A status from 400 is an Error with it as code, and AWS's code ("EntityAlreadyExists") as reason;
  /// kUnavailable where the same may succeed soon.
  Result<kube::Response> call(const Scope& scope, kube::Request request) const;

  /// Those of a role that the credentials of now may assume, for an hour.
  Result<Credentials> assume_role(const std::string& region, const std::string& role_arn, const std::stop_token& stop) const;

  Instant now() const { return environment_.clock->now(); }

  /// The credentials of now; those of a role are asked for anew before they expire.
  Result<Credentials> credentials(const std::string& region, const std::stop_token& stop) const;

 private:
  struct Place {
    std::string host;
    std::shared_ptr<kube::Transport> transport;
  };
  Result<Place> place(const Scope& scope) const;
  Result<kube::Response> send(const Place& place, const Scope& scope, const kube::Request& request) const;
  Result<Credentials> assume_role_of_pod(const std::string& region, const std::stop_token& stop) const;

  Environment environment_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Place> places_;  // by address
  mutable std::optional<Credentials> of_role_;
};

/// Text between <name> and </name> of an answer in XML; empty where there is none.
std::string xml_text(std::string_view xml, std::string_view name);

}  // namespace fleetadm::registration::aws
