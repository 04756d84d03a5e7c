#include "core/proxy/gateway/audit_record.h"

#include "kubeclient/base/json.h"

namespace fleetadm::proxy {
namespace {

constexpr std::size_t kLongestPath = 4096;

}  // namespace

std::string audit_line(const AuditRecord& record) {
  Json line = {{"kind", "GatewayRequest"},  {"time", format_micro_time(record.time)},
               {"auditID", record.id},      {"user", record.user},
               {"cluster", record.cluster}, {"verb", record.verb},
               {"method", record.method},   {"path", record.path.substr(0, kLongestPath)},
               {"code", record.code},       {"receivedBytes", record.received},
               {"sentBytes", record.sent},  {"durationMs", std::chrono::duration<double, std::milli>(record.took).count()}};
  if (!record.impersonated.empty()) line["impersonatedUser"] = record.impersonated;
  if (!record.as.empty()) line["as"] = record.as;
  if (!record.source.empty()) line["sourceIP"] = record.source;
  if (record.token) line["credential"] = "member";
  if (!record.message.empty()) line["message"] = record.message;
  return dump_json(line);
}

}  // namespace fleetadm::proxy
