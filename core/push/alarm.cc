#include "core/push/alarm.h"

#include <memory>
#include <utility>

namespace fleetadm::push {
namespace {

using Alarm = std::function<void()>;

constexpr int kUnauthorized = 401;

bool is_alarming(const Error& error) { return error.category != Category::kCancelled; }

class AlarmingSink final : public kube::StreamSink {
 public:
  AlarmingSink(std::shared_ptr<kube::StreamSink> next, Alarm alarm) : next_(std::move(next)), alarm_(std::move(alarm)) {}

  void on_response(int status, const std::map<std::string, std::string>& headers) override {
    if (status == kUnauthorized) alarm_();
    next_->on_response(status, headers);
  }
  void on_data(std::string_view chunk) override { next_->on_data(chunk); }
  void on_end(std::optional<Error> error) override {
    if (error && is_alarming(*error)) alarm_();
    next_->on_end(std::move(error));
  }

 private:
  const std::shared_ptr<kube::StreamSink> next_;
  const Alarm alarm_;
};

class AlarmingTransport final : public kube::Transport {
 public:
  AlarmingTransport(std::shared_ptr<kube::Transport> next, Alarm alarm) : next_(std::move(next)), alarm_(std::move(alarm)) {}

  Result<kube::Response> call(const kube::Request& request) override {
    auto answer = next_->call(request);
    if (answer ? answer->status == kUnauthorized : is_alarming(answer.error())) alarm_();
    return answer;
  }
  std::unique_ptr<kube::StreamHandle> stream(const kube::Request& request, std::shared_ptr<kube::StreamSink> sink) override {
    return next_->stream(request, std::make_shared<AlarmingSink>(std::move(sink), alarm_));
  }
  std::string address() const override { return next_->address(); }

 private:
  const std::shared_ptr<kube::Transport> next_;
  const Alarm alarm_;
};

}  // namespace

kube::Client with_alarm(const kube::Client& member, std::function<void()> alarm) {
  return {std::make_shared<AlarmingTransport>(member.transport(), std::move(alarm)),
          std::make_shared<kube::WriteGate>(member.gate()), member.cluster_name()};
}

}  // namespace fleetadm::push
