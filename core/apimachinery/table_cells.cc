#include "core/apimachinery/table_cells.h"

#include "kubeclient/base/joined.h"

namespace fleetadm::apimachinery {

std::string age_of(const Json& object, Instant now, Path path) {
  const auto at = parse_time(str(object, path));
  return at ? format_age(*at, now) : "<unknown>";
}
std::string or_else(std::string text, std::string_view otherwise) { return text.empty() ? std::string(otherwise) : text; }

std::vector<std::string> names_in(const Json& list, std::string_view member) {
  std::vector<std::string> names;
  for (const Json& item : list) names.push_back(str(item, {member}));
  return names;
}

std::string labels_text(const Json& labels) {
  std::string text;
  for (const auto& [key, value] : labels.items()) {
    text += (text.empty() ? "" : ",") + key + "=" + (value.is_string() ? value.get<std::string>() : dump_json(value));
  }
  return or_else(text);
}

/// A label selector as people write it: "a=b,c in (d,e),!f".
std::string selector_text(const Json* selector) {
  if (selector == nullptr || !selector->is_object()) return "<none>";
  std::map<std::string, std::string> parts;
  for (const auto& [key, value] : object_at(*selector, {"matchLabels"}).items()) {
    parts.emplace(key, key + "=" + (value.is_string() ? value.get<std::string>() : dump_json(value)));
  }
  for (const Json& one : list_at(*selector, {"matchExpressions"})) {
    const std::string key = str(one, {"key"});
    const std::string op = str(one, {"operator"});
    std::vector<std::string> values = string_list_at(one, {"values"});
    std::sort(values.begin(), values.end());
    std::string text = key;
    if (op == "In") text += " in (" + joined(values) + ")";
    if (op == "NotIn") text += " notin (" + joined(values) + ")";
    if (op == "DoesNotExist") text = "!" + key;
    parts[key] = text;
  }
  std::string text;
  for (const auto& [key, part] : parts) text += (text.empty() ? "" : ",") + part;
  return or_else(text);
}

void add_containers(Json& cells, const Json& pod_spec) {
  cells.push_back(joined(names_in(list_at(pod_spec, {"containers"}), "name")));
  cells.push_back(joined(names_in(list_at(pod_spec, {"containers"}), "image")));
}
const Json& template_spec(const Json& object) { return object_at(object, {"spec", "template", "spec"}); }

/// "Ready" and its kin where a condition of that type is True.
const Json* condition_of(const Json& object, std::string_view type) {
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    if (str(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}
bool is_true(const Json& object, std::string_view type) {
  const Json* condition = condition_of(object, type);
  return condition != nullptr && str(*condition, {"status"}) == "True";
}

std::string int_or_text(const Json& object, Path path, std::string_view otherwise) {
  const Json* value = find(object, path);
  if (value == nullptr || value->is_null()) return std::string(otherwise);
  return value->is_string() ? value->get<std::string>() : dump_json(*value);
}
BuiltinPrinter::BuiltinPrinter(const std::vector<BuiltinColumn>& columns, CellsOf cells_of) : cells_(cells_of) {
  for (const BuiltinColumn& column : columns) {
    const bool is_name = std::string_view(column.name) == "Name";
    columns_.push_back({column.name, column.type, is_name ? "name" : "", column.priority, ""});
  }
}

const TablePrinter& builtin_printer(std::string_view group, std::string_view kind) {
  static const Printers kPrinters = [] {
    Printers printers;
    add_workload_printers(printers);
    add_core_printers(printers);
    add_cluster_printers(printers);
    add_rare_printers(printers);
    return printers;
  }();
  static const BuiltinPrinter kCreated({{"Name"}, {"Created At", "date"}}, [](const Json& object, Instant) -> Json {
    return {name_of(object), str(object, {"metadata", "creationTimestamp"})};
  });
  const auto at = kPrinters.find({group, kind});
  return at == kPrinters.end() ? static_cast<const TablePrinter&>(kCreated) : at->second;
}

}  // namespace fleetadm::apimachinery
