// A registry in the test's own process: the part of the distribution API that a push needs, a record of what was asked, and
// faults of the test's choice.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/image/digest.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/tls_server.h"

namespace fleetadm::image {

struct Asked {
  std::string line;           // "PUT /v2/…"
  std::string authorization;  // as it was sent
  std::string body;
};

class RegistryDouble {
 public:
  using Answer = std::function<std::optional<std::string>(const testkit::TlsRequest&)>;

  explicit RegistryDouble(const pki::KeyPair& certificate)
      : server_(certificate, [this](const auto& request, const auto& write) { return serve(request, write); }) {}

  std::string host() const { return server_.url().substr(std::string("https://").size()); }
  std::string url() const { return server_.url(); }

  /// Asked first: an answer in the place of the registry's own; an empty one cuts the connection.
  void intercept(Answer answer) {
    const std::scoped_lock lock(mutex_);
    intercept_ = std::move(answer);
  }
  std::vector<Asked> asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  /// Those whose line begins so.
  std::vector<Asked> asked(const std::string& begin) const {
    std::vector<Asked> out;
    for (const Asked& one : asked()) {
      if (one.line.starts_with(begin)) out.push_back(one);
    }
    return out;
  }
  void forget() {
    const std::scoped_lock lock(mutex_);
    asked_.clear();
  }
  std::map<std::string, std::string> blobs() const {
    const std::scoped_lock lock(mutex_);
    return blobs_;
  }
  /// By tag and by digest.
  std::map<std::string, std::string> manifests() const {
    const std::scoped_lock lock(mutex_);
    return manifests_;
  }

 private:
  static std::string answer(int status, const std::string& body = {}, const std::string& headers = {}) {
    return testkit::TlsServer::response(status, body, headers);
  }

  bool serve(const testkit::TlsRequest& request, const testkit::TlsWrite& write) {
    Answer intercept;
    {
      const std::scoped_lock lock(mutex_);
      const auto sent = request.headers.find("authorization");
      asked_.push_back({request.method + " " + request.target, sent == request.headers.end() ? "" : sent->second, request.body});
      intercept = intercept_;
    }
    if (intercept) {
      if (const auto other = intercept(request)) {
        if (other->empty()) return false;
        return write(*other);
      }
    }
    return write(own_answer(request));
  }

  std::string own_answer(const testkit::TlsRequest& request) {
    const std::scoped_lock lock(mutex_);
    const std::string path = request.target.substr(0, request.target.find('?'));
    const std::string last = path.substr(path.rfind('/') + 1);
    if (path.find("/blobs/uploads/") != std::string::npos) {
      if (request.method == "POST") return answer(202, "", "Location: " + path + "session?state=a%2Fb\r\n");
      const std::string digest = digest_of(request.body);
      const std::string encoded = "sha256%3A" + digest.substr(7);
      if (request.target.find("state=a%2Fb&digest=" + encoded) == std::string::npos)
        return answer(400, R"({"errors":[{"code":"DIGEST_INVALID","message":"digest did not match"}]})");
      blobs_[digest] = request.body;
      return answer(201, "", "Docker-Content-Digest: " + digest + "\r\n");
    }
    if (path.find("/blobs/") != std::string::npos) return blobs_.contains(last) ? answer(200) : answer(404);
    if (path.find("/manifests/") == std::string::npos) return answer(404);
    if (request.method == "PUT") {
      manifests_[last] = request.body;
      manifests_[digest_of(request.body)] = request.body;
      return answer(201);
    }
    const auto found = manifests_.find(last);
    return found == manifests_.end() ? answer(404)
                                     : answer(200, "", "Docker-Content-Digest: " + digest_of(found->second) + "\r\n");
  }

  mutable std::mutex mutex_;
  Answer intercept_;
  std::vector<Asked> asked_;
  std::map<std::string, std::string> blobs_;
  std::map<std::string, std::string> manifests_;
  testkit::TlsServer server_;  // last: it ends first
};

}  // namespace fleetadm::image
