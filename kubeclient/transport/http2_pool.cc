#include "kubeclient/transport/http2_pool.h"

#include <algorithm>
#include <utility>

namespace fleetadm::kube {
namespace {

constexpr std::size_t kPerDial = 100;  // requests that wait for one connection

}  // namespace

std::shared_ptr<Http2Pool> Http2Pool::make(std::shared_ptr<EpollLoop> loop, Target target) {
  auto inner = std::make_shared<Http2Pool>(Private{}, loop, std::move(target));
  auto* raw = inner.get();
  // Sockets and timers belong to the I/O thread, so the last reference is carried there.
  return {raw, [inner = std::move(inner), loop = std::move(loop)](Http2Pool*) mutable {
            if (loop->on_thread()) {
              inner.reset();
              return;
            }
            loop->post([last = std::move(inner)]() mutable { last.reset(); });
          }};
}

Http2Pool::~Http2Pool() {
  for (const Line& line : lines_) line.connection->close();
}

std::unique_ptr<Http2Stream> Http2Pool::make_wire(const Outgoing& request, WireEvents& events) {
  return std::make_unique<Http2Stream>(shared_from_this(), request, events);
}

void Http2Pool::send(Http2Stream& stream) {
  if (begin(stream)) return;
  waiting_.push_back(&stream);
  dial_for(stream);
}

void Http2Pool::forget(const Http2Stream& stream) { std::erase(waiting_, &stream); }

bool Http2Pool::begin(Http2Stream& stream) {
  for (const Line& line : lines_) {
    if (line.certificate != stream.request().credentials.client_certificate) continue;
    if (line.connection->has_room() && line.connection->begin(stream)) return true;
  }
  return false;
}

void Http2Pool::take_back(Http2Stream& stream, const CurlFailure& why, bool unprocessed, bool reused) {
  if (stream.may_repeat(unprocessed, reused)) {
    waiting_.push_back(&stream);
  } else {
    stream.end(why);
  }
}

void Http2Pool::look_again() {
  // Called from within connections: what follows may make and end some.
  loop_->post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->serve_waiting();
  });
}

void Http2Pool::serve_waiting() {
  std::erase_if(lines_, [](const Line& line) { return line.connection->closed(); });
  for (std::size_t left = waiting_.size(); left > 0 && !waiting_.empty(); --left) {
    Http2Stream* const stream = waiting_.front();
    waiting_.pop_front();
    if (!begin(*stream)) waiting_.push_back(stream);
  }
  const std::string* last = nullptr;
  for (const Http2Stream* const stream : waiting_) {
    const std::string& certificate = stream->request().credentials.client_certificate;
    if (last == nullptr || *last != certificate) dial_for(*stream);
    last = &certificate;
  }
}

void Http2Pool::dial_for(const Http2Stream& stream) {
  const Credentials& credentials = stream.request().credentials;
  const auto of_same = [&](const auto& each) { return each.certificate == credentials.client_certificate; };
  const auto waiting = static_cast<std::size_t>(std::ranges::count_if(waiting_, [&](const Http2Stream* each) {
    return each->request().credentials.client_certificate == credentials.client_certificate;
  }));
  if (static_cast<std::size_t>(std::ranges::count_if(dials_, of_same)) * kPerDial >= waiting) return;
  auto& dialing = dials_.emplace_back(Dialing{credentials.client_certificate, nullptr});
  // `done` runs from the loop, so the dial is there by then.
  auto key = std::make_shared<const TlsDial*>(nullptr);
  dialing.dial = std::make_unique<TlsDial>(loop_, target_.host, target_.port, target_.peer, credentials,
                                           [this, key](TlsDial::Outcome outcome) { on_dialed(*key, std::move(outcome)); });
  *key = dialing.dial.get();
}

void Http2Pool::on_dialed(const TlsDial* dial, TlsDial::Outcome outcome) {
  const auto self = shared_from_this();
  const auto at = std::ranges::find_if(dials_, [&](const Dialing& each) { return each.dial.get() == dial; });
  if (at == dials_.end()) return;
  const Dialing over = std::move(*at);
  dials_.erase(at);
  if (outcome && !outcome->speaks_http2()) return fall_back();
  if (outcome) {
    auto connection = std::make_shared<Http2Connection>(loop_, std::move(*outcome), target_.keep_alive, *this);
    connection->start();
    lines_.push_back({over.certificate, std::move(connection)});
    return serve_waiting();
  }
  std::vector<Http2Stream*> lost;
  std::erase_if(waiting_, [&](Http2Stream* stream) {
    if (stream->request().credentials.client_certificate != over.certificate) return false;
    lost.push_back(stream);
    return true;
  });
  for (Http2Stream* const stream : lost) stream->end(outcome.error());
}

void Http2Pool::fall_back() {
  usable_ = false;
  for (Http2Stream* const stream : std::exchange(waiting_, {})) stream->refuse();
}

}  // namespace fleetadm::kube
