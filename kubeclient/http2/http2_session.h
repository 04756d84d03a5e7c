// What all sessions of nghttp2 need: an owner, callbacks that call members of a class, and fields in nghttp2's form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nghttp2/nghttp2.h>
#include <string_view>
#include <sys/types.h>

#include "kubeclient/http2/http2_memory.h"

namespace fleetadm::kube {

struct FreeHttp2Session {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};
using Http2Session = std::unique_ptr<nghttp2_session, FreeHttp2Session>;

/// The options of a session. Headers that were sent before are not kept: that would take 10 KiB at both ends of each of many
/// connections that are idle, and ids and dates are never the same.
class Http2Options {
 public:
  Http2Options() {
    nghttp2_option_new(&made_);
    nghttp2_option_set_max_deflate_dynamic_table_size(made_, 0);
  }
  ~Http2Options() { nghttp2_option_del(made_); }
  Http2Options(const Http2Options&) = delete;
  Http2Options& operator=(const Http2Options&) = delete;

  nghttp2_option* get() const { return made_; }

 private:
  nghttp2_option* made_ = nullptr;
};

/// `end` is what the callbacks are called with. The memory is this session's alone.
inline Http2Session make_http2_client(const nghttp2_session_callbacks* callbacks, void* end, const Http2Options& options,
                                      Http2Memory& memory) {
  nghttp2_session* made = nullptr;
  nghttp2_session_client_new3(&made, callbacks, end, options.get(), memory.allocator());
  memory.made();
  return Http2Session(made);
}
inline Http2Session make_http2_server(const nghttp2_session_callbacks* callbacks, void* end, const Http2Options& options,
                                      Http2Memory& memory) {
  nghttp2_session* made = nullptr;
  nghttp2_session_server_new3(&made, callbacks, end, options.get(), memory.allocator());
  memory.made();
  return Http2Session(made);
}

/// nghttp2 copies both, and writes to neither.
inline nghttp2_nv http2_field(std::string_view name, std::string_view value) {
  nghttp2_nv field{};  // without a flag of NO_COPY
  field.name = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(name.data()));
  field.value = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(value.data()));
  field.namelen = name.size();
  field.valuelen = value.size();
  return field;
}

/// The callbacks of sessions whose `end` is an End: each calls the member that is named.
template <class End>
class Http2Callbacks {
 public:
  Http2Callbacks() { nghttp2_session_callbacks_new(&made_); }

  /// int (const nghttp2_frame*), here and for all that take a frame alone
  template <auto kMember>
  Http2Callbacks& begin_headers() {
    nghttp2_session_callbacks_set_on_begin_headers_callback(made_, of_frame<kMember>);
    return *this;
  }
  /// int (const nghttp2_frame*, std::string_view name, std::string_view value)
  template <auto kMember>
  Http2Callbacks& header() {
    nghttp2_session_callbacks_set_on_header_callback(
        made_,
        [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
           const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* end) -> int {
          return (static_cast<End*>(end)->*kMember)(frame, text(name, name_size), text(value, value_size));
        });
    return *this;
  }
  template <auto kMember>
  Http2Callbacks& frame_received() {
    nghttp2_session_callbacks_set_on_frame_recv_callback(made_, of_frame<kMember>);
    return *this;
  }
  template <auto kMember>
  Http2Callbacks& frame_sent() {
    nghttp2_session_callbacks_set_on_frame_send_callback(made_, of_frame<kMember>);
    return *this;
  }
  template <auto kMember>
  Http2Callbacks& frame_not_sent() {
    nghttp2_session_callbacks_set_on_frame_not_send_callback(
        made_, [](nghttp2_session* session, const nghttp2_frame* frame, int, void* end) -> int {
          return of_frame<kMember>(session, frame, end);
        });
    return *this;
  }
  /// int (std::int32_t stream, std::string_view data)
  template <auto kMember>
  Http2Callbacks& data() {
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        made_,
        [](nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data, std::size_t size, void* end) -> int {
          return (static_cast<End*>(end)->*kMember)(stream, text(data, size));
        });
    return *this;
  }
  /// void (std::int32_t stream, std::uint32_t error)
  template <auto kMember>
  Http2Callbacks& closed() {
    nghttp2_session_callbacks_set_on_stream_close_callback(
        made_, [](nghttp2_session*, std::int32_t stream, std::uint32_t error, void* end) -> int {
          (static_cast<End*>(end)->*kMember)(stream, error);
          return 0;
        });
    return *this;
  }
  /// int (std::int32_t stream, const std::uint8_t* head, std::size_t count): of a body that is sent without a copy
  template <auto kMember>
  Http2Callbacks& send_data() {
    nghttp2_session_callbacks_set_send_data_callback(
        made_,
        [](nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head, std::size_t count, nghttp2_data_source*,
           void* end) -> int { return (static_cast<End*>(end)->*kMember)(frame->hd.stream_id, head, count); });
    return *this;
  }
  /// ssize_t (std::uint32_t peer_takes): how large the next frame of a body may be
  template <auto kMember>
  Http2Callbacks& frame_size() {
    nghttp2_session_callbacks_set_data_source_read_length_callback(
        made_,
        [](nghttp2_session*, std::uint8_t, std::int32_t, std::int32_t, std::int32_t, std::uint32_t peer_takes,
           void* end) -> ssize_t { return (static_cast<End*>(end)->*kMember)(peer_takes); });
    return *this;
  }

  /// They last as long as the process.
  const nghttp2_session_callbacks* keep() const { return made_; }

 private:
  static std::string_view text(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }
  template <auto kMember>
  static int of_frame(nghttp2_session*, const nghttp2_frame* frame, void* end) {
    return (static_cast<End*>(end)->*kMember)(frame);
  }

  nghttp2_session_callbacks* made_ = nullptr;
};

}  // namespace fleetadm::kube
