// A Placement's spec from flags or from a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "kubeclient/base/json.h"

namespace fleetadm::commands {

struct SpecFlags {
  std::vector<std::string> cluster_sets;
  std::optional<std::int64_t> count;
  std::vector<std::string> label_selectors;  // ORed; the terms of one are ANDed
  std::vector<std::string> claims;           // ANDed, and with each label selector
  std::vector<std::string> apis;             // GROUP/VERSION/KIND; ANDed, likewise
  std::vector<std::string> tolerations;
  std::vector<std::string> prioritizers;
  bool exact = false;
  std::string group_size;
  std::vector<std::string> groups;
  std::string file;

  bool any() const;
};

void bind_spec(FlagSet& flags, SpecFlags& into);

/// The spec that the flags say (the file is not read). kUsage names the flag and the word that is wrong.
Result<Json> spec_of(const SpecFlags& flags);

/// A Placement from a YAML or JSON text: its spec, and its name, namespace, labels and annotations where it has them; of a bare
/// spec only the spec. kUsage where it is neither.
Result<Json> placement_of_text(std::string_view text);

/// The spec in a YAML or JSON text: a Placement object, or a bare spec. kUsage where it is neither.
Result<Json> spec_of_text(std::string_view text);

/// "key", "key:Effect", "key=value", "key=value:Effect", each with ":30s" at its end, "*" for every taint.
Result<Json> parse_toleration(std::string_view text);

/// "Balance=2", "AddOn/resource/score=-1".
Result<Json> parse_prioritizer(std::string_view text);

}  // namespace fleetadm::commands
