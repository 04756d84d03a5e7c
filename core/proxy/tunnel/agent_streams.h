// The requests that are on the way on an agent's connection, each a stream of HTTP/2's: bytes in, bytes out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nghttp2/nghttp2.h>
#include <string>
#include <string_view>
#include <vector>

#include "core/proxy/hop/hop.h"
#include "core/proxy/tunnel/tunnel_body.h"
#include "core/proxy/tunnel/tunnel_limits.h"
#include "core/proxy/tunnel/tunnel_stream.h"
#include "core/serve/http/http2_output.h"
#include "core/serve/http/protocol.h"
#include "kubeclient/http2/http2_session.h"

namespace fleetadm::proxy {

/// I/O thread only. A part of its owner.
class AgentStreams final : public TunnelBody::Source {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  /// It is told while nghttp2 is at work, but for settle(): its calls to others go by later().
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Itself, of which the streams are a part.
    virtual std::shared_ptr<void> self() = 0;
    virtual Error broken(std::string_view how) const = 0;
    /// The agent takes no more requests.
    virtual void agent_leaves() = 0;
    /// The agent has taken nothing of a request.
    virtual void not_taken(serve::HttpRequest request, Hop::Done done) = 0;
    /// There is one stream less.
    virtual void stream_over() = 0;
    /// nghttp2 is not at work, and run_later() is due.
    virtual void settle() = 0;
  };

  AgentStreams(serve::ProtocolHost host, const TunnelLimits& limits, Owner& owner);

  // Requests:
  bool takes_requests() const { return !failed_ && nghttp2_session_check_request_allowed(session_.get()) != 0; }
  bool has_free_stream() const;
  /// False: the numbers of streams are used up, and request and done are as they were.
  bool begin(serve::HttpRequest& request, Hop::Done& done, SteadyTime now);
  std::size_t size() const { return streams_.size(); }
  bool waits_for_answers() const;
  /// Requests without an answer end with the error: all of them, or those that are late.
  void refuse_unanswered(const Error& why);
  void refuse_late(SteadyTime now, const Error& why);
  /// The connection is gone.
  void cut_all(const Error& why);

  // Bytes:
  void feed(std::string_view bytes);
  void output(std::string& into, std::size_t most);
  bool finished() const;
  void ping();
  /// No more requests come.
  void say_goodbye();
  /// Every half second or so.
  void tick(SteadyTime now);
  /// What an idle connection does not need, where it is one.
  void give_memory_back();
  /// There is something to send.
  void flush() { host_.flush(); }
  void break_off(std::string_view why);
  bool failed() const { return failed_; }
  /// Why; empty: it has not failed.
  const std::string& why() const { return why_; }

  // Calls to others, once nghttp2 is not at work:
  void later(std::function<void()> task) { later_.push_back(std::move(task)); }
  bool has_later() const { return !later_.empty(); }
  void run_later();

  // Of TunnelBody::Source.
  void consumed(std::int32_t stream, std::size_t bytes) override;
  void dropped(std::int32_t stream) override;
  void send(std::int32_t stream, std::string_view bytes) override;
  bool can_send(std::int32_t stream) const override;

 private:
  static const nghttp2_session_callbacks* callbacks();
  int on_header(const nghttp2_frame* frame, std::string_view name, std::string_view value);
  int on_frame(const nghttp2_frame* frame);
  void on_head(std::int32_t id, TunnelStream& stream);
  int on_data(std::int32_t id, std::string_view data);
  ssize_t on_frame_size(std::uint32_t peer_takes) { return output_.size_of_frame(peer_takes); }
  ssize_t on_read(std::int32_t id, std::size_t size, std::uint32_t* flags);
  int on_send(std::int32_t id, const std::uint8_t* head, std::size_t count);
  int on_not_sent(const nghttp2_frame* frame);
  void on_closed(std::int32_t id, std::uint32_t error);
  bool is_flood(const nghttp2_frame* frame);
  void leave(std::int32_t id);
  void refuse(std::int32_t id, TunnelStream& stream, Error why);
  void resume(std::int32_t id);
  void end_body(const TunnelStream& stream, bool whole);

  serve::ProtocolHost host_;
  const TunnelLimits limits_;
  Owner& owner_;
  std::map<std::int32_t, TunnelStream> streams_;
  serve::Http2Output output_;
  kube::Http2Session session_;
  std::vector<std::function<void()>> later_;
  std::vector<std::function<void()>> spare_later_;  // none: the room of the last ones
  const void* woken_ = nullptr;                     // the body that the last of them wakes, if it does
  std::size_t control_frames_ = 0;                  // in this period
  SteadyTime period_;
  bool failed_ = false;
  std::string why_;
};

}  // namespace fleetadm::proxy
