#include "tests/support/network_devices.h"

#include <arpa/inet.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fleetadm::testkit {
namespace {

class DeviceSocket {
 public:
  DeviceSocket(int domain, int type) : fd_(::socket(domain, type | SOCK_CLOEXEC, 0)) {}
  ~DeviceSocket() {
    if (fd_ >= 0) ::close(fd_);
  }
  DeviceSocket(const DeviceSocket&) = delete;
  DeviceSocket& operator=(const DeviceSocket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

bool set_address(int fd, ifreq request, unsigned long what, std::uint32_t address) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = address;
  std::memcpy(&request.ifr_addr, &in, sizeof in);
  return ::ioctl(fd, what, &request) == 0;
}

/// A message of rtnetlink (7) that asks for a new device.
class NewDevice {
 public:
  NewDevice() {
    auto* const head = reinterpret_cast<nlmsghdr*>(bytes_.data());
    head->nlmsg_type = RTM_NEWLINK;
    head->nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK;
    size_ = NLMSG_LENGTH(sizeof(ifinfomsg));
  }
  void add(std::uint16_t type, const void* value, std::size_t size) {
    auto* const attribute = reinterpret_cast<rtattr*>(bytes_.data() + size_);
    attribute->rta_type = type;
    attribute->rta_len = static_cast<std::uint16_t>(RTA_LENGTH(size));
    std::memcpy(bytes_.data() + size_ + RTA_LENGTH(0), value, size);
    size_ += RTA_ALIGN(RTA_LENGTH(size));
  }
  /// What is added from here until close() is inside of it, after so many bytes of a header.
  std::size_t open(std::uint16_t type, std::size_t header = 0) {
    const std::size_t at = size_;
    reinterpret_cast<rtattr*>(bytes_.data() + at)->rta_type = type;
    size_ += RTA_LENGTH(header);
    return at;
  }
  void close(std::size_t at) { reinterpret_cast<rtattr*>(bytes_.data() + at)->rta_len = static_cast<std::uint16_t>(size_ - at); }
  bool send(int fd) {
    reinterpret_cast<nlmsghdr*>(bytes_.data())->nlmsg_len = static_cast<std::uint32_t>(size_);
    if (::send(fd, bytes_.data(), size_, 0) != static_cast<ssize_t>(size_)) return false;
    alignas(nlmsghdr) std::array<char, 1024> answer{};
    if (::recv(fd, answer.data(), answer.size(), 0) < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(int)))) return false;
    const auto* const head = reinterpret_cast<const nlmsghdr*>(answer.data());
    return head->nlmsg_type == NLMSG_ERROR && reinterpret_cast<const nlmsgerr*>(answer.data() + NLMSG_HDRLEN)->error == 0;
  }

 private:
  alignas(nlmsghdr) std::array<char, 512> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace

bool network_device_up(const std::string& name, const std::string& address) {
  const DeviceSocket socket(AF_INET, SOCK_DGRAM);
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  in_addr parsed{};
  if (!address.empty()) {
    if (::inet_pton(AF_INET, address.c_str(), &parsed) != 1) return false;
    if (!set_address(socket.fd(), request, SIOCSIFADDR, parsed.s_addr)) return false;
    if (!set_address(socket.fd(), request, SIOCSIFNETMASK, htonl(0xffffff00U))) return false;
  }
  request.ifr_flags = IFF_UP;
  return ::ioctl(socket.fd(), SIOCSIFFLAGS, &request) == 0;
}

bool make_cable(const std::string& name, int other_namespace) {
  const DeviceSocket socket(AF_NETLINK, SOCK_RAW);
  NewDevice device;
  device.add(IFLA_IFNAME, name.c_str(), name.size() + 1);
  const std::size_t kind = device.open(IFLA_LINKINFO);
  device.add(IFLA_INFO_KIND, "veth", 4);
  const std::size_t data = device.open(IFLA_INFO_DATA);
  const std::size_t peer = device.open(VETH_INFO_PEER, sizeof(ifinfomsg));
  device.add(IFLA_IFNAME, name.c_str(), name.size() + 1);
  device.add(IFLA_NET_NS_FD, &other_namespace, sizeof other_namespace);
  for (const std::size_t at : {peer, data, kind}) device.close(at);
  return device.send(socket.fd());
}

}  // namespace fleetadm::testkit
