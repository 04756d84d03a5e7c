// The fake server's own parts, shared by its source files.
#pragma once

#include "tests/support/fake_api.h"

namespace fleetadm::testkit {

/// Internal status of a watch that stays open.
inline constexpr int kStreamOpen = -1;

/// A stream's way to its sink: every call is posted to the I/O loop, in order, until it ends or is cancelled.
struct FakeApi::Stream : std::enable_shared_from_this<FakeApi::Stream> {
  std::recursive_mutex mutex;  // held while the sink is called; cancel() may come from inside
  std::shared_ptr<kube::StreamSink> sink;
  std::atomic<bool> cancelled{false};
  std::atomic<bool> ended{false};

  bool closed() const { return cancelled || ended; }
  void head(int status, std::map<std::string, std::string> headers);
  void data(std::string text);
  void end(std::optional<Error> error);
  void cancel();

 private:
  void post(std::function<void(kube::StreamSink&)> call);
};

struct FakeApi::Watch {
  TypeKey type;
  ApiCall call;
  std::shared_ptr<Stream> stream;
  bool bookmarks = false;
};

struct FakeApi::Fault {
  enum class Kind { kStatus, kRefused, kLost };
  std::string verb;
  std::string plural;
  Kind kind = Kind::kStatus;
  kube::Response response;
  int times = 1;
};

struct FakeApi::Event {
  std::int64_t revision = 0;
  TypeKey type;
  std::string event;
  Json before;
  Json object;
};

ApiCall call_of(const kube::Request& request);
kube::Response status_response(int code, std::string_view reason, std::string_view message, const Json& details = Json::object());
kube::Response json_response(int code, const Json& body);
kube::Response open_response();
std::string event_line(std::string_view type, const Json& object);
Json bookmark_of(const ApiCall& call, std::int64_t revision);
Json expired_status(std::int64_t asked, std::int64_t oldest);

}  // namespace fleetadm::testkit
