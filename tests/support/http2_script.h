// An HTTP/2 server in the test's own process that does what the test tells it, and what servers do when they go: OpenSSL,
// nghttp2, a thread a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/pki/pki.h"

namespace fleetadm::testkit {

class Http2Script {
 public:
  struct Request {
    int connection = 0;  // the how many-th; from 1
    std::int32_t stream = 0;
    std::map<std::string, std::string> headers;  // pseudo-headers among them
    std::string body;
    std::string client_name;  // CN of the client certificate
  };
  using Headers = std::vector<std::pair<std::string, std::string>>;

  /// What a script does, from within its call.
  class Session {
   public:
    virtual ~Session() = default;
    /// A whole answer; `end` false: the stream stays open behind it.
    virtual void answer(std::int32_t stream, int status, std::string body = {}, Headers headers = {}, bool end = true) = 0;
    /// An interim answer.
    virtual void interim(std::int32_t stream, int status) = 0;
    virtual void reset(std::int32_t stream, std::uint32_t code) = 0;
    /// Leaves: streams above `last` were not looked at.
    virtual void go_away(std::int32_t last) = 0;
    /// Cuts the connection once what stands before is sent.
    virtual void cut() = 0;
    /// From now on nothing is read and nothing is sent, and the connection stays.
    virtual void fall_silent() = 0;
  };
  using Script = std::function<void(Session& session, const Request& request)>;

  struct Options {
    std::uint32_t max_streams = 250;
    std::function<void(std::int32_t stream, std::uint32_t code)> on_reset = {};  // by the client
  };

  /// On a free loopback port. `script` runs for each whole request, on one thread at a time.
  Http2Script(const pki::KeyPair& certificate, Script script, Options options);
  Http2Script(const pki::KeyPair& certificate, Script script) : Http2Script(certificate, std::move(script), Options()) {}
  ~Http2Script();
  Http2Script(const Http2Script&) = delete;
  Http2Script& operator=(const Http2Script&) = delete;

  std::string url() const;
  int connections() const;
  int pings() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fleetadm::testkit
