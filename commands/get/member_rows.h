// The answers of many clusters as one table: a cluster's rows as its server prints them, with the cluster in front.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "commands/framework/context.h"
#include "commands/framework/report.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::commands {

/// What one cluster has answered, page by page.
class MemberRows {
 public:
  /// A Table, or from a server that makes none, a list or an object. kInvalid: none of these.
  Status add(const Json& answer, const kube::Resource& resource, Instant now);
  void clear();
  /// The columns stay.
  void forget_rows() { rows_.clear(); }

  struct Row {
    std::vector<std::string> cells;
    Json object;  // as much of it as was asked for
  };
  void add_row(Row row) { rows_.push_back(std::move(row)); }
  /// Of the list's first page.
  const std::string& version() const { return version_; }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }
  const kube::Resource& resource() const { return resource_; }

 private:
  Status add_table(const Json& table);

  kube::Resource resource_;
  std::string version_;
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

/// Those of all servers, by name; those that only later servers have come last.
std::vector<Column> member_columns(const std::vector<MemberRows>& answers);

/// In the order of `clusters`. `columns` are those of member_columns(); a cell that a server does not have is empty.
/// `namespaces`: with the objects' namespaces. `objects`: the rows have whole objects, which become the report's data.
Report member_report(const std::vector<std::string>& clusters, const std::vector<MemberRows>& answers, const ListOutput& list,
                     bool namespaces, bool objects, const std::vector<Column>& columns);

}  // namespace fleetadm::commands
