// A container's output as the body of an answer: a part of a file, from its last lines on where asked, followed while it grows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::sandbox {

struct LogPart {
  std::filesystem::path file;
  std::uint64_t begin = 0;
  std::optional<std::uint64_t> end;          // none: as far as the file goes
  std::optional<std::uint64_t> tail_lines;   // only the last ones
  std::optional<std::uint64_t> limit_bytes;  // of the answer
  /// Empty: what is there now. Else asked whenever all was sent: where the output ends, once that is known.
  std::function<std::optional<std::uint64_t>()> end_of_followed;
};

/// Where the last `lines` lines of [begin, end) of a file start. A last line without its newline counts as one.
Result<std::uint64_t> start_of_tail(const std::filesystem::path& file, std::uint64_t begin, std::uint64_t end,
                                    std::uint64_t lines);

/// A file that does not exist is an output of nothing so far.
class LogBody final : public serve::BodyStream {
 public:
  static Result<std::shared_ptr<LogBody>> open(LogPart part);
  More read(std::string& into, std::size_t most) override;
  /// Nobody wakes it: the server looks twice a second.
  void on_ready(std::function<void()>) override {}

 private:
  LogBody() = default;

  LogPart part_;
  std::ifstream in_;
  std::uint64_t at_ = 0;
};

}  // namespace fleetadm::sandbox
