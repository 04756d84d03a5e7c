// A stand-in for the public endpoints of AWS that registration speaks to: STS, IAM and EKS, as far as it uses them, over TLS. It
// verifies the signature of each request that has to have one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/registration/aws/service.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/json.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::testkit {

class AwsStandIn {
 public:
  static constexpr const char* kAccessKey = "AKIDSTANDIN";
  static constexpr const char* kSecretKey = "a-secret-of-the-stand-in";
  struct Entry {
    std::string user;
    std::vector<std::string> groups;
    bool operator==(const Entry&) const = default;
  };

  AwsStandIn();
  /// What a program is told of it, and of whom it is there.
  std::map<std::string, std::string> variables() const;
  registration::aws::Environment environment(std::map<std::string, std::string> more = {}) const;

  std::map<std::string, Json> roles() const;     // trust policies by name
  std::map<std::string, Entry> entries() const;  // by ARN of the role
  std::vector<std::string> calls() const;        // "CreateRole", …, in order; refused ones too
  std::vector<std::string> wrong_signatures() const;
  /// So many times a new role is not known to EKS yet.
  void set_slow(int times);
  /// Temporary credentials, as STS gives them for the token of a pod, are the ones that are taken.
  static constexpr const char* kPodToken = "token-of-the-pod";
  static constexpr const char* kSessionToken = "session-token";

 private:
  serve::HttpResponse answer(const serve::HttpRequest& request);
  serve::HttpResponse answer_form(const std::map<std::string, std::string>& form);
  serve::HttpResponse answer_eks(const serve::HttpRequest& request);
  bool signed_well(const serve::HttpRequest& request) const;

  TemporaryFolder folder_{"aws"};
  mutable std::mutex mutex_;
  std::map<std::string, Json> roles_;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> calls_;
  std::vector<std::string> wrong_;
  int slow_ = 0;
  serve::HttpRuntime runtime_{1};
  std::unique_ptr<serve::HttpListener> listener_;
};

}  // namespace fleetadm::testkit
