// One exec or attach: moves bytes between a client's channels and what runs, until that ends or the client goes.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "core/sandbox/http/upgrade.h"
#include "core/sandbox/streams/channel_link.h"
#include "core/sandbox/streams/remote_end.h"

namespace fleetadm::sandbox {

struct CommandSessionLimits {
  std::chrono::milliseconds open = std::chrono::seconds(30);        // for the client to open its channels
  std::chrono::milliseconds leave = std::chrono::seconds(5);        // for the client to say goodbye
  std::chrono::milliseconds idle = std::chrono::hours(4);           // nothing comes or goes; as kubelets have it
  std::chrono::milliseconds keep_alive = std::chrono::seconds(30);  // something is sent that often
  std::size_t waiting = 64 * 1024;                                  // bytes that what runs has not taken yet
};

class CommandSession final : public UpgradedStream, private ChannelLink::Sink {
 public:
  CommandSession(std::unique_ptr<ChannelLink> link, std::unique_ptr<RemoteEnd> end, const ChannelsWanted& wanted,
                 const CommandSessionLimits& limits = {});

  void begin(const WatchDescriptor& watch) override;
  bool take(std::string_view bytes) override;
  bool takes() const override;
  More read(std::string& into, std::size_t most) override;
  void on_ready(std::function<void()> wake) override;

 private:
  using Steady = std::chrono::steady_clock;

  void on_data(Channel channel, std::string_view bytes) override;
  void on_end(Channel channel) override;
  void resize();
  void push_input();
  bool pull(Channel channel, std::size_t most);
  void advance(std::size_t most, Steady::time_point now);

  std::unique_ptr<ChannelLink> link_;
  std::unique_ptr<RemoteEnd> end_;
  const ChannelsWanted wanted_;
  const CommandSessionLimits limits_;
  std::string input_;  // that was not taken yet
  bool input_ended_ = false;
  bool input_end_told_ = false;
  std::string sizes_;  // what came on kResize, up to a whole one
  std::string piece_;
  bool output_over_ = false;
  bool errors_over_ = false;
  bool over_ = false;
  Steady::time_point began_;
  Steady::time_point moved_;  // something came or went
  Steady::time_point sent_;
  std::optional<Steady::time_point> leave_by_;
};

}  // namespace fleetadm::sandbox
