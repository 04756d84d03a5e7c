#include "kubeclient/transport/tls_dial.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <utility>

#include "kubeclient/transport/request_options.h"

namespace fleetadm::kube {

TlsDial::TlsDial(std::shared_ptr<EpollLoop> loop, const std::string& host, const std::string& port, TlsPeer peer,
                 Credentials credentials, Done done)
    : loop_(std::move(loop)),
      peer_(std::move(peer)),
      credentials_(std::move(credentials)),
      done_(std::move(done)),
      multi_(CurlMulti::make(loop_)),
      easy_(curl_easy_init(), &curl_easy_cleanup) {
  CurlFailure late;
  late.code = CURLE_OPERATION_TIMEDOUT;
  fail_in(std::chrono::milliseconds(kConnectTimeoutMs), std::move(late));
  CURL* const easy = easy_.get();
  // No HTTP is spoken, and TLS is ours: the scheme stands for a bare connection.
  curl_easy_setopt(easy, CURLOPT_URL, ("http://" + host + ":" + port).c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
  curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // a hanging resolver must not hold the thread
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &harden_socket);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail_.data());
  multi_->add(
      easy, [this](CURLcode code) { on_connected(code); }, [this](CURLcode) { take_socket(); });
}

TlsDial::~TlsDial() {
  if (timer_ != 0) loop_->cancel(timer_);
  if (stream_) loop_->unwatch(stream_->descriptor());
  multi_->remove(easy_.get());
}

/// libcurl closes its own descriptor of the connection once the handle leaves.
void TlsDial::take_socket() {
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(easy_.get(), CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK || socket == CURL_SOCKET_BAD) return;
  loop_->unwatch(socket);  // the loop must not hear of it by a descriptor that is gone
  socket_ = OwnedFd(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
}

void TlsDial::fail_in(Duration delay, CurlFailure failure) {
  if (timer_ != 0) loop_->cancel(timer_);
  timer_ = loop_->after(delay, [this, failure = std::move(failure)] {
    timer_ = 0;
    end(tl::unexpected(failure));
  });
}

void TlsDial::on_connected(CURLcode code) {
  if (code != CURLE_OK) {
    CurlFailure failure = failure_of(easy_.get(), code, detail_.data());
    failure.connected = false;
    return fail_in({}, std::move(failure));
  }
  if (!socket_) {
    CurlFailure failure;
    failure.code = CURLE_COULDNT_CONNECT;
    failure.detail = "its socket cannot be taken over";
    return fail_in({}, std::move(failure));
  }
  auto stream = TlsStream::make(std::move(socket_), peer_, credentials_);
  if (!stream) return fail_in({}, std::move(stream.error()));
  stream_.emplace(std::move(*stream));
  step();
}

void TlsDial::step() {
  const auto watch = [this](std::uint32_t events) {
    loop_->watch(stream_->descriptor(), events, [this](std::uint32_t) { step(); });
  };
  switch (stream_->handshake()) {
    case TlsStream::Step::kWantsRead: return watch(EPOLLIN);
    case TlsStream::Step::kWantsWrite: return watch(EPOLLOUT);
    case TlsStream::Step::kFailed: return end(tl::unexpected(stream_->failure()));
    case TlsStream::Step::kDone: break;
  }
  loop_->unwatch(stream_->descriptor());
  Outcome outcome(std::move(*stream_));
  stream_.reset();
  end(std::move(outcome));
}

void TlsDial::end(Outcome outcome) {
  const auto done = std::exchange(done_, nullptr);
  if (done) done(std::move(outcome));
}

}  // namespace fleetadm::kube
