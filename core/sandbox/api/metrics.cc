#include "core/sandbox/api/metrics.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sys/resource.h>
#include <unistd.h>

namespace fleetadm::sandbox {
namespace {

std::string request_verb(const serve::ApiRequest& request) {
  const auto& verb = request.what.verb;
  static const std::map<std::string, std::string> kVerbs = {
      {"get", "GET"},    {"list", "LIST"},   {"watch", "WATCH"},   {"create", "POST"},
      {"update", "PUT"}, {"patch", "PATCH"}, {"delete", "DELETE"}, {"deletecollection", "DELETECOLLECTION"}};
  const auto& sub = request.what.subresource;
  if (sub == "exec" || sub == "attach" || sub == "portforward") return "CONNECT";
  if (verb == "patch" && request.http != nullptr &&
      request.http->header("content-type").starts_with("application/apply-patch+yaml"))
    return "APPLY";
  const auto at = kVerbs.find(verb);
  return at == kVerbs.end() ? "other" : at->second;
}

std::string request_scope(const serve::Attributes& what) {
  if (!what.name.empty() || what.verb == "create") return "resource";
  return what.ns.empty() ? "cluster" : "namespace";
}

/// `a="x",b="y"`; the values are names, which need no escaping.
std::string request_labels(const serve::ApiRequest& request, const Kind* kind, int status) {
  const auto& what = request.what;
  const bool dry = kind != nullptr && request.query.get("dryRun") == "All";
  const bool has_sub = kind != nullptr && kind->subresource(what.subresource) != nullptr;
  const auto label = [](const char* name, const std::string& value) { return std::string(name) + "=\"" + value + "\""; };
  return label("code", std::to_string(status)) + "," + label("component", "apiserver") + "," +
         label("dry_run", dry ? "All" : "") + "," + label("group", kind != nullptr ? kind->group : "") + "," +
         label("resource", kind != nullptr ? kind->plural : "") + "," +
         label("scope", kind != nullptr ? request_scope(what) : "") + "," +
         label("subresource", has_sub ? what.subresource : "") + "," +
         label("verb", kind != nullptr ? request_verb(request) : "GET") + "," +
         label("version", kind != nullptr ? kind->version : "");
}

std::string head_of_metric(const char* name, const char* type, const char* help) {
  return std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

std::string process_metrics() {
  std::string out;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t whole = 0;
  std::uint64_t resident = 0;
  if (std::ifstream in("/proc/self/statm"); in >> whole >> resident) {
    out += head_of_metric("process_resident_memory_bytes", "gauge", "Resident memory of the sandbox's process.");
    out += "process_resident_memory_bytes " + std::to_string(resident * page) + "\n";
    out += head_of_metric("process_virtual_memory_bytes", "gauge", "Virtual memory of the sandbox's process.");
    out += "process_virtual_memory_bytes " + std::to_string(whole * page) + "\n";
  }
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto micros = (static_cast<std::int64_t>(usage.ru_utime.tv_sec) + usage.ru_stime.tv_sec) * 1'000'000 +
                        usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    const auto fraction = std::to_string(1'000'000 + micros % 1'000'000).substr(1);
    out += head_of_metric("process_cpu_seconds_total", "counter", "CPU time that the sandbox's process took.");
    out += "process_cpu_seconds_total " + std::to_string(micros / 1'000'000) + "." + fraction + "\n";
  }
  std::error_code failed;
  std::size_t open = 0;
  for (auto at = std::filesystem::directory_iterator("/proc/self/fd", failed);
       !failed && at != std::filesystem::directory_iterator(); at.increment(failed))
    ++open;
  out += head_of_metric("process_open_fds", "gauge", "Open descriptors of the sandbox's process.");
  out += "process_open_fds " + std::to_string(open) + "\n";
  return out;
}

std::string object_metrics(const ApiState& state) {
  auto out = head_of_metric("apiserver_resource_objects", "gauge", "Stored objects of a resource.");
  std::set<std::string> seen;
  for (const auto& kind : state.kinds.all()) {
    if (!kind->has_verb("list") || !seen.insert(kind->storage).second) continue;
    out += "apiserver_resource_objects{group=\"" + kind->group + "\",resource=\"" + kind->plural + "\"} " +
           std::to_string(state.store->count(kind->storage, {})) + "\n";
  }
  return out;
}

/// The seats of each priority level, of those that kube-apiserver shares out by default. Nothing is queued here.
std::string flow_metrics(const ApiState& state) {
  constexpr std::int64_t kSeats = 600;
  const auto levels = state.store->list("flowcontrol.apiserver.k8s.io/prioritylevelconfigurations", "");
  if (!levels) return {};
  std::map<std::string, std::int64_t> shares;
  std::int64_t all = 0;
  for (const auto& item : levels->items) {
    const Json level = item.object->json();
    const char* kind = str(level, {"spec", "type"}) == "Exempt" ? "exempt" : "limited";
    all += shares[item.name] = num(level, {"spec", kind, "nominalConcurrencyShares"});
  }
  const char* const name = "apiserver_flowcontrol_nominal_limit_seats";
  auto out = head_of_metric(name, "gauge", "Seats that a priority level would have.");
  for (const auto& [level, share] : shares) {
    const std::int64_t seats = all == 0 ? 0 : (kSeats * share + all - 1) / all;
    out += std::string(name) + "{priority_level=\"" + level + "\"} " + std::to_string(seats) + "\n";
  }
  return out;
}

}  // namespace

RequestMetrics::Running RequestMetrics::begin(const serve::HttpRequest& http) {
  const bool reads = http.method == "GET" || http.method == "HEAD";
  return Running(running_[reads ? 0 : 1]);
}

void RequestMetrics::count(const serve::ApiRequest& request, const Kind* kind, int status) {
  auto labels = request_labels(request, kind, status);
  const std::lock_guard lock(mutex_);
  ++totals_[std::move(labels)];
}

std::string RequestMetrics::text(const ApiState& state) const {
  auto out = head_of_metric("apiserver_current_inflight_requests", "gauge", "Requests that are being answered now.");
  out += "apiserver_current_inflight_requests{request_kind=\"mutating\"} " + std::to_string(running_[1].load()) + "\n";
  out += "apiserver_current_inflight_requests{request_kind=\"readOnly\"} " + std::to_string(running_[0].load()) + "\n";
  out += head_of_metric("apiserver_request_total", "counter", "Requests that were answered; of watches, as they began.");
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [labels, number] : totals_)
      out += "apiserver_request_total{" + labels + "} " + std::to_string(number) + "\n";
  }
  return out + flow_metrics(state) + object_metrics(state) + process_metrics();
}

}  // namespace fleetadm::sandbox
