// A client's end of exec and attach, over a WebSocket (v5.channel.k8s.io, or v4).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"
#include "kubeclient/stream/channels.h"
#include "kubeclient/stream/open.h"
#include "kubeclient/stream/websocket.h"

namespace fleetadm::kube {

/// One thread at a time. Output is read when it is asked for, never ahead of that by more than one read (64 KiB): a command that
/// writes faster waits. The destructor closes the connection.
class CommandStream {
 public:
  struct Piece {
    Channel channel = Channel::kOutput;  // or kErrors
    std::string bytes;
  };

  /// `request` names the path (".../pods/p/exec") and the query (container, command, stdin, stdout, stderr, tty). A refusal is an
  /// Error with its status.
  static Result<std::unique_ptr<CommandStream>> open(const RestConfig& config, const Request& request);

  /// How much of it was taken within `patience` (zero: what goes at once). Nothing after end_input().
  Result<std::size_t> send_input(std::string_view bytes, Duration patience);
  /// The command reads an end of file. kUnsupported where the server speaks v4 only.
  Status end_input();
  /// Of the terminal. It goes out with the next send or next().
  Status resize(int columns, int rows);
  /// The next piece of output; nothing where none came within `patience`, or when it is over. kUnavailable where the connection
  /// broke off before the command's end was told; kInvalid where the server broke the protocol.
  Result<std::optional<Piece>> next(Duration patience);
  /// All was read, and the end was told.
  bool over() const { return over_ && pieces_.empty(); }
  /// How it ended: a metav1.Status; null until that was told.
  const Json& status() const { return status_; }
  /// 0 of a success, the command's code of a NonZeroExitCode; nothing where the status says neither.
  std::optional<int> exit_code() const;
  /// For poll(2), after next() without patience gave nothing.
  int descriptor() const { return connection_->descriptor(); }

 private:
  CommandStream(OpenedStream stream, std::string who);
  Status push(Duration patience);
  Status pull(Duration patience);
  WebSocketClose take(const WebSocketPiece& piece);

  const std::unique_ptr<UpgradedConnection> connection_;
  const bool half_close_;
  const std::string cluster_;
  WebSocketFrames frames_{StreamRole::kClient};
  std::string input_;  // that was read and is no frame yet
  std::deque<Piece> pieces_;
  std::optional<std::uint8_t> channel_;  // of the message that is being read
  std::string status_text_;
  Json status_;
  bool input_ended_ = false;
  bool over_ = false;
};

}  // namespace fleetadm::kube
