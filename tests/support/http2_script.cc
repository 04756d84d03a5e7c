#include "tests/support/http2_script.h"

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <csignal>
#include <list>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

#include "kubeclient/base/owned_fd.h"
#include "kubeclient/pki/openssl.h"

namespace fleetadm::testkit {
namespace {

constexpr std::size_t kLongestHead = 1024UL * 1024UL;
constexpr int kLook = 20;  // milliseconds between two looks at whether it is to stop

template <auto Free>
struct Releases {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using ServerContext = std::unique_ptr<SSL_CTX, Releases<SSL_CTX_free>>;
using ServerSsl = std::unique_ptr<SSL, Releases<SSL_free>>;

ServerContext make_server_context(const pki::KeyPair& pair) {
  ServerContext context(SSL_CTX_new(TLS_server_method()));
  const auto certificate = pki::read_certificate(pair.certificate);
  const auto key = pki::read_private_key(pair.key);
  SSL_CTX_use_certificate(context.get(), certificate->get());
  SSL_CTX_use_PrivateKey(context.get(), key->get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  SSL_CTX_set_alpn_select_cb(
      context.get(),
      [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned in_size, void*) {
        static constexpr std::array<unsigned char, 3> kOurs = {2, 'h', '2'};
        // OpenSSL's own signature has no const; it points into one of the two lists.
        const int found = SSL_select_next_proto(const_cast<unsigned char**>(out), size, kOurs.data(), kOurs.size(), in, in_size);
        return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
      },
      nullptr);
  return context;
}

nghttp2_nv nv_of(std::string_view name, std::string_view value) {
  nghttp2_nv field{};
  field.name = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(name.data()));  // copied by nghttp2
  field.value = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(value.data()));
  field.namelen = name.size();
  field.valuelen = value.size();
  return field;
}

}  // namespace

struct Http2Script::State {
  OwnedFd listener;
  int port = 0;
  ServerContext context;
  Script script;
  Options options;
  std::atomic<int> connections{0};
  std::atomic<int> pings{0};
  std::atomic<bool> stopping{false};
  std::mutex mutex;  // of the script
  std::list<std::thread> threads;
  std::thread acceptor;
};

namespace {

class Conversation final : public Http2Script::Session {
 public:
  Conversation(OwnedFd socket, ServerSsl ssl, int number, const Http2Script::Options& options, const Http2Script::Script& script,
               std::mutex& mutex, std::atomic<int>& pings)
      : socket_(std::move(socket)),
        ssl_(std::move(ssl)),
        number_(number),
        options_(options),
        script_(script),
        mutex_(mutex),
        pings_(pings) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* self) {
          auto& request = static_cast<Conversation*>(self)->requests_[frame->hd.stream_id];
          request.headers[{reinterpret_cast<const char*>(name), name_size}] = {reinterpret_cast<const char*>(value), value_size};
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size, void* self) {
          static_cast<Conversation*>(self)->requests_[id].body.append(reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
      static_cast<Conversation*>(self)->on_frame(*frame);
      return 0;
    });
    nghttp2_option* options_of_session = nullptr;
    nghttp2_option_new(&options_of_session);
    nghttp2_option_set_max_send_header_block_length(options_of_session, kLongestHead);
    nghttp2_session_server_new2(&session_, callbacks, this, options_of_session);
    nghttp2_option_del(options_of_session);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry limit{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.max_streams};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &limit, 1);
  }
  ~Conversation() override { nghttp2_session_del(session_); }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  void run(const std::atomic<bool>& stopping) {
    while (!stopping && !cut_) {
      if (!silent_ && !send()) return;
      if (cut_) return;
      pollfd waiting{socket_.get(), static_cast<short>(silent_ ? 0 : POLLIN), 0};
      if (SSL_pending(ssl_.get()) == 0 && ::poll(&waiting, 1, kLook) <= 0) continue;
      if (silent_) return;  // the client has closed it
      std::array<char, 16384> buffer;
      const int got = SSL_read(ssl_.get(), buffer.data(), buffer.size());
      if (got <= 0) return;
      if (nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(buffer.data()),
                                   static_cast<std::size_t>(got)) < 0)
        return;
      for (const auto& request : std::exchange(whole_, {})) {
        const std::scoped_lock lock(mutex_);
        script_(*this, request);
      }
    }
  }

  void answer(std::int32_t stream, int status, std::string body, Http2Script::Headers headers, bool end) override {
    std::vector<nghttp2_nv> fields;
    const std::string code = std::to_string(status);
    fields.push_back(nv_of(":status", code));
    for (const auto& [name, value] : headers) fields.push_back(nv_of(name, value));
    bodies_[stream] = {std::move(body), 0, end};
    nghttp2_data_provider provider{};
    provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* into, std::size_t size, std::uint32_t* flags,
                                nghttp2_data_source*, void* self) -> ssize_t {
      auto& from = static_cast<Conversation*>(self)->bodies_[id];
      const std::string_view rest = std::string_view(from.text).substr(from.sent, size);
      if (rest.empty() && !from.end) return NGHTTP2_ERR_DEFERRED;
      rest.copy(reinterpret_cast<char*>(into), rest.size());
      from.sent += rest.size();
      if (from.end && from.sent == from.text.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
      return static_cast<ssize_t>(rest.size());
    };
    nghttp2_submit_response(session_, stream, fields.data(), fields.size(), &provider);
  }
  void interim(std::int32_t stream, int status) override {
    const std::string code = std::to_string(status);
    const nghttp2_nv field = nv_of(":status", code);
    nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream, nullptr, &field, 1, nullptr);
  }
  void reset(std::int32_t stream, std::uint32_t code) override {
    send();  // what stands before
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, code);
  }
  void go_away(std::int32_t last) override {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
  }
  void cut() override {
    send();
    cut_ = true;
  }
  void fall_silent() override { silent_ = true; }

 private:
  struct Body {
    std::string text;
    std::size_t sent = 0;
    bool end = true;
  };

  void on_frame(const nghttp2_frame& frame) {
    if (frame.hd.type == NGHTTP2_PING && (frame.hd.flags & NGHTTP2_FLAG_ACK) == 0) ++pings_;
    if (frame.hd.type == NGHTTP2_RST_STREAM && options_.on_reset)
      options_.on_reset(frame.hd.stream_id, frame.rst_stream.error_code);
    const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!ends || (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA)) return;
    Http2Script::Request request = std::exchange(requests_[frame.hd.stream_id], {});
    request.connection = number_;
    request.stream = frame.hd.stream_id;
    if (X509* const peer = SSL_get0_peer_certificate(ssl_.get()))
      request.client_name = pki::read_name(*X509_get_subject_name(peer)).common_name;
    whole_.push_back(std::move(request));
  }

  bool send() {
    while (true) {
      const std::uint8_t* data = nullptr;
      const auto size = nghttp2_session_mem_send(session_, &data);
      if (size <= 0) return size == 0;
      if (SSL_write(ssl_.get(), data, static_cast<int>(size)) <= 0) return false;
    }
  }

  OwnedFd socket_;
  ServerSsl ssl_;
  int number_;
  const Http2Script::Options& options_;
  const Http2Script::Script& script_;
  std::mutex& mutex_;
  std::atomic<int>& pings_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Http2Script::Request> requests_;
  std::vector<Http2Script::Request> whole_;  // and not handed to the script yet
  std::map<std::int32_t, Body> bodies_;
  bool cut_ = false;
  bool silent_ = false;
};

}  // namespace

Http2Script::Http2Script(const pki::KeyPair& certificate, Script script, Options options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.script = std::move(script);
  state.options = std::move(options);
  state.context = make_server_context(certificate);
  state.listener = OwnedFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(state.listener.get(), reinterpret_cast<sockaddr*>(&address), size);
  ::listen(state.listener.get(), 64);
  ::getsockname(state.listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  state.port = ntohs(address.sin_port);
  state.acceptor = std::thread([&state] {
    sigset_t pipe{};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);  // its threads inherit it
    while (!state.stopping) {
      pollfd waiting{state.listener.get(), POLLIN, 0};
      if (::poll(&waiting, 1, kLook) <= 0) continue;
      OwnedFd socket(::accept4(state.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) continue;
      const int at_once = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
      const int number = ++state.connections;
      state.threads.emplace_back([&state, number, socket = std::move(socket)]() mutable {
        ServerSsl ssl(SSL_new(state.context.get()));
        SSL_set_fd(ssl.get(), socket.get());
        if (SSL_accept(ssl.get()) != 1) return;
        Conversation(std::move(socket), std::move(ssl), number, state.options, state.script, state.mutex, state.pings)
            .run(state.stopping);
      });
    }
  });
}

Http2Script::~Http2Script() {
  state_->stopping = true;
  state_->acceptor.join();
  for (auto& thread : state_->threads) thread.join();
}

std::string Http2Script::url() const { return "https://127.0.0.1:" + std::to_string(state_->port); }
int Http2Script::connections() const { return state_->connections; }
int Http2Script::pings() const { return state_->pings; }

}  // namespace fleetadm::testkit
