// Which TCP ports a process of this machine listens on (proc(5): /proc/net/tcp, /proc/PID/fd).
#pragma once

#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fleetadm::sandbox {

/// The process listens on the port of 127.0.0.1 or of all addresses. False also where that cannot be seen.
bool process_listens(pid_t process, int port);

/// Of the text of /proc/net/tcp or tcp6: the inodes of the sockets that listen on the port.
std::vector<unsigned long long> listening_inodes(std::string_view table, int port);

}  // namespace fleetadm::sandbox
