// What exec and attach are about: a command that was started for the session, or a container's own process.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/serve/http/upgrade.h"
#include "core/serve/streams/channel_link.h"
#include "kubeclient/base/json.h"

namespace fleetadm::serve {

/// All calls come from the server's I/O thread and must not block.
class ExecTarget {
 public:
  virtual ~ExecTarget() = default;
  virtual void begin(const WatchDescriptor& watch) = 0;
  /// How many of the bytes it took; fewer than all where the rest must wait (output is asked for when it can go on).
  virtual std::size_t take_input(std::string_view bytes) = 0;
  /// There will be no more input; all of it was taken.
  virtual void end_input() = 0;
  virtual void resize(int columns, int rows) = 0;
  /// Of kOutput or kErrors: appends up to `most` bytes. kEnd: nothing more will come.
  virtual BodyStream::More read(Channel channel, std::string& into, std::size_t most) = 0;
  /// How it ended, as a metav1.Status; asked once both outputs are at their end.
  virtual Json outcome() = 0;
};

/// The Status on the status channel (docs/reference/kubernetes-streams.md#channels).
Json succeeded_status();
/// 0 is a success.
Json exit_status(int code);
/// 500 with kubelets' words.
Json internal_error_status(const std::string& message);

/// Something that cannot run: it has no output, and ends with internal_error_status.
std::unique_ptr<ExecTarget> make_failed_end(std::string message);

}  // namespace fleetadm::serve
