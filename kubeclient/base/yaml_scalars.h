// How a plain YAML scalar becomes a value: go-yaml v2's rules, which are kubectl's (YAML 1.1 with Go's integers).
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::yaml {

enum class ScalarKind { kString, kNull, kBool, kInt, kFloat, kTimestamp };

struct Scalar {
  ScalarKind kind = ScalarKind::kString;
  Json value;  // a string for kString and kTimestamp; unsigned only over 2^63-1; a double for kFloat, infinities included
};

/// The value of a plain scalar without a tag.
Scalar resolve(std::string_view text);

/// True where kubectl writes the text without quotes (it reads back as the same string).
bool plain_is_string(std::string_view text);

/// A double as kubectl's YAML writes it: integral values as integers, others in Go's %g.
std::string format_float(double value);

/// A double as a mapping's key: kubectl keeps only single precision there.
std::string format_float_key(double value);

/// kubectl's order of keys: runs of digits by value, letters after everything else.
bool key_less(std::string_view left, std::string_view right);

}  // namespace fleetadm::yaml
