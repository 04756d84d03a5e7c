// The configuration file: YAML that people write by hand, read with its line numbers and edited without losing their comments.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::commands {

struct ConfigEntry {
  Json value;  // of the key's type
  int line = 0;
};

struct ConfigFile {
  std::string path;  // empty: there is no place for one
  bool exists = false;
  std::map<std::string, ConfigEntry> entries;  // "color", "aliases.up"
};

/// The entries of a text. kUsage with "PATH:LINE: " for bad syntax, an unknown or repeated key, and a value of the wrong type.
Result<ConfigFile> parse_config(std::string_view text, const std::string& path);
/// The file at a path; one that does not exist is empty.
Result<ConfigFile> read_config(const std::string& path);

/// The text with one entry set (nullopt: removed); all other lines, comments included, stay as they are. kConflict where the
/// file is written in a way that this cannot edit.
Result<std::string> edit_config(std::string_view text, const std::string& path, const std::string& key,
                                const std::optional<Json>& value);
/// edit_config() of the file under its lock, written whole or not at all; a new file has mode 0600. Answers whether anything
/// changed. `write` false: only checks.
Result<bool> change_config(const std::string& path, const std::string& key, const std::optional<Json>& value, bool write);

}  // namespace fleetadm::commands
