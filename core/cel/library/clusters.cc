// What Open Cluster Management adds: managedCluster, scores, parseJSON, hasConditions.
#include <cmath>

#include "core/cel/library/libraries.h"
#include "kubeclient/base/utf8.h"

namespace fleetadm::cel {
namespace {

using Args = std::span<const Value>;
using Cost = std::optional<std::uint64_t>;

constexpr std::uint64_t kListCost = 10;
constexpr std::uint64_t kMapCost = 30;
constexpr std::uint64_t kItemCost = 31;  // a map and its selection

Value scores(CallContext& context, Args args) {
  const ScoreSource* source = context.host == nullptr ? nullptr : context.host->score_source();
  if (source == nullptr) return Value::error("no scores are known here");
  const auto metadata = args[0].find("metadata");
  const auto name = metadata ? metadata->find("name") : std::nullopt;
  if (!name || !name->is(Kind::kString)) return Value::error("the receiver of scores is no cluster: it has no metadata.name");
  const ScoreSource::Items* items = source->scores(name->text(), args[1].text());
  if (items == nullptr) {
    return Value::error("failed to get score: addonplacementscore \"" + std::string(args[1].text()) + "\" not found");
  }
  if (!context.work.spend(items->size())) return Value::error("the evaluation is too much work");
  std::vector<Value> list;
  list.reserve(items->size());
  for (const auto& [key, value] : *items) {
    list.push_back(
        Value::map({{Value::borrowed("name"), Value::string(key)}, {Value::borrowed("value"), Value::integer(value)}}));
  }
  return Value::list(std::move(list));
}

Cost scores_cost(Args, const Value& result) { return kListCost + (result.is(Kind::kList) ? kItemCost * result.size() : 0); }

// Escapes of half a surrogate pair are accepted elsewhere, as U+FFFD.
std::string with_whole_characters(std::string_view text) {
  std::string out = valid_utf8(text);
  const auto unit_at = [&](std::size_t at) -> unsigned {
    if (at + 6 > out.size() || out[at] != '\\' || out[at + 1] != 'u') return 0;
    unsigned unit = 0;
    for (std::size_t i = at + 2; i < at + 6; ++i) {
      const char c = out[i];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return 0;
      unit = unit * 16 + static_cast<unsigned>(digit);
    }
    return unit;
  };
  for (std::size_t at = out.find('\\'); at != std::string::npos; at = out.find('\\', at)) {
    const unsigned unit = unit_at(at);
    const bool high = unit >= 0xD800 && unit < 0xDC00;
    const bool low = unit >= 0xDC00 && unit < 0xE000;
    const unsigned next = high ? unit_at(at + 6) : 0;
    if (high && next >= 0xDC00 && next < 0xE000) {
      at += 12;
    } else if (high || low) {
      out.replace(at, 6, "\\ufffd");
      at += 6;
    } else {
      at += 2;
    }
  }
  return out;
}

// All numbers are double.
Value value_of(const Json& json, Work& work) {
  if (!work.spend(1)) return Value::error("the evaluation is too much work");
  if (json.is_number()) return Value::real(json.get<double>());
  if (json.is_array()) {
    std::vector<Value> list;
    list.reserve(json.size());
    for (const Json& element : json) list.push_back(value_of(element, work));
    return Value::list(std::move(list));
  }
  if (json.is_object()) {
    std::vector<Value::Entry> entries;
    entries.reserve(json.size());
    for (const auto& [key, element] : json.items()) entries.emplace_back(Value::string(key), value_of(element, work));
    return Value::map(std::move(entries));
  }
  return Value::copy_of(json);
}

Value parse(CallContext& context, Args args) {
  if (!context.work.spend(args[0].text().size() / 16)) return Value::error("the evaluation is too much work");
  const auto json = parse_json(with_whole_characters(args[0].text()));
  if (!json) return Value::error("failed to parse json: " + json.error().message);
  Value value = value_of(*json, context.work);
  return context.work.exhausted() ? Value::error("the evaluation is too much work") : value;
}

std::uint64_t structure_cost(const Value& value) {
  std::uint64_t cost = 0;
  if (value.is(Kind::kList)) {
    cost = kListCost;
    value.each([&](const Value& element) {
      cost += structure_cost(element);
      return true;
    });
  } else if (value.is(Kind::kMap)) {
    cost = kMapCost;
    value.each_entry([&](const Value&, const Value& element) {
      cost += structure_cost(element);
      return true;
    });
  }
  return cost;
}

Cost parse_cost(Args args, const Value& result) {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(cost_size(args[0])) * 0.1)) + structure_cost(result);
}

Value has_conditions(CallContext&, Args args) {
  const auto conditions = args[0].is(Kind::kMap) ? args[0].find("conditions") : std::nullopt;
  return Value::boolean(conditions && conditions->is(Kind::kList) && conditions->size() > 0);
}

}  // namespace

Library managed_cluster_library() {
  Library library{.name = "open-cluster-management.managedcluster"};
  library.variables = {{"managedCluster", Type::map(Type::string(), Type::dyn())}};
  library.functions = {
      {"scores", {member("cluster_scores", {Type::dyn(), Type::string()}, Type::list(Type::dyn()), scores, scores_cost)}}};
  return library;
}

Library json_library() {
  Library library{.name = "open-cluster-management.json"};
  library.functions = {{"parseJSON", {member("parse_json_string", {Type::string()}, Type::dyn(), parse, parse_cost)}}};
  return library;
}

Library conditions_library() {
  Library library{.name = "open-cluster-management.conditions"};
  library.functions = {{"hasConditions", {global("status_has_conditions", {Type::dyn()}, Type::boolean(), has_conditions)}}};
  return library;
}

}  // namespace fleetadm::cel
