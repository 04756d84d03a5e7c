// The channels of exec and attach (docs/reference/kubernetes-streams.md#channels), whichever framing carries them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kubeclient/stream/channels.h"

namespace fleetadm::serve {

using kube::Channel;

/// The channels that a request asks for; the status is always there, a terminal's size where there is a terminal.
struct ChannelsWanted {
  bool input = false;
  bool output = false;
  bool errors = false;
  bool terminal = false;
};

class ChannelLink {
 public:
  /// What the client sends.
  class Sink {
   public:
    virtual void on_data(Channel channel, std::string_view bytes) = 0;
    virtual void on_end(Channel channel) = 0;

   protected:
    ~Sink() = default;
  };

  virtual ~ChannelLink() = default;
  /// False: the client is gone, or broke the protocol; the last of what is to be sent is in output().
  virtual bool feed(std::string_view bytes, Sink& sink) = 0;
  /// All that is wanted can be sent on.
  virtual bool ready() const = 0;
  virtual void send(Channel channel, std::string_view bytes) = 0;
  /// All was sent, on every channel. The client says goodbye then.
  virtual void finish() = 0;
  /// Sends something that a client answers.
  virtual void keep_alive() = 0;
  virtual std::string& output() = 0;
};

/// v5.channel.k8s.io and v4.channel.k8s.io: the first byte of a binary message is its channel. Only in v5 (`half_close`) can a
/// client end its input.
std::unique_ptr<ChannelLink> make_websocket_channels(const ChannelsWanted& wanted, bool half_close);
/// v4.channel.k8s.io over SPDY/3.1: a stream a channel, opened by the client.
std::unique_ptr<ChannelLink> make_spdy_channels(const ChannelsWanted& wanted);

}  // namespace fleetadm::serve
