#include "kubeclient/stream/command_stream.h"

#include <algorithm>
#include <charconv>

namespace fleetadm::kube {
namespace {

constexpr std::size_t kMaxInputMessage = std::size_t{32} * 1024;
constexpr std::size_t kMaxUnsentInput = std::size_t{256} * 1024;
constexpr std::size_t kMaxStatusText = std::size_t{64} * 1024;

}  // namespace

CommandStream::CommandStream(OpenedStream stream, std::string who)
    : connection_(std::move(stream.connection)), half_close_(stream.protocol == kChannelsV5), cluster_(std::move(who)) {}

Result<std::unique_ptr<CommandStream>> CommandStream::open(const RestConfig& config, const Request& request) {
  FLEETADM_TRY(OpenedStream stream, open_websocket(config, request, {kChannelsV5, kChannelsV4}));
  return std::unique_ptr<CommandStream>(new CommandStream(std::move(stream), config.name));
}

Status CommandStream::push(Duration patience) {
  std::string& output = frames_.output();
  if (output.empty() && !connection_->unsent()) return {};
  FLEETADM_TRY(const std::size_t taken, connection_->send(output, patience));
  output.erase(0, taken);
  return {};
}

Result<std::size_t> CommandStream::send_input(std::string_view bytes, Duration patience) {
  if (input_ended_ || over_) return fail(Category::kUsage, "the command takes no more input");
  std::size_t taken = 0;
  while (true) {
    // What waits is bounded: more is taken when that has gone.
    if (frames_.output().size() >= kMaxUnsentInput || taken == bytes.size()) {
      FLEETADM_CHECK(push(patience));
      if (taken == bytes.size() || frames_.output().size() >= kMaxUnsentInput) return taken;
    }
    const auto piece = bytes.substr(taken, kMaxInputMessage);
    const char head = static_cast<char>(Channel::kInput);
    frames_.send({&head, 1}, piece);
    taken += piece.size();
  }
}

Status CommandStream::end_input() {
  if (input_ended_) return {};
  if (!half_close_) return fail(Category::kUnsupported, "the server cannot be told the end of the input");
  const std::string message = {static_cast<char>(kEndOfChannel), static_cast<char>(Channel::kInput)};
  frames_.send(message);
  input_ended_ = true;
  return push(Duration::zero());
}

Status CommandStream::resize(int columns, int rows) {
  if (over_) return {};
  const char head = static_cast<char>(Channel::kResize);
  frames_.send({&head, 1}, dump_json({{"Width", columns}, {"Height", rows}}));
  return push(Duration::zero());
}

WebSocketClose CommandStream::take(const WebSocketPiece& piece) {
  if (piece.text) return WebSocketClose::kUnsupported;
  if (piece.begins) channel_.reset();
  std::string_view bytes = piece.bytes;
  if (!channel_ && !bytes.empty()) {
    channel_ = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
  }
  if (!channel_ || bytes.empty()) return WebSocketClose::kNone;
  if (*channel_ == static_cast<std::uint8_t>(Channel::kStatus)) {
    if (status_text_.size() + bytes.size() > kMaxStatusText) return WebSocketClose::kTooBig;
    status_text_ += bytes;
  } else if (*channel_ == static_cast<std::uint8_t>(Channel::kOutput) ||
             *channel_ == static_cast<std::uint8_t>(Channel::kErrors)) {
    pieces_.push_back({static_cast<Channel>(*channel_), std::string(bytes)});
  }
  return WebSocketClose::kNone;
}

Status CommandStream::pull(Duration patience) {
  const auto received = connection_->receive(input_, patience);
  bool ended = !received;
  if (received && *received) {
    auto refused = WebSocketClose::kNone;
    const bool more = frames_.feed(std::exchange(input_, {}), [&](const WebSocketPiece& piece) { return refused = take(piece); });
    ended = !more;
    static_cast<void>(push(Duration::zero()));  // pongs, and the answer to a close; a peer that is gone is told of below
  }
  if (!ended) return {};
  over_ = true;
  if (auto status = parse_json(status_text_); status && status->is_object()) {
    status_ = std::move(*status);
    return {};
  }
  Error error =
      received ? fail(Category::kInvalid, "the server ended the stream without the command's outcome").value() : received.error();
  return fail(error.with_cluster(cluster_));
}

Result<std::optional<CommandStream::Piece>> CommandStream::next(Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + std::min<Duration>(patience, std::chrono::hours(24));
  while (pieces_.empty() && !over_) {
    const auto left = std::chrono::duration_cast<Duration>(deadline - std::chrono::steady_clock::now());
    FLEETADM_CHECK(push(Duration::zero()));
    // Input that waits to be sent is looked after meanwhile.
    const bool waiting = !frames_.output().empty() || connection_->unsent();
    const Duration most = waiting ? std::chrono::milliseconds(20) : std::chrono::hours(24);
    FLEETADM_CHECK(pull(std::clamp<Duration>(left, Duration::zero(), most)));
    if (left <= Duration::zero()) break;
  }
  if (pieces_.empty()) return std::nullopt;
  Piece piece = std::move(pieces_.front());
  pieces_.pop_front();
  return piece;
}

std::optional<int> CommandStream::exit_code() const {
  if (!status_.is_object()) return std::nullopt;
  const auto text = [](const Json& object, const char* key) {
    const auto at = object.find(key);
    return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  if (text(status_, "status") == "Success") return 0;
  if (text(status_, "reason") != "NonZeroExitCode") return std::nullopt;
  const auto details = status_.find("details");
  if (details == status_.end() || !details->is_object() || !details->contains("causes")) return std::nullopt;
  for (const Json& cause : (*details)["causes"]) {
    if (!cause.is_object() || text(cause, "reason") != "ExitCode") continue;
    const std::string message = text(cause, "message");
    int code = 0;
    const auto [end, wrong] = std::from_chars(message.data(), message.data() + message.size(), code);
    if (wrong == std::errc() && end == message.data() + message.size()) return code;
  }
  return std::nullopt;
}

}  // namespace fleetadm::kube
