// A member's API server as a program of this machine can use it that can only bring one token: kubectl has no way to show the
// gateway who asks, and to bring a token of the member beside that. A relay on loopback adds both.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kubeclient/config/rest_config.h"

namespace fleetadm::proxy {

class MemberRelay {
 public:
  struct Options {
    kube::RestConfig member;                            // of member_config(): where requests go, and who asks
    std::function<Result<std::string>()> member_token;  // asked at the start and every minute; may block
  };

  /// Listens on a free port of 127.0.0.1, under TLS with a CA of its own, and answers those alone who bring token().
  static Result<std::unique_ptr<MemberRelay>> start(Options options);
  ~MemberRelay();
  MemberRelay(const MemberRelay&) = delete;
  MemberRelay& operator=(const MemberRelay&) = delete;

  std::string server() const;
  const std::string& ca() const;
  const std::string& token() const;

 private:
  struct Inner;
  explicit MemberRelay(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

}  // namespace fleetadm::proxy
