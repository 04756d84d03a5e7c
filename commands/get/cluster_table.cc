#include "commands/get/cluster_table.h"

#include <algorithm>
#include <array>

#include "commands/get/get.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kTableAccept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
// A request costs the server some milliseconds whatever it finds.
constexpr std::size_t kMaxSets = 32;
constexpr std::array<std::string_view, 5> kColumns = {"Name", "Hub Accepted", "Joined", "Available", "Age"};
using Rows = std::vector<std::vector<std::string>>;
using Places = std::array<std::size_t, kColumns.size()>;

// Where the columns stand; nullopt where one is missing.
std::optional<Places> places_of(const Json& table) {
  Places places{};
  const Json& definitions = list_at(table, {"columnDefinitions"});
  for (std::size_t column = 0; column < kColumns.size(); ++column) {
    const auto found = std::find_if(definitions.begin(), definitions.end(),
                                    [&](const Json& one) { return str(one, {"name"}) == kColumns[column]; });
    if (found == definitions.end()) return std::nullopt;
    places[column] = static_cast<std::size_t>(found - definitions.begin());
  }
  return places;
}

std::string cell(const Json& cells, std::size_t place) {
  if (!cells.is_array() || place >= cells.size()) return {};
  const Json& value = cells[place];
  if (const auto* text = value.get_ptr<const Json::string_t*>()) return *text;
  return value.is_null() ? std::string() : dump_json(value);
}

class Reader {
 public:
  Reader(const kube::Client& hub, std::string selector) : hub_(hub), selector_(std::move(selector)) {}

  // Adds the clusters whose label is as `rule` says. False: no such table.
  bool add(const std::string& rule, const std::string& set) {
    const std::optional<Json> table = read(rule);
    if (!table) return false;
    const auto places = places_of(*table);
    if (!places) return false;
    const std::string version = str(*table, {"metadata", "resourceVersion"});
    if (version.empty() || !str(*table, {"metadata", "continue"}).empty()) return false;
    // A cluster that changed its set between two answers could be in both or in none.
    if (!version_.empty() && version != version_) return false;
    version_ = version;
    for (const Json& row : list_at(*table, {"rows"})) {
      const Json& cells = list_at(row, {"cells"});
      const auto at = [&](std::size_t column) { return cell(cells, (*places)[column]); };
      rows.push_back({at(0), at(1) == "true" ? "true" : "false", or_none(at(2)), or_none(at(3)), or_none(set), at(4)});
      rows.back().resize(width_);
    }
    return true;
  }

  Rows rows;

 private:
  std::optional<Json> read(const std::string& rule) const {
    kube::Request request;
    request.path = api::managed_clusters().path("");
    request.accept = kTableAccept;
    request.query = {{"includeObject", "None"}, {"labelSelector", selector_.empty() ? rule : selector_ + "," + rule}};
    if (!version_.empty()) {
      request.query.emplace_back("resourceVersion", version_);
      // Exact would be the plain way to say it, but a server reads it from storage once anything else was written.
      request.query.emplace_back("resourceVersionMatch", "NotOlderThan");
    }
    const auto answer = hub_.raw(request);
    if (!answer) return std::nullopt;
    auto table = parse_json(answer->body);
    if (!table || str(*table, {"kind"}) != "Table") return std::nullopt;
    return std::move(*table);
  }

  const kube::Client& hub_;
  std::string selector_;
  std::size_t width_ = cluster_view().columns.size();
  std::string version_;  // of the first answer
};

// The rows of a fleet that fits a page; nullopt: there are more.
Result<std::optional<Rows>> of_one_page(const kube::Client& hub, const std::string& selector, Instant now, std::int64_t few) {
  const ListView view = cluster_view();
  kube::ListOptions options;
  options.label_selector = selector;
  options.limit = few;
  Rows rows;
  bool more = false;
  const Status read = hub.list_pages(api::managed_clusters(), "", options, [&](const Json& page) -> Status {
    more = !str(page, {"metadata", "continue"}).empty();
    if (more) return fail(Category::kCancelled, "more than a page");
    for (const Json& cluster : list_at(page, {"items"})) rows.push_back(view.row(cluster, now));
    return {};
  });
  if (more) return std::optional<Rows>();
  if (!read) return fail(read.error());
  return std::optional<Rows>(std::move(rows));
}

std::optional<Rows> of_tables(const kube::Client& hub, const std::string& selector) {
  const auto sets = hub.list(api::managed_cluster_sets(), "");
  if (!sets || list_at(*sets, {"items"}).size() > kMaxSets) return std::nullopt;
  Reader reader(hub, selector);
  const std::string label(api::kClusterSetLabel);
  if (!reader.add("!" + label, "")) return std::nullopt;
  std::string known;
  for (const Json& set : list_at(*sets, {"items"})) {
    const std::string name = name_of(set);
    if (!reader.add(label + "=" + name, name)) return std::nullopt;
    known += (known.empty() ? "" : ",") + name;
  }
  const std::size_t told = reader.rows.size();
  if (!reader.add(known.empty() ? label : label + "," + label + " notin (" + known + ")", "") || reader.rows.size() > told)
    return std::nullopt;
  std::sort(reader.rows.begin(), reader.rows.end());
  return std::move(reader.rows);
}

}  // namespace

Result<std::optional<Rows>> narrow_clusters(const kube::Client& hub, const std::string& selector, Instant now, std::int64_t few) {
  FLEETADM_TRY(std::optional<Rows> page, of_one_page(hub, selector, now, few));
  if (page) return page;
  return of_tables(hub, selector);
}

}  // namespace fleetadm::commands
