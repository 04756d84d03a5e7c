// Approves certificate requests of add-ons' agents, and signs those of the add-ons' own signers.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "core/addon/rules/csr_verdict.h"
#include "core/controller/controller.h"
#include "kubeclient/events/recorder.h"

namespace fleetadm::addon {

class AddonCsrController {
 public:
  /// `requests` holds CSRs with the labels of a cluster and an add-on. `recorder` may be null.
  AddonCsrController(kube::Client hub, std::shared_ptr<kube::Informer> requests, std::shared_ptr<const ObjectReader> objects,
                     std::string hub_namespace, std::shared_ptr<Clock> clock, std::shared_ptr<kube::Recorder> recorder);

  /// `key` is the CSR's name. What is refused is not looked at again by itself: call it again as the add-on, its template or its
  /// cluster changes.
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  /// As the server has it now, where it is still the one of the cache and still waits as `waits` says; else null.
  Result<Json> live(const kube::Client& hub, const kube::CachedObject& cached, bool (*waits)(const Json&)) const;
  Result<controller::Outcome> approve(const kube::Client& hub, const kube::CachedObject& cached);
  Result<controller::Outcome> sign(const kube::Client& hub, const kube::CachedObject& cached);
  controller::Outcome leave(const Json& csr, const CsrVerdict& verdict, const char* undone);

  kube::Client hub_;
  std::shared_ptr<kube::Informer> requests_;
  std::shared_ptr<const ObjectReader> objects_;
  std::string hub_namespace_;
  std::shared_ptr<Clock> clock_;
  std::shared_ptr<kube::Recorder> recorder_;
  std::mutex mutex_;
  std::map<std::string, std::string> told_;  // why a request was left, by name: told once
};

}  // namespace fleetadm::addon
