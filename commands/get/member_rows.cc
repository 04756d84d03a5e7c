#include "commands/get/member_rows.h"

#include <algorithm>
#include <utility>

#include "commands/framework/listing.h"
#include "core/api/kinds.h"
#include "kubeclient/base/ascii.h"

namespace fleetadm::commands {
namespace {

std::string shown_cell(const Json& value) {
  if (const auto* text = value.get_ptr<const Json::string_t*>()) return *text;
  return value.is_null() ? std::string() : dump_json(value);
}

std::string upper_case(const std::string& text) {
  std::string out;
  for (const char c : text) out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

/// "c1/deployment.apps/web".
std::string member_object(const std::string& cluster, const kube::Resource& resource, const Json& object) {
  return cluster + "/" + lower_case(resource.kind) + (resource.group.empty() ? "" : "." + resource.group) + "/" + name_of(object);
}

std::size_t place_of(const std::vector<Column>& columns, const std::string& name) {
  const auto at = std::find_if(columns.begin(), columns.end(), [&](const Column& one) { return one.name == name; });
  return static_cast<std::size_t>(at - columns.begin());
}

Json with_cluster(Json object, const std::string& cluster) {
  erase_at(object, {"metadata", "managedFields"});
  at_or_make(object, {"metadata", "annotations", std::string(api::kClusterNameLabel)}) = cluster;
  return object;
}

}  // namespace

Status MemberRows::add_table(const Json& table) {
  std::vector<Column> columns;
  for (const Json& definition : list_at(table, {"columnDefinitions"}))
    columns.push_back({upper_case(str(definition, {"name"})), num(definition, {"priority"}) > 0});
  if (columns.empty() && columns_.empty() && !list_at(table, {"rows"}).empty())
    return fail(Category::kInvalid, "the server's table has no columns");
  if (columns_.empty()) columns_ = std::move(columns);
  for (const Json& row : list_at(table, {"rows"})) {
    Row& added = rows_.emplace_back();
    const Json& cells = list_at(row, {"cells"});
    for (std::size_t i = 0; i < columns_.size(); ++i)
      added.cells.push_back(i < cells.size() ? shown_cell(cells[i]) : std::string());
    added.object = object_at(row, {"object"});
  }
  return {};
}

Status MemberRows::add(const Json& answer, const kube::Resource& resource, Instant now) {
  resource_ = resource;
  if (version_.empty()) version_ = str(answer, {"metadata", "resourceVersion"});
  if (str(answer, {"kind"}) == "Table") return add_table(answer);
  const bool list = answer.contains("items");
  if (!list && name_of(answer).empty()) return fail(Category::kInvalid, "the server's answer is no list and no object");
  if (columns_.empty()) columns_ = {{"NAME"}, {"AGE"}};
  const auto add_object = [&](Json object) {
    if (!object.contains("kind")) {
      object["apiVersion"] = resource.api_version();
      object["kind"] = resource.kind;
    }
    rows_.push_back({{name_of(object), age_cell(object, now)}, std::move(object)});
  };
  if (!list) add_object(answer);
  for (const Json& item : list_at(answer, {"items"})) add_object(item);
  return {};
}

void MemberRows::clear() {
  columns_.clear();
  rows_.clear();
  version_.clear();
}

std::vector<Column> member_columns(const std::vector<MemberRows>& answers) {
  std::vector<Column> all;
  for (const MemberRows& answer : answers)
    for (const Column& column : answer.columns())
      if (place_of(all, column.name) == all.size()) all.push_back(column);
  return all;
}

Report member_report(const std::vector<std::string>& clusters, const std::vector<MemberRows>& answers, const ListOutput& list,
                     bool namespaces, bool objects, const std::vector<Column>& columns) {
  Report report;
  Table& table = report.table.emplace();
  table.columns.push_back({"CLUSTER"});
  if (namespaces) table.columns.push_back({"NAMESPACE"});
  table.columns.insert(table.columns.end(), columns.begin(), columns.end());
  for (const std::string& key : list.label_columns) table.columns.push_back({label_title(key)});
  if (list.show_labels) table.columns.push_back({"LABELS"});
  table.empty_text = "No objects found.";
  Json items = Json::array();
  for (std::size_t which = 0; which < clusters.size(); ++which) {
    const MemberRows& answer = answers[which];
    std::vector<std::size_t> places;
    for (const Column& column : columns) places.push_back(place_of(answer.columns(), column.name));
    for (const MemberRows::Row& row : answer.rows()) {
      std::vector<std::string>& cells = table.rows.emplace_back();
      cells.push_back(clusters[which]);
      if (namespaces) cells.push_back(namespace_of(row.object));
      for (const std::size_t place : places) cells.push_back(place < row.cells.size() ? row.cells[place] : std::string());
      for (const std::string& key : list.label_columns) cells.push_back(label_of(row.object, key));
      if (list.show_labels) cells.push_back(labels_cell(row.object));
      report.names.push_back(member_object(clusters[which], answer.resource(), row.object));
      if (objects) items.push_back(with_cluster(row.object, clusters[which]));
    }
  }
  if (objects)
    report.data = {{"apiVersion", "v1"}, {"kind", "List"}, {"metadata", {{"resourceVersion", ""}}}, {"items", std::move(items)}};
  return report;
}

}  // namespace fleetadm::commands
