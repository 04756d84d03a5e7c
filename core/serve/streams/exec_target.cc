#include "core/serve/streams/exec_target.h"

#include <utility>

namespace fleetadm::serve {
namespace {

class FailedEnd final : public ExecTarget {
 public:
  explicit FailedEnd(std::string message) : message_(std::move(message)) {}
  void begin(const WatchDescriptor&) override {}
  std::size_t take_input(std::string_view bytes) override { return bytes.size(); }
  void end_input() override {}
  void resize(int, int) override {}
  BodyStream::More read(Channel, std::string&, std::size_t) override { return BodyStream::More::kEnd; }
  Json outcome() override { return internal_error_status(message_); }

 private:
  const std::string message_;
};

}  // namespace

Json succeeded_status() { return {{"metadata", Json::object()}, {"status", "Success"}}; }

Json exit_status(int code) {
  if (code == 0) return succeeded_status();
  const std::string number = std::to_string(code);
  return {{"metadata", Json::object()},
          {"status", "Failure"},
          {"message", "command terminated with non-zero exit code: exit status " + number},
          {"reason", "NonZeroExitCode"},
          {"details", {{"causes", Json::array({{{"reason", "ExitCode"}, {"message", number}}})}}}};
}

Json internal_error_status(const std::string& message) {
  return {{"metadata", Json::object()},
          {"status", "Failure"},
          {"message", "Internal error occurred: " + message},
          {"reason", "InternalError"},
          {"details", {{"causes", Json::array({{{"message", message}}})}}},
          {"code", 500}};
}

std::unique_ptr<ExecTarget> make_failed_end(std::string message) { return std::make_unique<FailedEnd>(std::move(message)); }

}  // namespace fleetadm::serve
