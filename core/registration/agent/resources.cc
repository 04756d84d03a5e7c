#include "core/registration/agent/resources.h"

#include <utility>

namespace fleetadm::registration::agent {
namespace {

std::optional<Quantity> quantity_of(const Json& value) {
  if (value.is_number_integer()) return Quantity::from_int(value.get<std::int64_t>());
  if (!value.is_string()) return std::nullopt;
  const Result<Quantity> parsed = Quantity::parse(value.get_ref<const std::string&>());
  if (!parsed) return std::nullopt;
  return *parsed;
}

void add(const Json& amounts, Quantities& to) {
  for (const auto& [name, value] : amounts.items()) {
    const auto amount = quantity_of(value);
    if (!amount) continue;
    const auto [slot, fresh] = to.emplace(name, *amount);
    if (!fresh) slot->second += *amount;
  }
}

void keep_member(const Json& from, Path path, std::string_view last, Json& to) {
  if (const Json* value = find(from, path)) to[std::string(last)] = *value;
}

Json written(const Quantities& amounts, const Json& before) {
  Json out = Json::object();
  for (const auto& [name, amount] : amounts) {
    const Json* old = find(before, {name});
    const auto same = old == nullptr ? std::nullopt : quantity_of(*old);
    if (same && same->compare(amount) == 0) {
      out[name] = *old;
    } else {
      out[name] = amount.to_string();
    }
  }
  return out;
}

}  // namespace

void project_node(Json& node) {
  Json kept = {{"metadata", Json::object()}, {"status", Json::object()}};
  keep_member(node, {"metadata", "name"}, "name", kept["metadata"]);
  keep_member(node, {"metadata", "uid"}, "uid", kept["metadata"]);
  keep_member(node, {"metadata", "resourceVersion"}, "resourceVersion", kept["metadata"]);
  if (flag(node, {"spec", "unschedulable"})) kept["spec"] = {{"unschedulable", true}};
  keep_member(node, {"status", "capacity"}, "capacity", kept["status"]);
  keep_member(node, {"status", "allocatable"}, "allocatable", kept["status"]);
  node = std::move(kept);
}

void add_node(const Json& node, Totals& totals) {
  add(object_at(node, {"status", "capacity"}), totals.capacity);
  if (!flag(node, {"spec", "unschedulable"})) add(object_at(node, {"status", "allocatable"}), totals.allocatable);
}

void write_totals(const Totals& totals, Json& status) {
  const auto store = [&status](const char* member, Json value) {
    if (value.empty()) {
      erase_at(status, {member});
    } else {
      status[member] = std::move(value);
    }
  };
  const Json& before = object_at(status, {"capacity"});
  Json capacity = written(totals.capacity, before);
  for (const auto& [name, value] : before.items()) {
    if (!capacity.contains(name)) capacity[name] = value;
  }
  store("capacity", std::move(capacity));
  store("allocatable", written(totals.allocatable, object_at(status, {"allocatable"})));
}

}  // namespace fleetadm::registration::agent
