// Commands in a member's pods, over WebSockets as kubectl opens them: a connection for each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/proxy_load.h"
#include "tests/support/raw_client.h"
#include "tests/support/stream_clients.h"

namespace fleetadm::bench {

/// A command that runs.
struct Exec {
  std::unique_ptr<testkit::RawClient> raw;
  std::unique_ptr<testkit::WebSocketClient> socket;
};

/// `query`: what follows "exec?".
inline Result<Exec> open_exec(const Way& way, const std::string& query) {
  constexpr std::string_view kScheme = "https://";
  const std::string rest = way.base.substr(kScheme.size());
  const auto slash = std::min(rest.find('/'), rest.size());
  const auto colon = rest.find(':');
  const int port = std::stoi(rest.substr(colon + 1, slash - colon - 1));
  Exec out;
  out.raw = std::make_unique<testkit::RawClient>(port, way.ca, way.who, rest.substr(0, colon));
  out.socket = std::make_unique<testkit::WebSocketClient>(*out.raw);
  const std::string authorization = way.token.empty() ? "" : "authorization: Bearer " + way.token + "\r\n";
  const int status = out.socket->open(rest.substr(slash) + "/api/v1/namespaces/default/pods/p/exec?" + query, "v5.channel.k8s.io",
                                      authorization);
  if (status == 101) return out;
  return fail(Category::kInternal, "an exec was answered with " + std::to_string(status) + ": " + out.socket->rest());
}

/// Milliseconds of each of so many runs of `true`, from the connection to the exit code.
inline Result<std::vector<double>> run_true(const Way& way, int count) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i) {
    const auto begin = Timer::now();
    FLEETADM_TRY(const Exec exec, open_exec(way, "stdout=true&stderr=true&command=true"));
    const Json status = exec.socket->hear().status;
    if (str(status, {"status"}) != "Success")
      return fail(Category::kInternal, "an exec of true has failed: " + (status.is_null() ? "" : dump_json(status)));
    out.push_back(milliseconds_since(begin));
  }
  return out;
}

/// MiB a second of a command's output.
inline Result<double> exec_output(const Way& way, std::size_t mebibytes) {
  FLEETADM_TRY(const Exec exec, open_exec(way, "stdout=true&command=head&command=-c&command=" + std::to_string(mebibytes << 20U) +
                                                   "&command=/dev/zero"));
  const auto begin = Timer::now();
  std::size_t heard = exec.socket->rest().size();
  for (std::string piece; heard < mebibytes << 20U; heard += piece.size()) {
    piece.clear();
    if (!exec.raw->receive(piece)) return fail(Category::kInternal, "the output of an exec broke off");
  }
  return static_cast<double>(mebibytes) / seconds_since(begin);
}

/// Of what a command is given to read, until it has read all of it.
inline Result<double> exec_input(const Way& way, std::size_t mebibytes) {
  const std::string script = "head%20-c%20" + std::to_string(mebibytes << 20U) + "%20%3E/dev/null%20%26%26%20echo%20done";
  FLEETADM_TRY(const Exec exec, open_exec(way, "stdin=true&stdout=true&command=sh&command=-c&command=" + script));
  constexpr std::size_t kPiece = std::size_t{32} * 1024;
  const std::string frame = testkit::websocket_frame(2, std::string(1, '\0') + std::string(kPiece, 'x'));
  const auto begin = Timer::now();
  for (std::size_t sent = 0; sent < mebibytes << 20U; sent += kPiece) {
    if (!exec.raw->send(frame)) return fail(Category::kInternal, "the input of an exec was not taken");
  }
  if (exec.socket->hear_until("done").output.find("done") == std::string::npos)
    return fail(Category::kInternal, "an exec did not read its input");
  return static_cast<double>(mebibytes) / seconds_since(begin);
}

/// Commands that write without end, to clients that have stopped reading.
inline Result<std::vector<Exec>> stopped_readers(const Way& way, int count) {
  std::vector<Exec> out;
  for (int i = 0; i < count; ++i) {
    FLEETADM_TRY(auto exec, open_exec(way, "stdout=true&command=cat&command=/dev/zero"));
    out.push_back(std::move(exec));
  }
  return out;
}

}  // namespace fleetadm::bench
