// The JSON DOM and the only doors in and out of it. nlohmann::json throws on wrong types and overflows the stack on deep
// input; the functions here do neither. Read with find()/str()/num()/…; never with operator[] on a const Json.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/result.h"

extern template class nlohmann::basic_json<>;

namespace fleetadm {

using Json = nlohmann::json;
using Path = std::initializer_list<std::string_view>;

inline constexpr int kMaxJsonDepth = 512;

/// Parses one JSON text. Deeper than kMaxJsonDepth, trailing text or bad syntax: Category::kInvalid with line and column.
/// Integers up to 64 bits are kept exactly; larger ones become double (as in Go).
Result<Json> parse_json(std::string_view text);

/// Compact JSON, object keys sorted; invalid UTF-8 is replaced by U+FFFD. Never throws.
std::string dump_json(const Json& value);
/// kubectl's `-o json`: four spaces of indent, <, >, & and U+2028/9 escaped, trailing newline left to the caller.
std::string dump_json_pretty(const Json& value);
/// A number as Go's encoding/json writes it: 1.0 is "1", 1e21 is "1e+21"; NaN and infinities are "null".
std::string format_number(double value);
/// "1.25e+03" (shortest digits, as std::to_chars writes them) without its exponent: "1250".
std::string plain_decimal(const std::string& scientific);

/// The member at a path of object keys, or nullptr where any step is absent or not an object.
const Json* find(const Json& value, Path path);
const Json* find(const Json&& value, Path path) = delete;  // it would point into an object that is gone: name the object first
/// Typed reads with a default for absent or differently typed members.
std::string str(const Json& value, Path path, std::string_view otherwise = {});
std::int64_t num(const Json& value, Path path, std::int64_t otherwise = 0);
bool flag(const Json& value, Path path, bool otherwise = false);
/// The list (object) at a path, or an empty one.
const Json& list_at(const Json& value, Path path);
const Json& object_at(const Json& value, Path path);
// Of a temporary they are values, which `for (… : list_at(make(), …))` and `const Json& x = …` keep alive.
Json list_at(Json&& value, Path path);
Json object_at(Json&& value, Path path);
/// The object of strings at a path; members of other types are left out.
std::map<std::string, std::string> strings_at(const Json& value, Path path);
std::vector<std::string> string_list_at(const Json& value, Path path);

/// The member at a path for writing; missing objects are made, a step that is not an object is replaced by one.
Json& at_or_make(Json& value, Path path);
/// Removes the member at a path, if it is there.
void erase_at(Json& value, Path path);

// Short words for Kubernetes' metadata.
std::string name_of(const Json& object);
std::string namespace_of(const Json& object);
std::string uid_of(const Json& object);
std::string resource_version_of(const Json& object);
std::string label_of(const Json& object, std::string_view key);
std::string annotation_of(const Json& object, std::string_view key);
bool is_deleting(const Json& object);
bool has_finalizer(const Json& object, std::string_view name);

}  // namespace fleetadm
