// What the rows of built-in kinds are made with; private to table_*.cc.
#pragma once

#include <map>
#include <utility>

#include "core/apimachinery/table.h"

namespace fleetadm::apimachinery {

using CellsOf = Json (*)(const Json& object, Instant now);

struct BuiltinColumn {
  const char* name;
  const char* type = "string";
  int priority = 0;
};

class BuiltinPrinter final : public TablePrinter {
 public:
  BuiltinPrinter(const std::vector<BuiltinColumn>& columns, CellsOf cells);
  const std::vector<TableColumn>& columns() const override { return columns_; }
  Json cells(const Json& object, Instant now) const override { return cells_(object, now); }

 private:
  std::vector<TableColumn> columns_;
  CellsOf cells_;
};

/// By group and kind.
using Printers = std::map<std::pair<std::string_view, std::string_view>, BuiltinPrinter>;
void add_workload_printers(Printers& printers);
void add_core_printers(Printers& printers);
void add_cluster_printers(Printers& printers);
void add_rare_printers(Printers& printers);

/// The age of a time in the object; "<unknown>" where there is none.
std::string age_of(const Json& object, Instant now, Path path = {"metadata", "creationTimestamp"});
std::string or_else(std::string text, std::string_view otherwise = "<none>");
std::vector<std::string> names_in(const Json& list, std::string_view member);
std::string labels_text(const Json& labels);
std::string selector_text(const Json* selector);
void add_containers(Json& cells, const Json& pod_spec);
const Json& template_spec(const Json& object);
const Json* condition_of(const Json& object, std::string_view type);
bool is_true(const Json& object, std::string_view type);
std::string int_or_text(const Json& object, Path path, std::string_view otherwise);

}  // namespace fleetadm::apimachinery
