#include "core/sandbox/fleet/operations.h"

#include "core/sandbox/fleet/load.h"
#include "kubeclient/base/log.h"

namespace fleetadm::sandbox {

Result<Cluster*> Operations::cluster(const std::string& name) const {
  for (const auto& one : clusters_) {
    if (one->name() == name) return one.get();
  }
  return fail(Category::kNotFound, "the sandbox has no cluster \"" + name + "\"");
}

Result<Json> Operations::run(const Json& request) {
  const auto what = str(request, {"do"});
  if (what == "fault-add") return add_fault(request);
  if (what == "fault-list") return list_faults();
  if (what == "fault-clear") return clear_faults(request);
  if (what == "load") {
    FLEETADM_TRY(Cluster * into, cluster(str(request, {"cluster"})));
    return load_objects(into->api().engine(), list_at(request, {"objects"}));
  }
  return fail(Category::kUsage, "the sandbox's process knows no \"" + what + "\"",
              "it was started by another version of fleetadm: stop it and start it again");
}

Result<Json> Operations::add_fault(const Json& request) {
  FLEETADM_TRY(Fault fault, parse_fault(object_at(request, {"fault"})));
  for (const auto& name : fault.clusters) FLEETADM_CHECK(cluster(name));
  const auto text = dump_json(fault_json(fault));
  FLEETADM_TRY(const auto id, faults_->add(std::move(fault)));
  log::info(0, "sandbox", "fault " + id + " added: " + text);
  follow_faults();
  return Json{{"id", id}};
}

Json Operations::list_faults() {
  Json items = Json::array();
  for (const auto& one : faults_->list()) {
    Json item = fault_json(one.fault);
    item["strikes"] = one.strikes;
    if (one.left > Duration::zero()) item["left"] = format_duration(std::chrono::ceil<std::chrono::seconds>(one.left));
    items.push_back(std::move(item));
  }
  return {{"items", std::move(items)}};
}

Json Operations::clear_faults(const Json& request) {
  const auto ended = faults_->clear(string_list_at(request, {"ids"}), string_list_at(request, {"clusters"}));
  for (const auto& id : ended) log::info(0, "sandbox", "fault " + id + " cleared");
  follow_faults();
  return {{"cleared", ended}};
}

std::optional<std::chrono::steady_clock::time_point> Operations::follow_faults() {
  for (const auto& one : clusters_) {
    if (const auto done = one->follow_faults(); !done) log::warn(one->name(), done.error().message);
  }
  return faults_->next_end();
}

}  // namespace fleetadm::sandbox
