// A conversion webhook in the test's own process, HTTPS on loopback, for a kind that two versions write in different ways:
//   v1: spec.address "host:port", spec.replicas      v2: spec.host, spec.port, spec.count
// It answers rightly, or as badly as it is told to.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/tls_server.h"

namespace fleetadm::testkit {

class ConversionWebhook {
 public:
  enum class Mood {
    kGood,
    kRelabels,  // adds the label via=webhook; whatever else it changes of metadata is to be ignored
    kRefuses,   // result Failure, "not today"
    kBroken,    // HTTP 500, plain text
    kNoJson,
    kTooFew,        // leaves the last object out
    kOtherVersion,  // leaves apiVersion as it was
    kOtherName,
    kOtherUid,   // of the response
    kHuge,       // 4 MiB
    kSlow,       // answers rightly after two seconds
    kNever,      // until the mood changes
    kOddLabels,  // labels that are no text
  };
  /// `name`: what the certificate is for, beside 127.0.0.1.
  explicit ConversionWebhook(const std::string& name = "localhost");
  ~ConversionWebhook();
  ConversionWebhook(const ConversionWebhook&) = delete;
  ConversionWebhook& operator=(const ConversionWebhook&) = delete;

  std::string url() const { return server_->url() + "/convert"; }
  int port() const { return server_->port(); }
  /// Base64 of the PEM of its CA.
  std::string ca_bundle() const { return base64_encode(ca_.certificate); }
  /// spec.conversion of a definition that calls it.
  Json conversion() const;
  /// "links.<group>" with both versions and subresources status and scale, converted by this webhook.
  Json definition(const std::string& group, const std::string& storage = "v1") const;
  void set(Mood mood) { mood_ = mood; }
  /// The reviews that came so far.
  std::vector<Json> reviews() const;

 private:
  std::string answer(const Json& review, Mood mood) const;
  bool handle(const TlsRequest& request, const TlsWrite& write);

  pki::KeyPair ca_;
  std::atomic<Mood> mood_{Mood::kGood};
  std::atomic<bool> ending_{false};
  mutable std::mutex mutex_;
  std::vector<Json> reviews_;
  std::unique_ptr<TlsServer> server_;
};

}  // namespace fleetadm::testkit
