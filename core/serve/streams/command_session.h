// One exec or attach: moves bytes between a client's channels and what runs, until that ends or the client goes.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/serve/streams/channel_link.h"
#include "core/serve/streams/exec_target.h"
#include "core/serve/streams/stream_session.h"

namespace fleetadm::serve {

struct CommandSessionLimits {
  SessionTimes times = {};
  std::chrono::milliseconds open = std::chrono::seconds(30);  // for the client to open its channels
  std::size_t waiting = 64 * 1024;                            // bytes that what runs has not taken yet
};

class CommandSession final : public StreamSession, private ChannelLink::Sink {
 public:
  CommandSession(std::unique_ptr<ChannelLink> link, std::unique_ptr<ExecTarget> end, const ChannelsWanted& wanted,
                 const CommandSessionLimits& limits = {});

  void begin(const WatchDescriptor& watch) override;
  bool take(std::string_view bytes) override;
  bool takes() const override;

 private:
  void on_data(Channel channel, std::string_view bytes) override;
  void on_end(Channel channel) override;
  void resize();
  void push_input();
  bool pull(Channel channel, std::size_t most);
  void advance(std::size_t most, Steady::time_point now) override;
  std::string& output() override { return link_->output(); }
  void keep_alive() override { link_->keep_alive(); }

  std::unique_ptr<ChannelLink> link_;
  std::unique_ptr<ExecTarget> end_;
  const ChannelsWanted wanted_;
  const CommandSessionLimits limits_;
  std::string input_;  // that was not taken yet
  bool input_ended_ = false;
  bool input_end_told_ = false;
  std::string sizes_;  // what came on kResize, up to a whole one
  std::string piece_;
  bool output_over_ = false;
  bool errors_over_ = false;
};

}  // namespace fleetadm::serve
