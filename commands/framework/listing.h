// What `get` commands share: objects of one kind, listed page by page, shown as rows, watched with -w.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// True where the output is made from the objects (json, yaml, jsonpath, custom-columns, or any with --sort-by), false where the
/// rows are enough. A long list then need not be kept in memory.
bool wants_objects(const GlobalOptions& options);

/// True where the cells of wide columns are printed or may be.
bool wants_wide(const GlobalOptions& options);

/// How objects of one kind are shown.
struct ListView {
  kube::Resource resource;
  std::vector<Column> columns;
  std::function<std::vector<std::string>(const Json& object, Instant now)> row;            // a cell a column
  std::string nothing;                                                                     // "no managed clusters found"
  std::function<std::vector<std::vector<std::string>>(const Json& object)> branches = {};  // its paths for -o tree
  std::function<bool(const Json& a, const Json& b)> before = {};  // the order, where it is not the server's
};

struct ListRequest {
  std::vector<std::string> names;  // empty: all
  std::string selector;
  std::vector<std::string> namespaces = {};  // of namespaced kinds; empty: all
  bool watch = false;
  bool watch_only = false;          // without the objects that are there at the beginning
  std::string field_selector = {};  // beside that of the flags
  /// Where names are more than the objects' own, or without a namespace: whether an object goes by one. Names are then looked for
  /// in the lists.
  std::function<bool(const Json& object, const std::string& name)> called = {};
  /// Why nothing was found in one of `namespaces`, where that is an error.
  std::function<Status(const kube::Client& client, const std::string& ns)> nothing_in = {};
};

/// The flags of a list: -l, -w, --watch-only; and --field-selector, --show-labels and -L, which list_objects finds in the
/// context's options.
void list_flags(FlagSet& flags, std::string& selector, bool& watch, bool& watch_only);

/// Of these, what is about the objects: -l, --field-selector, --show-labels and -L.
void object_flags(FlagSet& flags, std::string& selector);

/// -w and --watch-only.
void watch_flags(FlagSet& flags, bool& watch, bool& watch_only);

/// Reads and shows. One name that does not exist is kNotFound; of several names the missing ones are failures. With `watch` or
/// `watch_only` it prints changes until the stop token is set (exit code 2) or the watch fails.
Result<Report> list_objects(Context& context, const ListView& view, const ListRequest& request);

// Cells.
std::string or_none(std::string text);                                  // "<none>" for ""
std::string age_cell(const Json& object, Instant now);                  // of metadata.creationTimestamp
std::string labels_cell(const Json& object);                            // "k=v,…"
std::string label_title(const std::string& key);                        // "example.io/region" is REGION, as kubectl names it
std::string condition_cell(const Json& object, std::string_view type);  // True, False, Unknown or <none>
std::optional<Instant> event_seen(const Json& event);                   // when it happened last
const Json* condition_of(const Json& object, std::string_view type);    // in status.conditions, or nullptr

}  // namespace fleetadm::commands
