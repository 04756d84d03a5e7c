#include "core/sandbox/streams/command_session.h"

#include <algorithm>
#include <utility>

namespace fleetadm::sandbox {
namespace {

constexpr std::size_t kOutputPiece = 32 * 1024;     // what clients read at a time
constexpr std::size_t kMostUnsent = 256 * 1024;     // answers to a client that sends and does not read
constexpr std::size_t kMostSizeText = 1024;         // {"Width":80,"Height":24}
constexpr std::int64_t kMostTerminalSize = 0xffff;  // columns or rows
constexpr int kMostRounds = 16;                     // output that nobody asked for fills nothing

}  // namespace

CommandSession::CommandSession(std::unique_ptr<ChannelLink> link, std::unique_ptr<RemoteEnd> end, const ChannelsWanted& wanted,
                               const CommandSessionLimits& limits)
    : link_(std::move(link)),
      end_(std::move(end)),
      wanted_(wanted),
      limits_(limits),
      began_(Steady::now()),
      moved_(began_),
      sent_(began_) {}

void CommandSession::begin(const WatchDescriptor& watch) { end_->begin(watch); }

// What runs wakes the connection by the descriptors that it watches.
void CommandSession::on_ready(std::function<void()>) {}

bool CommandSession::take(std::string_view bytes) {
  if (!over_ && !link_->feed(bytes, *this)) over_ = true;
  return !over_;
}

bool CommandSession::takes() const { return input_.size() < limits_.waiting && link_->output().size() < kMostUnsent; }

void CommandSession::on_data(Channel channel, std::string_view bytes) {
  if (leave_by_) return;
  moved_ = Steady::now();
  if (channel == Channel::kResize) {
    sizes_ += bytes;
    resize();
  } else if (channel == Channel::kInput && wanted_.input && !input_ended_) {
    input_ += bytes;
    push_input();
  }
}

void CommandSession::on_end(Channel channel) {
  if (channel != Channel::kInput || leave_by_) return;
  input_ended_ = true;
  push_input();
}

void CommandSession::resize() {
  for (auto end = sizes_.find('}'); end != std::string::npos; end = sizes_.find('}')) {
    const auto size = parse_json(std::string_view(sizes_).substr(0, end + 1));
    sizes_.erase(0, end + 1);
    if (!size) continue;
    const auto side = [&](const char* name) {
      return static_cast<int>(std::clamp<std::int64_t>(num(*size, {name}), 0, kMostTerminalSize));
    };
    end_->resize(side("Width"), side("Height"));
  }
  if (sizes_.size() > kMostSizeText) sizes_.clear();
}

void CommandSession::push_input() {
  if (!input_.empty()) input_.erase(0, end_->take_input(input_));
  if (input_.empty() && input_ended_ && !std::exchange(input_end_told_, true)) end_->end_input();
}

bool CommandSession::pull(Channel channel, std::size_t most) {
  bool& over = channel == Channel::kOutput ? output_over_ : errors_over_;
  const auto unsent = link_->output().size();
  if (over || unsent >= most) return false;
  piece_.clear();
  over = end_->read(channel, piece_, std::min(kOutputPiece, most - unsent)) == More::kEnd;
  if (piece_.empty()) return false;
  if (channel == Channel::kOutput ? wanted_.output : wanted_.errors) link_->send(channel, piece_);
  return true;
}

void CommandSession::advance(std::size_t most, Steady::time_point now) {
  push_input();
  if (!link_->ready()) {
    over_ = now - began_ > limits_.open;
    return;
  }
  bool more = !leave_by_;
  for (int round = 0; more && round < kMostRounds; ++round) {
    more = pull(Channel::kOutput, most);
    more = pull(Channel::kErrors, most) || more;
    if (more) moved_ = now;
  }
  if (!leave_by_ && output_over_ && errors_over_) {
    link_->send(Channel::kStatus, dump_json(end_->outcome()));
    link_->finish();
    leave_by_ = now + limits_.leave;
  }
  if (leave_by_ ? now >= *leave_by_ : now - moved_ > limits_.idle) over_ = true;
  if (!over_ && now - sent_ > limits_.keep_alive) {
    link_->keep_alive();
    sent_ = now;
  }
}

BodyStream::More CommandSession::read(std::string& into, std::size_t most) {
  const auto now = Steady::now();
  if (!over_) advance(most, now);
  auto output = std::exchange(link_->output(), {});
  if (output.empty()) return over_ ? More::kEnd : More::kLater;
  into += output;
  sent_ = now;
  return More::kYes;
}

}  // namespace fleetadm::sandbox
