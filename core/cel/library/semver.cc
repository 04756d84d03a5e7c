// Kubernetes' semver library, without its normalising forms: upstream's environment has version 0 of it.
#include "core/cel/library/libraries.h"
#include "core/cel/library/opaque_values.h"

namespace fleetadm::cel {
namespace {

using Args = std::span<const Value>;
using Version = SemanticVersion;

Value parse_semver(CallContext&, Args args) {
  auto version = Version::parse(args[0].text());
  if (!version) return Value::error(version.error().message);
  return Value::opaque(std::make_unique<const SemverValue>(std::move(*version)));
}

Value is_semver(CallContext&, Args args) { return Value::boolean(Version::parse(args[0].text()).has_value()); }

template <std::uint64_t Version::*part>
Value part_of(CallContext&, Args args) {
  const auto* version = args[0].as<SemverValue>();
  if (version == nullptr) return Value::no_such_overload();
  return Value::integer(static_cast<std::int64_t>(version->value.*part));
}

template <class Read>
Implementation of_two_versions(Read read) {
  return [read](CallContext&, Args args) {
    const auto* left = args[0].as<SemverValue>();
    const auto* right = args[1].as<SemverValue>();
    if (left == nullptr || right == nullptr) return Value::no_such_overload();
    return Value(read(left->value.compare(right->value)));
  };
}

}  // namespace

Library semver_library() {
  const Type text = Type::string();
  const Type yes_no = Type::boolean();
  const Type integer = Type::integer();
  const Type semver = SemverValue::cel_type();
  const auto less = of_two_versions([](int order) { return Value::boolean(order < 0); });
  const auto greater = of_two_versions([](int order) { return Value::boolean(order > 0); });
  const auto compared = of_two_versions([](int order) { return Value::integer(order); });
  Library library{.name = "kubernetes.Semver"};
  library.functions = {
      {"semver", {global("string_to_semver", {text}, semver, parse_semver)}},
      {"isSemver", {global("is_semver_string", {text}, yes_no, is_semver)}},
      {"isGreaterThan", {member("semver_is_greater_than", {semver, semver}, yes_no, greater)}},
      {"isLessThan", {member("semver_is_less_than", {semver, semver}, yes_no, less)}},
      {"compareTo", {member("semver_compare_to", {semver, semver}, integer, compared)}},
      {"major", {member("semver_major", {semver}, integer, part_of<&Version::major>)}},
      {"minor", {member("semver_minor", {semver}, integer, part_of<&Version::minor>)}},
      {"patch", {member("semver_patch", {semver}, integer, part_of<&Version::patch>)}},
  };
  return library;
}

}  // namespace fleetadm::cel
