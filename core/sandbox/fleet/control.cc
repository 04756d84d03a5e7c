#include "core/sandbox/fleet/control.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "kubeclient/base/log.h"
#include "kubeclient/base/owned_fd.h"

namespace fleetadm::sandbox {
namespace {

using Steady = std::chrono::steady_clock;
constexpr auto kClientPatience = std::chrono::seconds(10);
constexpr const char* kSocketName = "control";

/// Through the folder's descriptor: a socket's address holds 107 characters, and a home folder may be longer.
sockaddr_un address_in(const OwnedFd& folder) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  const auto path = "/proc/self/fd/" + std::to_string(folder.get()) + "/" + kSocketName;
  path.copy(out.sun_path, sizeof(out.sun_path) - 1);
  return out;
}

OwnedFd open_folder(const std::filesystem::path& folder) {
  return OwnedFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/// False: not before `until`.
bool wait_for(int descriptor, short events, Steady::time_point until) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now()).count();
    if (left <= 0) return false;
    pollfd wanted{descriptor, events, 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Status send_text(int descriptor, std::string_view text, Steady::time_point until) {
  while (!text.empty()) {
    if (!wait_for(descriptor, POLLOUT, until)) return fail(Category::kTimeout, "the other side takes nothing");
    const auto count = ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return fail(Category::kUnavailable, "the connection ended");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

/// Up to the end of what the other side sends.
Result<std::string> receive_text(int descriptor, Steady::time_point until) {
  std::string out;
  std::array<char, 64 * 1024> piece{};
  while (true) {
    if (!wait_for(descriptor, POLLIN, until)) return fail(Category::kTimeout, "the sandbox's process does not answer");
    const auto count = ::recv(descriptor, piece.data(), piece.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count < 0) return fail(Category::kUnavailable, "the connection ended");
    if (count == 0) return out;
    out.append(piece.data(), static_cast<std::size_t>(count));
    if (out.size() > kMaxControlBytes) return fail(Category::kInvalid, "more than 256 MiB");
  }
}

bool is_owner(int descriptor) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == ::geteuid() || peer.uid == 0);
}

Json error_json(const Error& error) {
  return {
      {"error",
       {{"category", static_cast<int>(error.category)}, {"code", error.code}, {"message", error.message}, {"hint", error.hint}}}};
}

}  // namespace

struct ControlServer::Inner {
  std::filesystem::path socket;
  OwnedFd listening;
  OwnedFd woken;
  Handler handle;
  Tick tick;
  std::jthread thread;

  void answer(const OwnedFd& client) const {
    const auto until = Steady::now() + kClientPatience;
    if (!is_owner(client.get())) return;
    auto text = receive_text(client.get(), until);
    if (!text) return;
    const auto answer = [&]() -> Result<Json> {
      try {
        FLEETADM_TRY(const Json request, parse_json(*text));
        return handle(request);
      } catch (const std::exception& error) {
        return fail(Category::kInternal, error.what());
      }
    }();
    const auto sent = send_text(client.get(), dump_json(answer ? Json{{"result", *answer}} : error_json(answer.error())),
                                Steady::now() + kClientPatience);
    if (!sent) log::warn("sandbox", "control: " + sent.error().message);
  }

  void serve(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      const auto next = tick();
      std::int64_t left = -1;
      if (next) {
        left = std::chrono::ceil<std::chrono::milliseconds>(*next - Steady::now()).count();
        left = std::clamp<std::int64_t>(left, 1, 60'000);
      }
      std::array<pollfd, 2> wanted{{{listening.get(), POLLIN, 0}, {woken.get(), POLLIN, 0}}};
      if (::poll(wanted.data(), wanted.size(), static_cast<int>(left)) <= 0) continue;
      if (stop.stop_requested() || (wanted[0].revents & POLLIN) == 0) continue;
      const OwnedFd client(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client) answer(client);
    }
  }
};

ControlServer::ControlServer(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}

ControlServer::~ControlServer() {
  inner_->thread.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(inner_->woken.get(), &one, sizeof(one));
  inner_->thread.join();
  ::unlink(inner_->socket.c_str());
}

Result<std::unique_ptr<ControlServer>> ControlServer::start(const std::filesystem::path& folder, Handler handle, Tick tick) {
  auto inner = std::make_unique<Inner>();
  inner->socket = folder / kSocketName;
  inner->handle = std::move(handle);
  inner->tick = std::move(tick);
  const auto broken = [&](const char* what) {
    return fail(Category::kInternal, std::string(what) + " " + inner->socket.string() + ": " + std::strerror(errno));
  };
  const auto opened = open_folder(folder);
  if (!opened) return broken("cannot open the folder of");
  inner->woken = OwnedFd(::eventfd(0, EFD_CLOEXEC));
  inner->listening = OwnedFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!inner->listening || !inner->woken) return broken("cannot make");
  ::unlink(inner->socket.c_str());
  const auto address = address_in(opened);
  if (::bind(inner->listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return broken("cannot make");
  if (::chmod(inner->socket.c_str(), 0600) != 0 || ::listen(inner->listening.get(), 16) != 0) return broken("cannot serve");
  inner->thread = std::jthread([raw = inner.get()](const std::stop_token& stop) { raw->serve(stop); });
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(inner)));
}

Result<Json> control_call(const std::filesystem::path& folder, const Json& request, Duration patience) {
  const auto until = Steady::now() + std::chrono::duration_cast<Steady::duration>(patience);
  const auto opened = open_folder(folder);
  const OwnedFd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = address_in(opened);
  if (!opened || !connection || ::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return fail(Category::kUnavailable, "the sandbox is not running");
  }
  FLEETADM_CHECK(send_text(connection.get(), dump_json(request), until));
  ::shutdown(connection.get(), SHUT_WR);
  FLEETADM_TRY(const auto text, receive_text(connection.get(), until));
  if (text.empty()) return fail(Category::kUnavailable, "the sandbox's process ended the connection");
  FLEETADM_TRY(const Json answer, parse_json(text));
  if (const Json* error = find(answer, {"error"})) {
    Error out;
    out.category = static_cast<Category>(
        std::clamp<std::int64_t>(num(*error, {"category"}), 0, static_cast<std::int64_t>(Category::kUnsupported)));
    out.code = static_cast<int>(num(*error, {"code"}));
    out.message = str(*error, {"message"});
    out.hint = str(*error, {"hint"});
    return fail(std::move(out));
  }
  if (const Json* result = find(answer, {"result"})) return *result;
  return fail(Category::kUnavailable, "the sandbox's process gave no answer");
}

}  // namespace fleetadm::sandbox
