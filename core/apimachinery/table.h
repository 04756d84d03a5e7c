// Tables (meta.k8s.io/v1 Table) of built-in kinds and custom resources, and partial metadata
// (docs/reference/kubernetes-api.md#tables; columns measured on kube-apiserver 1.35.4). Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::apimachinery {

struct TableColumn {
  std::string name;
  std::string type = "string";  // string, integer, number, boolean, date
  std::string format;           // "name" marks the name's column
  int priority = 0;             // above 0: only with -o wide
  std::string description;
};

/// How objects of one kind become rows. Immutable.
class TablePrinter {
 public:
  virtual ~TablePrinter() = default;
  virtual const std::vector<TableColumn>& columns() const = 0;
  /// One value a column.
  virtual Json cells(const Json& object, Instant now) const = 0;
};

/// The printer of a built-in kind; of kinds without one, Name and Created At. Never nullptr; lives for ever.
const TablePrinter& builtin_printer(std::string_view group, std::string_view kind);
/// Of a custom resource, from additionalPrinterColumns (an array; empty or null: Name and Age).
std::shared_ptr<const TablePrinter> custom_printer(const Json& additional_columns);

enum class Include { kNone, kMetadata, kObject };
/// includeObject=; kMetadata where empty. kInvalid (400) for other words.
Result<Include> parse_include(std::string_view word);

/// A Table of objects. `list_metadata` is the metadata of the list, or of nothing ({}) for one object, whose resourceVersion is
/// then taken. `with_columns`: watches send the columns with their first event only. `version` of meta.k8s.io: "v1" or "v1beta1".
Json make_table(const TablePrinter& printer, const std::vector<const Json*>& objects, const Json& list_metadata, Include include,
                Instant now, bool with_columns = true, std::string_view version = "v1");

/// {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":…}
Json partial_metadata(const Json& object, std::string_view version = "v1");
Json partial_metadata_list(const std::vector<const Json*>& objects, const Json& list_metadata, std::string_view version = "v1");

}  // namespace fleetadm::apimachinery
