#include "tests/support/network_namespace.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sched.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "tests/support/network_devices.h"

namespace fleetadm::testkit {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t kSegment = 1448;                            // bytes of a TCP segment on Ethernet
constexpr auto kRetransmission = std::chrono::milliseconds(200);  // Linux's shortest
constexpr auto kGlance = std::chrono::milliseconds(20);

struct Weather {
  std::atomic<bool> cut = false;
  std::atomic<int> forgotten = 0;  // times
  std::atomic<int> lost_every = 0;
};

Error not_allowed(const char* what) {
  return {.category = Category::kUnavailable,
          .message = std::string("no network namespace: ") + what + ": " + std::strerror(errno),
          .hint = "run the tests as root"};
}

/// One direction of a connection.
class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  Pipe(std::shared_ptr<tcp::socket> from, std::shared_ptr<tcp::socket> into, Weather& weather)
      : from_(std::move(from)),
        into_(std::move(into)),
        weather_(weather),
        born_(weather.forgotten),
        timer_(from_->get_executor()) {}

  void read() {
    const std::size_t most = weather_.lost_every > 0 ? kSegment : buffer_.size();
    from_->async_read_some(asio::buffer(buffer_.data(), most),
                           [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
                             self->over_ = static_cast<bool>(error);
                             self->size_ = size;
                             const int nth = self->weather_.lost_every;
                             const bool lost = nth > 0 && ++self->segments_ % nth == 0;
                             if (!lost) return self->pass();
                             self->wait(kRetransmission);
                           });
  }

 private:
  void wait(std::chrono::milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code&) { self->pass(); });
  }
  void pass() {
    if (weather_.cut || born_ != weather_.forgotten) return wait(kGlance);
    if (over_) {
      boost::system::error_code ignored;
      into_->shutdown(tcp::socket::shutdown_send, ignored);
      return;
    }
    asio::async_write(*into_, asio::buffer(buffer_.data(), size_),
                      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                        if (!error) return self->read();
                        boost::system::error_code ignored;
                        self->from_->close(ignored);
                      });
  }

  std::shared_ptr<tcp::socket> from_;
  std::shared_ptr<tcp::socket> into_;
  Weather& weather_;
  int born_;
  asio::steady_timer timer_;
  std::array<char, 64 * 1024> buffer_{};
  std::size_t size_ = 0;
  int segments_ = 0;
  bool over_ = false;
};

}  // namespace

/// A thread that carries connections from inside to outside.
class NetworkNamespace::WayOut {
 public:
  ~WayOut() {
    io_.stop();
    thread_.join();
  }
  Weather weather;

  /// `listening` is a bound socket inside.
  void serve(int listening, int port) {
    asio::post(io_, [this, listening, port] {
      accept(ports_.emplace(port, tcp::acceptor(io_, tcp::v4(), listening)).first->second, port);
    });
  }

 private:
  void accept(tcp::acceptor& acceptor, int port) {
    acceptor.async_accept([this, &acceptor, port](const boost::system::error_code& error, tcp::socket inside) {
      if (error) return;
      connect(std::make_shared<tcp::socket>(std::move(inside)), port);
      accept(acceptor, port);
    });
  }
  void connect(std::shared_ptr<tcp::socket> inside, int port) {
    const auto outside = std::make_shared<tcp::socket>(io_);
    const tcp::endpoint where(asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port));
    outside->async_connect(where, [this, inside = std::move(inside), outside](const boost::system::error_code& error) {
      if (error) return;
      inside->set_option(tcp::no_delay(true));
      outside->set_option(tcp::no_delay(true));
      std::make_shared<Pipe>(inside, outside, weather)->read();
      std::make_shared<Pipe>(outside, inside, weather)->read();
    });
  }

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::map<int, tcp::acceptor> ports_;
  std::thread thread_{[this] { io_.run(); }};
};

NetworkNamespace::NetworkNamespace(int descriptor) : descriptor_(descriptor) {}

NetworkNamespace::~NetworkNamespace() { ::close(descriptor_); }

Result<std::shared_ptr<NetworkNamespace>> NetworkNamespace::make() {
  Result<int> made = -1;
  // A thread enters the new network and ends; its descriptor keeps the network.
  std::thread([&made] {
    if (::unshare(CLONE_NEWNET) != 0) {
      made = fail(not_allowed("unshare"));
    } else if (!network_device_up("lo")) {
      made = fail(not_allowed("its loopback device"));
    } else if (*made = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC); *made < 0) {
      made = fail(not_allowed("/proc/thread-self/ns/net"));
    }
  }).join();
  if (!made) return fail(made.error());
  return std::shared_ptr<NetworkNamespace>(new NetworkNamespace(*made));
}

std::vector<std::string> NetworkNamespace::command_words() const { return {"/usr/bin/nsenter", "--net=" + path(), "--"}; }

std::string NetworkNamespace::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor_);
}

void NetworkNamespace::move_in(sandbox::ChildSpec& spec) const {
  std::vector<std::string> words = command_words();
  words.push_back(std::exchange(spec.program, words.front()));
  spec.args.insert(spec.args.begin(), words.begin() + 1, words.end());
}

Status NetworkNamespace::enter() const {
  if (::setns(descriptor_, CLONE_NEWNET) == 0) return {};
  return fail(not_allowed("setns"));
}

bool NetworkNamespace::inside(const std::function<void()>& run) const {
  bool entered = false;
  std::thread([&] {
    if (entered = enter().has_value(); entered) run();
  }).join();
  return entered;
}

int NetworkNamespace::open_socket(int domain, int type, int protocol) const {
  int made = -1;
  inside([&] { made = ::socket(domain, type, protocol); });
  return made;
}

Status NetworkNamespace::join(const NetworkNamespace& other, const std::string& address,
                              const std::vector<std::string>& addresses_there) const {
  const std::string cable = "cable0";  // both ends, in networks of their own
  bool joined = false;
  inside([&] { joined = make_cable(cable, other.descriptor_) && network_device_up(cable, address); });
  other.inside([&] {
    for (std::size_t i = 0; joined && i < addresses_there.size(); ++i)
      joined = network_device_up(i == 0 ? cable : cable + ":" + std::to_string(i), addresses_there[i]);
  });
  if (joined) return {};
  return fail(Category::kUnavailable, "two networks cannot be joined");
}

NetworkNamespace::WayOut& NetworkNamespace::way_out() {
  if (!way_out_) way_out_ = std::make_unique<WayOut>();
  return *way_out_;
}

Status NetworkNamespace::lead_out(int port) {
  const int fd = open_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(not_allowed("socket"));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, SOMAXCONN) != 0) {
    const Error error = not_allowed("bind");
    ::close(fd);
    return fail(error);
  }
  way_out().serve(fd, port);
  return {};
}

void NetworkNamespace::cut() { way_out().weather.cut = true; }
void NetworkNamespace::mend() { way_out().weather.cut = false; }
void NetworkNamespace::forget() { ++way_out().weather.forgotten; }
void NetworkNamespace::lose_every(int nth) { way_out().weather.lost_every = nth; }

}  // namespace fleetadm::testkit
