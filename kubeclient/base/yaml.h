// YAML as kubectl reads and writes it (libyaml; go-yaml's scalar rules): docs/reference/cli.md#yaml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm {

/// One document of a stream and the line (1-based) it starts on.
struct YamlDocument {
  Json value;
  int line = 1;
};

/// Parses every document of a YAML (or JSON) stream; empty documents are left out. Category::kInvalid with line and column on
/// bad syntax, depth over 1,000 or excessive aliasing. Duplicate keys: the last wins. Merge keys are expanded.
Result<std::vector<YamlDocument>> parse_yaml_documents(std::string_view text);
/// Exactly one document.
Result<Json> parse_yaml(std::string_view text);

/// kubectl's `-o yaml`: sorted keys, sequences not indented, literal blocks for text with newlines, strings quoted where a
/// plain scalar would read back as another type. Ends with a newline.
std::string dump_yaml(const Json& value);

}  // namespace fleetadm
