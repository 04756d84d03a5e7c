#include "kubeclient/transport/curl_multi.h"

#include <algorithm>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace fleetadm::kube {
namespace {

constexpr auto kSilence = std::chrono::seconds(20);

}  // namespace

std::shared_ptr<CurlMulti> CurlMulti::make(std::shared_ptr<EpollLoop> loop) {
  auto inner = std::make_shared<CurlMulti>(Private{}, loop);
  auto* raw = inner.get();
  // Sockets and timers belong to the I/O thread, so the last reference is carried there.
  return {raw, [inner = std::move(inner), loop = std::move(loop)](CurlMulti*) mutable {
            if (loop->on_thread()) {
              inner.reset();
              return;
            }
            loop->post([last = std::move(inner)]() mutable { last.reset(); });
          }};
}

CurlMulti::CurlMulti(Private, std::shared_ptr<EpollLoop> loop) : loop_(std::move(loop)) {}

void CurlMulti::make_handle() {
  multi_.reset(curl_multi_init());
  auto* multi = multi_.get();
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &CurlMulti::on_socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &CurlMulti::on_timer);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 100L);
  // Idle connections that are kept: one is enough for a client that speaks now and then.
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 8L);
}

CurlMulti::~CurlMulti() {
  for (auto& [easy, transfer] : transfers_) {
    curl_multi_remove_handle(multi_.get(), easy);
  }
  transfers_.clear();
  multi_.reset();  // closes the connections, which still calls on_socket
  if (timer_ != 0) loop_->cancel(timer_);
}

void CurlMulti::add(CURL* easy, Done done, Done before_leaving) {
  if (!multi_) make_handle();
  transfers_.emplace(easy, Transfer{std::move(done), std::move(before_leaving)});
  bound_connections();
  if (curl_multi_add_handle(multi_.get(), easy) != CURLM_OK) {
    auto node = transfers_.extract(easy);
    node.mapped().done(CURLE_FAILED_INIT);
  }
}

void CurlMulti::remove(CURL* easy) {
  if (transfers_.erase(easy) == 0) return;
  curl_multi_remove_handle(multi_.get(), easy);
}

void CurlMulti::unanswered(std::chrono::steady_clock::time_point now) {
  if (one_per_stream_) return;  // libcurl has closed the request's connection
  if (!silent_since_) silent_since_ = now;
  if (now - *silent_since_ < kSilence) return;
  silent_since_.reset();
  // libcurl reads their end, and tells all streams.
  for (const curl_socket_t fd : sockets_) ::shutdown(fd, SHUT_RDWR);
}

void CurlMulti::learned_version(long curl_http_version) {
  const bool one_per_stream = curl_http_version == CURL_HTTP_VERSION_1_0 || curl_http_version == CURL_HTTP_VERSION_1_1;
  if (one_per_stream == one_per_stream_) return;
  one_per_stream_ = one_per_stream;
  // Called inside libcurl's callbacks: the limit is moved, and waiting transfers are woken, right after.
  loop_->post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->bound_connections();
    // Transfers that wait for a connection are looked at again whenever a handle leaves.
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> nudge(curl_easy_init(), &curl_easy_cleanup);
    if (nudge && curl_multi_add_handle(self->multi_.get(), nudge.get()) == CURLM_OK) {
      curl_multi_remove_handle(self->multi_.get(), nudge.get());
    }
  });
}

void CurlMulti::bound_connections() {
  // Without a bound libcurl dials a connection for every stream that waits for a multiplexed one.
  const long wanted = one_per_stream_ ? 0L : std::max(4L, 3L + static_cast<long>(transfers_.size()) / 50L);
  if (wanted == connections_) return;
  connections_ = wanted;
  curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, wanted);
}

int CurlMulti::on_socket(CURL*, curl_socket_t fd, int what, void* self_pointer, void*) {
  auto* self = static_cast<CurlMulti*>(self_pointer);
  if (what == CURL_POLL_REMOVE) {
    self->sockets_.erase(fd);
    self->loop_->unwatch(fd);
    return 0;
  }
  self->sockets_.insert(fd);
  std::uint32_t events = 0;
  if ((what & CURL_POLL_IN) != 0) events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) events |= EPOLLOUT;
  self->loop_->watch(fd, events, [weak = self->weak_from_this(), fd](std::uint32_t ready) {
    const auto alive = weak.lock();
    if (!alive) return;
    int mask = 0;
    if ((ready & (EPOLLIN | EPOLLHUP)) != 0) mask |= CURL_CSELECT_IN;
    if ((ready & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
    if ((ready & EPOLLERR) != 0) mask |= CURL_CSELECT_ERR;
    alive->act(fd, mask);
  });
  return 0;
}

int CurlMulti::on_timer(CURLM*, long timeout_ms, void* self_pointer) {
  auto* self = static_cast<CurlMulti*>(self_pointer);
  if (self->timer_ != 0) self->loop_->cancel(std::exchange(self->timer_, 0));
  if (timeout_ms < 0) return 0;
  self->timer_ = self->loop_->after(std::chrono::milliseconds(timeout_ms), [weak = self->weak_from_this()] {
    const auto alive = weak.lock();
    if (!alive) return;
    alive->timer_ = 0;
    alive->act(CURL_SOCKET_TIMEOUT, 0);
  });
  return 0;
}

void CurlMulti::act(curl_socket_t fd, int mask) {
  int running = 0;
  curl_multi_socket_action(multi_.get(), fd, mask, &running);
  if (!reading_again_ && !one_per_stream_ && std::exchange(delivered_, false)) read_soon();
  reap();
}

void CurlMulti::read_soon() {
  reading_again_ = true;
  loop_->post([weak = weak_from_this()] {
    if (const auto alive = weak.lock()) alive->read_again();
  });
}

// libcurl 7.88 stops reading an HTTP/2 connection whose next frame does not fit into its transfer's buffer (16 KiB), or belongs
// to another transfer than the one it reads for, and goes on with what it holds already only when the socket is readable once
// more (cf_h2_data_pending compares the wrong way round). The end of a list would wait for the next event, so after whatever came
// the connections are read until nothing comes.
void CurlMulti::read_again() {
  const std::vector<curl_socket_t> sockets(sockets_.begin(), sockets_.end());  // acting opens and closes some
  for (const curl_socket_t fd : sockets) {
    if (sockets_.contains(fd)) act(fd, CURL_CSELECT_IN);
  }
  reading_again_ = false;
  if (std::exchange(delivered_, false)) read_soon();
}

void CurlMulti::reap() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* easy = message->easy_handle;
    const CURLcode code = message->data.result;
    auto node = transfers_.extract(easy);
    if (!node.empty() && node.mapped().before_leaving) node.mapped().before_leaving(code);
    curl_multi_remove_handle(multi_.get(), easy);
    if (!node.empty()) node.mapped().done(code);
  }
}

}  // namespace fleetadm::kube
