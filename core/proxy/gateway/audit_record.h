// What the gateway writes down of a request (docs/reference/gateway.md#audit): who asked what of which cluster, and what came of
// it. No bodies, no queries, no tokens. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "kubeclient/base/clock.h"

namespace fleetadm::proxy {

struct AuditRecord {
  Instant time{};            // when the request came
  std::string id;            // the Audit-Id that the member sees
  std::string source;        // IP address of the connection
  std::string user;          // on the hub; empty: nobody it knows
  std::string impersonated;  // whom they asked to act as on the hub
  std::string as;            // at the member; empty: the request did not get there
  bool token = false;        // with a token of the member instead
  std::string cluster;
  std::string verb;
  std::string method;
  std::string path;          // at the member, or where there is no cluster, as sent; without the query
  int code = 0;              // 0: the client left before there was an answer
  std::string message;       // of an answer that is the gateway's own
  std::uint64_t received{};  // bytes of bodies, from the client
  std::uint64_t sent{};      // and to it
  Duration took{};
};

/// One line of JSON, without its end.
std::string audit_line(const AuditRecord& record);

}  // namespace fleetadm::proxy
