#include "commands/framework/listing.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "commands/framework/named.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

std::string object_word(const kube::Resource& resource, const Json& object) {
  std::string word;
  for (const char c : resource.kind) word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (!resource.group.empty()) word += "." + resource.group;
  return word + "/" + name_of(object);
}

constexpr std::string_view kTree = "tree";

// Collects objects into a report: rows at once, the objects themselves only where the output needs them.
class Collector {
 public:
  Collector(const ListView& view, const GlobalOptions& options, Instant now)
      : view_(view),
        list_(options.list),
        now_(now),
        objects_(wants_objects(options)),
        names_(options.output == "name"),
        tree_(options.output == kTree) {
    report_.table = Table{view.columns, {}, view.nothing};
    for (const std::string& key : list_.label_columns) report_.table->columns.push_back({label_title(key)});
    if (list_.show_labels) report_.table->columns.push_back({"LABELS"});
    if (objects_) items_ = Json::array();
  }

  void add(const Json& object) {
    if (view_.before) {
      waiting_.push_back(object);
    } else {
      add_now(object);
    }
  }

  Report& report() { return report_; }

  /// `single`: the data is the object itself, as in kubectl.
  Report take(bool single) {
    if (view_.before) std::stable_sort(waiting_.begin(), waiting_.end(), view_.before);
    for (const Json& object : waiting_) add_now(object);
    waiting_.clear();
    if (objects_ && single && items_.size() == 1) {
      report_.data = std::move(items_.front());
    } else if (objects_) {
      report_.data = Json::object();
      at_or_make(report_.data, {"apiVersion"}) = "v1";
      at_or_make(report_.data, {"kind"}) = "List";
      at_or_make(report_.data, {"metadata", "resourceVersion"}) = "";
      at_or_make(report_.data, {"items"}) = std::move(items_);
    }
    return std::move(report_);
  }

 private:
  void add_now(const Json& object) {
    if (names_) report_.names.push_back(object_word(view_.resource, object));
    auto& row = report_.table->rows.emplace_back(view_.row(object, now_));
    for (const std::string& key : list_.label_columns) row.push_back(label_of(object, key));
    if (list_.show_labels) row.push_back(labels_cell(object));
    if (tree_ && view_.branches)
      for (std::vector<std::string>& path : view_.branches(object)) report_.branches.push_back(std::move(path));
    if (!objects_) return;
    Json copy = object;
    erase_at(copy, {"metadata", "managedFields"});
    // The items of a list of a built-in type do not have them.
    if (!copy.contains("kind")) {
      copy["apiVersion"] = view_.resource.api_version();
      copy["kind"] = view_.resource.kind;
    }
    items_.push_back(std::move(copy));
  }

  const ListView& view_;
  const ListOutput& list_;
  Instant now_;
  bool objects_;
  bool names_;
  bool tree_;
  std::vector<Json> waiting_;  // to be sorted
  Json items_;
  Report report_;
};

Result<Report> named(Context& context, const kube::Client& client, const ListView& view, const ListRequest& request) {
  Collector all(view, context.global(), context.clock().now());
  const std::string ns = request.namespaces.empty() ? std::string() : request.namespaces.front();
  NearNames near(client, view.resource, ns);
  for (const std::string& name : request.names) {
    Result<Json> object = client.get(view.resource, ns, name);
    if (object) {
      all.add(*object);
      continue;
    }
    Error error = near.explain(object.error(), name);
    if (request.names.size() == 1 || error.category != Category::kNotFound) return fail(std::move(error));
    all.report().failures.push_back(std::move(error));
  }
  return all.take(request.names.size() == 1);
}

bool is_asked_for(const ListRequest& request, const Json& object) {
  const auto among = [](const std::vector<std::string>& all, const std::string& one) {
    return all.empty() || std::find(all.begin(), all.end(), one) != all.end();
  };
  if (request.namespaces.size() > 1 && !among(request.namespaces, namespace_of(object))) return false;
  if (!request.called || request.names.empty()) return true;
  return std::any_of(request.names.begin(), request.names.end(),
                     [&](const std::string& name) { return request.called(object, name); });
}

Result<Report> list_found(Context& context, const kube::Client& client, const ListView& view, const ListRequest& request,
                          const kube::ListOptions& options) {
  Collector all(view, context.global(), context.clock().now());
  std::vector<bool> found(request.names.size());
  std::size_t count = 0;
  std::vector<std::string> namespaces = request.namespaces;
  if (namespaces.empty()) namespaces.emplace_back();
  std::sort(namespaces.begin(), namespaces.end());
  namespaces.erase(std::unique(namespaces.begin(), namespaces.end()), namespaces.end());
  for (const std::string& ns : namespaces) {
    const std::size_t before = count;
    FLEETADM_CHECK(client.list_each(view.resource, ns, options, [&](const Json& item) -> Status {
      if (!is_asked_for(request, item)) return {};
      for (std::size_t i = 0; i < found.size(); ++i) found[i] = found[i] || request.called(item, request.names[i]);
      all.add(item);
      ++count;
      return {};
    }));
    if (request.nothing_in && !ns.empty() && count == before) FLEETADM_CHECK(request.nothing_in(client, ns));
  }
  NearNames near(client, view.resource, namespaces.size() == 1 ? namespaces.front() : "");
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) continue;
    const std::string& name = request.names[i];
    Error missing = fail(Category::kNotFound, view.resource.qualified() + " \"" + name + "\" not found", near.hint(name)).value();
    if (found.size() == 1) return tl::unexpected(std::move(missing));
    all.report().failures.push_back(std::move(missing));
  }
  return all.take(request.names.size() == 1);
}

Result<Report> watched(Context& context, const kube::Client& client, const ListView& view, const ListRequest& request,
                       const kube::ListOptions& options) {
  const std::string ns = request.namespaces.size() == 1 ? request.namespaces.front() : "";
  std::map<std::string, std::string> printed;  // key → resourceVersion
  {
    Collector first(view, context.global(), context.clock().now());
    FLEETADM_CHECK(client.list_each(view.resource, ns, options, [&](const Json& item) -> Status {
      if (!is_asked_for(request, item)) return {};
      first.add(item);
      printed[kube::object_key(item)] = resource_version_of(item);
      return {};
    }));
    Report report = first.take(false);
    report.event = Report::Event::kAdded;
    if (!request.watch_only) context.emit(report);
  }
  const Status watched_to = kube::watch_collection(
      client, view.resource, ns, options,
      [&](kube::EventType type, const Json& object) {
        if (!is_asked_for(request, object)) return true;
        const bool known = printed.contains(kube::object_key(object));
        std::string& version = printed[kube::object_key(object)];
        if (type != kube::EventType::kDeleted && version == resource_version_of(object)) return true;
        version = resource_version_of(object);
        if (type == kube::EventType::kDeleted) printed.erase(kube::object_key(object));
        Collector one(view, context.global(), context.clock().now());
        one.add(object);
        Report report = one.take(true);
        report.event = type == kube::EventType::kDeleted ? Report::Event::kDeleted
                       : known                           ? Report::Event::kModified
                                                         : Report::Event::kAdded;
        context.emit(report);
        return true;
      },
      context.stop());
  // An interrupt is how a watch is meant to end: no error is said, only the exit code tells.
  if (!watched_to && !context.stop().stop_requested()) return fail(watched_to.error());
  Report report;
  report.exit_code = 2;
  return report;
}

}  // namespace

bool wants_objects(const GlobalOptions& options) {
  if (!options.sort_by.empty()) return true;
  static constexpr std::string_view kFromRows[] = {"", "table", "wide", "name", "csv", kTree};
  return std::find(std::begin(kFromRows), std::end(kFromRows), options.output) == std::end(kFromRows);
}

bool wants_wide(const GlobalOptions& options) {
  return options.output == "wide" || options.output == "csv" || !options.columns.empty();
}

void object_flags(FlagSet& flags, std::string& selector) {
  flags.text(&selector, "selector", "only objects with these labels (key=value, key!=value, key in (a,b), key, !key)", 'l')
      .value_name = "SELECTOR";
  flags.list = std::make_shared<ListOutput>();
  flags
      .text(&flags.list->field_selector, "field-selector",
            "only objects whose fields have these values (metadata.name=NAME, !=); the server selects")
      .value_name = "SELECTOR";
  flags.comma_texts(&flags.list->label_columns, "label-columns", "show these labels as columns", 'L').value_name = "KEY,…";
  flags.boolean(&flags.list->show_labels, "show-labels", "show all labels as the last column");
}

void watch_flags(FlagSet& flags, bool& watch, bool& watch_only) {
  flags.boolean(&watch, "watch", "print changes as they happen, until interrupted", 'w');
  flags.boolean(&watch_only, "watch-only", "like --watch, without the objects that exist already");
}

void list_flags(FlagSet& flags, std::string& selector, bool& watch, bool& watch_only) {
  object_flags(flags, selector);
  watch_flags(flags, watch, watch_only);
}

Result<Report> list_objects(Context& context, const ListView& view, const ListRequest& request) {
  if (!request.names.empty() && !request.selector.empty() && !request.called)
    return fail(Category::kUsage, "--selector cannot be combined with names");
  const bool watch = request.watch || request.watch_only;
  if (watch && request.names.size() > 1) return fail(Category::kUsage, "--watch takes at most one name");
  const GlobalOptions& global = context.global();
  if (watch && global.output == kTree) return fail(Category::kUsage, "--watch cannot be combined with -o tree");
  if (!request.names.empty() && !global.list.field_selector.empty())
    return fail(Category::kUsage, "--field-selector cannot be combined with names");
  FLEETADM_TRY(const kube::Client client, context.client());
  if (!request.names.empty() && !watch && !request.called) return named(context, client, view, request);
  kube::ListOptions options;
  options.label_selector = request.selector;
  options.field_selector = request.field_selector;
  if (!options.field_selector.empty() && !global.list.field_selector.empty()) options.field_selector += ",";
  options.field_selector += global.list.field_selector;
  if (!request.names.empty() && !request.called) options.field_selector = "metadata.name=" + request.names.front();
  if (watch) return watched(context, client, view, request, options);
  return list_found(context, client, view, request, options);
}

std::string or_none(std::string text) {
  if (text.empty()) text = "<none>";
  return text;
}

std::string labels_cell(const Json& object) {
  std::string cell;
  for (const auto& [key, value] : strings_at(object, {"metadata", "labels"}))
    cell += (cell.empty() ? "" : ",") + key + "=" + value;
  return or_none(cell);
}

std::string label_title(const std::string& key) {
  std::string title;
  for (const char c : key.substr(key.rfind('/') + 1)) title += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return title;
}

std::string age_cell(const Json& object, Instant now) {
  const std::optional<Instant> made = parse_time(str(object, {"metadata", "creationTimestamp"}));
  return made ? format_age(*made, now) : "<unknown>";
}

std::optional<Instant> event_seen(const Json& event) {
  if (auto at = parse_time(str(event, {"series", "lastObservedTime"}))) return at;
  for (const char* member : {"lastTimestamp", "eventTime", "firstTimestamp"}) {
    if (auto at = parse_time(str(event, {member}))) return at;
  }
  return parse_time(str(event, {"metadata", "creationTimestamp"}));
}

const Json* condition_of(const Json& object, std::string_view type) {
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    const Json* value = find(condition, {"type"});
    const auto* text = value == nullptr ? nullptr : value->get_ptr<const Json::string_t*>();
    if (text != nullptr && *text == type) return &condition;
  }
  return nullptr;
}

std::string condition_cell(const Json& object, std::string_view type) {
  const Json* condition = condition_of(object, type);
  return or_none(condition == nullptr ? "" : str(*condition, {"status"}));
}

}  // namespace fleetadm::commands
