#include "core/serve/streams/command_session.h"

#include <algorithm>
#include <utility>

namespace fleetadm::serve {
namespace {

constexpr std::size_t kOutputPiece = 32 * 1024;    // what clients read at a time
constexpr std::size_t kMaxSizeText = 1024;         // {"Width":80,"Height":24}
constexpr std::int64_t kMaxTerminalSize = 0xffff;  // columns or rows
constexpr int kMaxRounds = 16;                     // output that nobody asked for fills nothing

}  // namespace

CommandSession::CommandSession(std::unique_ptr<ChannelLink> link, std::unique_ptr<ExecTarget> end, const ChannelsWanted& wanted,
                               const CommandSessionLimits& limits)
    : StreamSession(limits.times), link_(std::move(link)), end_(std::move(end)), wanted_(wanted), limits_(limits) {}

void CommandSession::begin(const WatchDescriptor& watch) { end_->begin(watch); }

bool CommandSession::take(std::string_view bytes) {
  if (!over() && !link_->feed(bytes, *this)) finish();
  return !over();
}

bool CommandSession::takes() const { return input_.size() < limits_.waiting && link_->output().size() < kMaxUnsent; }

void CommandSession::on_data(Channel channel, std::string_view bytes) {
  if (leaving()) return;
  moved(Steady::now());
  if (channel == Channel::kResize) {
    sizes_ += bytes;
    resize();
  } else if (channel == Channel::kInput && wanted_.input && !input_ended_) {
    input_ += bytes;
    push_input();
  }
}

void CommandSession::on_end(Channel channel) {
  if (channel != Channel::kInput || leaving()) return;
  input_ended_ = true;
  push_input();
}

void CommandSession::resize() {
  for (auto end = sizes_.find('}'); end != std::string::npos; end = sizes_.find('}')) {
    const auto size = parse_json(std::string_view(sizes_).substr(0, end + 1));
    sizes_.erase(0, end + 1);
    if (!size) continue;
    const auto side = [&](const char* name) {
      return static_cast<int>(std::clamp<std::int64_t>(num(*size, {name}), 0, kMaxTerminalSize));
    };
    end_->resize(side("Width"), side("Height"));
  }
  if (sizes_.size() > kMaxSizeText) sizes_.clear();
}

void CommandSession::push_input() {
  if (!input_.empty()) input_.erase(0, end_->take_input(input_));
  if (input_.empty() && input_ended_ && !std::exchange(input_end_told_, true)) end_->end_input();
}

bool CommandSession::pull(Channel channel, std::size_t most) {
  bool& ended = channel == Channel::kOutput ? output_over_ : errors_over_;
  const auto unsent = link_->output().size();
  if (ended || unsent >= most) return false;
  piece_.clear();
  ended = end_->read(channel, piece_, std::min(kOutputPiece, most - unsent)) == More::kEnd;
  if (piece_.empty()) return false;
  if (channel == Channel::kOutput ? wanted_.output : wanted_.errors) link_->send(channel, piece_);
  return true;
}

void CommandSession::advance(std::size_t most, Steady::time_point now) {
  push_input();
  if (!link_->ready()) {
    if (now - began() > limits_.open) finish();
    return;
  }
  bool more = !leaving();
  for (int round = 0; more && round < kMaxRounds; ++round) {
    more = pull(Channel::kOutput, most);
    more = pull(Channel::kErrors, most) || more;
    if (more) moved(now);
  }
  if (leaving() || !output_over_ || !errors_over_) return;
  link_->send(Channel::kStatus, dump_json(end_->outcome()));
  link_->finish();
  leave(now);
}

}  // namespace fleetadm::serve
