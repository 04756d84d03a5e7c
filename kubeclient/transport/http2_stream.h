// One request over HTTP/2: it waits in its pool, is sent on a connection, and takes the answer. I/O thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kubeclient/transport/gunzip.h"
#include "kubeclient/transport/wire.h"

namespace fleetadm::kube {

class Http2Connection;
class Http2Pool;

class Http2Stream final : public Wire {
 public:
  Http2Stream(std::shared_ptr<Http2Pool> pool, const Outgoing& request, WireEvents& events);
  ~Http2Stream() override;
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;

  const Outgoing& request() const { return request_; }

  // Of the connection.
  void on_connection(Http2Connection* connection, std::int32_t id);
  std::int32_t id() const { return id_; }
  void note_sent() { sent_ = true; }
  void note_whole() { whole_ = true; }
  /// False: the answer is not to be had.
  bool take_field(std::string_view name, std::string_view value);
  bool end_head(bool last);
  bool take_data(std::string_view data);
  /// The next piece of the body; true at its end.
  bool next_body(std::span<char> into, std::size_t& count);

  /// It is over; `failure` nullopt: as the server ended it. May destroy it.
  void end(std::optional<CurlFailure> failure);
  /// The pool's server does not speak HTTP/2. May destroy it.
  void refuse() { events_.take_refusal(); }
  /// The connection is gone under it: whether it can be sent once more without harm. `unprocessed`: the server says that it has
  /// not looked at it. `reused`: the connection had carried others before.
  bool may_repeat(bool unprocessed, bool reused);

 private:
  bool deliver(std::string_view data);

  const std::shared_ptr<Http2Pool> pool_;
  const Outgoing& request_;
  WireEvents& events_;
  Http2Connection* connection_ = nullptr;
  std::int32_t id_ = 0;
  std::uint64_t timer_ = 0;  // of its deadline
  bool sent_ = false;        // its head, on this connection
  int repeats_ = 0;
  std::size_t body_sent_ = 0;
  int status_ = 0;
  bool answered_ = false;  // the final head is told
  bool whole_ = false;     // the server has sent all of it
  AnswerHeaders headers_;
  std::unique_ptr<Gunzip> gunzip_;
  std::optional<CurlFailure> failure_;  // found in the answer
};

}  // namespace fleetadm::kube
