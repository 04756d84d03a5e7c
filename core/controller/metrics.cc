#include "core/controller/metrics.h"

#include <fstream>
#include <unistd.h>

namespace fleetadm::controller {
std::string metric_label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

namespace {

class Text {
 public:
  void family(const char* name, const char* type, const char* help) {
    name_ = name;
    out_ += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  }
  template <class Number>
  void sample(const std::string& labels, Number value) {
    out_ += name_ + labels + " " + std::to_string(value) + "\n";
  }
  std::string take() { return std::move(out_); }

 private:
  std::string name_;
  std::string out_;
};

}  // namespace

std::string render_metrics(const std::vector<LaneStats>& lanes, const std::vector<InformerStats>& informers,
                           std::uint64_t resident) {
  Text text;
  const auto each = [&](const char* name, const char* type, const char* help, auto value) {
    text.family(name, type, help);
    for (const LaneStats& lane : lanes) text.sample("{name=\"" + metric_label(lane.name) + "\"}", value(lane));
  };
  each("workqueue_depth", "gauge", "Keys that wait for a worker", [](const LaneStats& s) { return s.depth; });
  each("workqueue_delayed", "gauge", "Keys that wait for a moment", [](const LaneStats& s) { return s.delayed; });
  each("workqueue_active", "gauge", "Keys being worked on", [](const LaneStats& s) { return s.active; });
  each("workqueue_adds_total", "counter", "Keys added", [](const LaneStats& s) { return s.adds; });
  each("workqueue_retries_total", "counter", "Keys added again after a failure", [](const LaneStats& s) { return s.retries; });
  text.family("reconcile_total", "counter", "Reconciles by outcome");
  for (const LaneStats& lane : lanes) {
    const std::string name = "{name=\"" + metric_label(lane.name) + "\",result=\"";
    text.sample(name + "success\"}", lane.succeeded);
    text.sample(name + "error\"}", lane.failed);
  }
  each("reconcile_seconds_total", "counter", "Time spent in reconciles", [](const LaneStats& s) { return s.seconds; });
  text.family("informer_objects", "gauge", "Objects in a cache");
  for (const auto& one : informers) text.sample("{resource=\"" + metric_label(one.resource) + "\"}", one.objects);
  text.family("informer_synced", "gauge", "1 once the first complete list is in the cache");
  for (const auto& one : informers) text.sample("{resource=\"" + metric_label(one.resource) + "\"}", one.synced ? 1 : 0);
  if (resident > 0) {
    text.family("process_resident_memory_bytes", "gauge", "Resident memory");
    text.sample("", resident);
  }
  return text.take();
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  if (!(statm >> total >> resident)) return 0;
  const long page = ::sysconf(_SC_PAGESIZE);
  return page > 0 ? resident * static_cast<std::uint64_t>(page) : 0;
}

}  // namespace fleetadm::controller
