// A hub's gateway behind the Transport seam: requests to /clusters/NAME/proxy go to the API server of that member.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kubeclient/transport/transport.h"
#include "tests/support/fake_api.h"

namespace fleetadm::testkit {

/// Thread-safe once its members are there.
class FakeGateway final : public kube::Transport {
 public:
  /// What a member is asked before it answers by itself; nothing: its FakeApi answers.
  using Hook = std::function<std::optional<kube::Response>(const std::string& cluster, const kube::Request& request)>;

  FakeApi& add(const std::string& cluster) {
    auto& member = members_[cluster];
    member = FakeApi::make();
    return *member;
  }
  /// Requests to it are never answered.
  void silence(const std::string& cluster) { silent_.insert(cluster); }
  void on_request(Hook hook) { hook_ = std::move(hook); }

  /// As the gateway refuses: a Status without details.
  static kube::Response refusal(int code, const std::string& reason, const std::string& message) {
    const Json status = {{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", Json::object()},
                         {"status", "Failure"}, {"message", message}, {"reason", reason},
                         {"code", code}};
    return {code, {{"content-type", "application/json"}}, dump_json(status)};
  }

  /// "NAME PATH" of all requests.
  std::vector<std::string> asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  std::size_t most_at_once() const {
    const std::scoped_lock lock(mutex_);
    return most_;
  }

  Result<kube::Response> call(const kube::Request& request) override {
    kube::Request at_member;
    std::string cluster;
    if (auto refused = route(request, cluster, at_member)) return *refused;
    if (silent_.contains(cluster)) return fail(Category::kTimeout, "no answer in time");
    return members_.at(cluster)->call(at_member);
  }

  std::unique_ptr<kube::StreamHandle> stream(const kube::Request& request, std::shared_ptr<kube::StreamSink> sink) override {
    kube::Request at_member;
    std::string cluster;
    auto refused = route(request, cluster, at_member);
    {
      const std::scoped_lock lock(mutex_);
      most_ = std::max(most_, ++open_);
    }
    auto counted = std::make_shared<Counted>(*this, std::move(sink));
    if (refused) {
      counted->on_response(refused->status, refused->headers);
      counted->on_data(refused->body);
      counted->on_end(std::nullopt);
      return std::make_unique<Silence>();
    }
    if (silent_.contains(cluster)) return std::make_unique<Silence>();
    return members_.at(cluster)->stream(at_member, counted);
  }

 private:
  class Silence final : public kube::StreamHandle {
   public:
    void cancel() override {}
  };
  class Counted final : public kube::StreamSink {
   public:
    Counted(FakeGateway& gateway, std::shared_ptr<kube::StreamSink> inner) : gateway_(gateway), inner_(std::move(inner)) {}
    void on_response(int status, const std::map<std::string, std::string>& headers) override {
      inner_->on_response(status, headers);
    }
    void on_data(std::string_view chunk) override { inner_->on_data(chunk); }
    void on_end(std::optional<Error> error) override {
      {
        const std::scoped_lock lock(gateway_.mutex_);
        --gateway_.open_;
      }
      inner_->on_end(std::move(error));
    }

   private:
    FakeGateway& gateway_;
    const std::shared_ptr<kube::StreamSink> inner_;
  };

  std::optional<kube::Response> route(const kube::Request& request, std::string& cluster, kube::Request& at_member) {
    const std::string begin = "/clusters/";
    const std::string proxy = "/proxy";
    const std::size_t end = request.path.find(proxy, begin.size());
    if (!request.path.starts_with(begin) || end == std::string::npos)
      return refusal(404, "NotFound", "the path names no cluster");
    cluster = request.path.substr(begin.size(), end - begin.size());
    at_member = request;
    at_member.path = request.path.substr(end + proxy.size());
    {
      const std::scoped_lock lock(mutex_);
      asked_.push_back(cluster + " " + at_member.path);
    }
    if (hook_) {
      if (auto answer = hook_(cluster, at_member)) return answer;
    }
    if (!members_.contains(cluster) && !silent_.contains(cluster))
      return refusal(503, "ServiceUnavailable", "cluster \"" + cluster + "\" has no tunnel");
    return std::nullopt;
  }

  std::map<std::string, std::shared_ptr<FakeApi>> members_;
  std::set<std::string> silent_;
  Hook hook_;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  std::size_t open_ = 0;
  std::size_t most_ = 0;
};

}  // namespace fleetadm::testkit
