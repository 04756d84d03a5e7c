#include "core/cel/call_estimate.h"

#include <algorithm>
#include <array>

namespace fleetadm::cel {
namespace {

using Arguments = std::vector<EstimatedArgument>;

constexpr double kPerCharacter = 0.1;
constexpr double kPerPatternCharacter = 0.25;
/// Of the longest pattern of a named format.
constexpr double kFormatPattern = 128 * kPerPatternCharacter;

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

CostRange traversal(SizeRange size) { return share_of(size, kPerCharacter); }
/// One more than the text, so that a dear pattern is not free on an empty one.
CostRange matching(SizeRange text, SizeRange pattern) {
  return product_of(traversal(sum_of(text, fixed_range(1))), share_of(pattern, kPerPatternCharacter));
}

/// Sizes of what replace() makes: the longest and shortest that its three texts allow.
SizeRange replaced_size(SizeRange text, SizeRange old, SizeRange by) {
  SizeRange count;
  SizeRange kept;
  if (old.min == 0) {  // put around every character
    count.max = bounded_sum(text.max, 1);
    kept.max = text.max;
  } else if (by.max <= old.min) {
    kept.max = text.max;
  } else {
    count.max = bounded_share(text.max, 1.0 / static_cast<double>(old.min));
  }
  if (old.max == 0) {
    count.min = bounded_sum(text.min, 1);
    kept.min = text.min;
  } else if (old.max <= by.min) {
    kept.min = text.min;
  } else {
    count.min = bounded_share(text.min, 1.0 / static_cast<double>(old.max));
  }
  return sum_of(product_of(count, by), kept);
}

CallEstimate joined_size(const Arguments& args) {
  const SizeRange count = args[0].size;
  SizeRange size = args[0].element ? product_of(count, *args[0].element) : SizeRange{0, 0};
  if (args.size() > 1) {
    const SizeRange separators{count.min > 0 ? count.min - 1 : 0, count.max > 0 ? count.max - 1 : 0};
    size = sum_of(size, product_of(args[1].size, separators));
  }
  return {traversal(size), size};
}

std::optional<CallEstimate> of_lists(std::string_view function, const Arguments& args) {
  static constexpr std::array<std::string_view, 6> kWhole = {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"};
  if (!is_one_of(function, kWhole)) return std::nullopt;
  if (!args[0].list) return CallEstimate{traversal(args[0].size), {}};
  CostRange each = fixed_range(1);
  if (args[0].element) each = sum_of(each, traversal(*args[0].element));
  return CallEstimate{product_of(args[0].size, each), {}};
}

std::optional<CallEstimate> of_texts(std::string_view function, const Arguments& args) {
  const SizeRange text = args[0].size;
  static constexpr std::array<std::string_view, 4> kSame = {"lowerAscii", "upperAscii", "substring", "trim"};
  if (is_one_of(function, kSame)) return CallEstimate{traversal(text), text};
  if (function == "url") return CallEstimate{traversal(text), text};
  static constexpr std::array<std::string_view, 8> kParsed = {"isIP",     "isCIDR",     "ip",     "cidr",
                                                              "quantity", "isQuantity", "semver", "isSemver"};
  if (is_one_of(function, kParsed)) return CallEstimate{traversal(text), {}};
  if (function == "ip.isCanonical") return CallEstimate{share_of(text, 2 * kPerCharacter), {}};
  if (function == "replace" && args.size() >= 3)
    return CallEstimate{share_of(text, 2 * kPerCharacter), replaced_size(text, args[1].size, args[2].size)};
  if (function == "split") {
    const bool limited = args.size() > 2 && args[2].integer && *args[2].integer >= 0;
    return CallEstimate{share_of(text, 2 * kPerCharacter),
                        SizeRange{0, limited ? static_cast<std::uint64_t>(*args[2].integer) : text.max}};
  }
  if (function == "join") return joined_size(args);
  if ((function == "find" || function == "findAll") && args.size() >= 2)
    return CallEstimate{matching(text, args[1].size), SizeRange{0, text.max}};
  if (function == "validate" && args.size() >= 2) return CallEstimate{share_of(traversal(args[1].size), kFormatPattern), {}};
  return std::nullopt;
}

std::optional<CallEstimate> of_addresses(std::string_view function, std::string_view id, const Arguments& args) {
  if (id == "cidr_ip") return CallEstimate{fixed_range(1), {}};
  const bool network = function == "containsCIDR";
  if ((!network && function != "containsIP") || args.size() < 2) return std::nullopt;
  constexpr SizeRange kBytes{4, 16};
  CostRange cost = traversal(sum_of(kBytes, kBytes));
  if (network) cost = sum_of(sum_of(cost, traversal(kBytes)), fixed_range(1));  // masked first
  if (id.ends_with("_string")) cost = sum_of(cost, traversal(args[1].size));
  return CallEstimate{cost, {}};
}

/// Of two values of a type of Kubernetes' libraries.
std::optional<CallEstimate> of_equality(std::string_view id, const Arguments& args) {
  if (id != "equals" || args.size() != 2 || args[0].type != args[1].type) return std::nullopt;
  static constexpr std::array<std::string_view, 4> kFixed = {"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"};
  if (is_one_of(args[0].type, kFixed)) return CallEstimate{fixed_range(1), {}};
  constexpr std::uint64_t kFormatName = 64;
  if (args[0].type == "kubernetes.NamedFormat") return CallEstimate{traversal({1, kFormatName}), {}};
  if (args[0].type == "kubernetes.URL") return CallEstimate{traversal({1, args[1].size.max}), {}};
  return std::nullopt;
}

std::optional<CallEstimate> of_sets(std::string_view function, const Arguments& args) {
  if (!function.starts_with("sets.") || args.size() != 2) return std::nullopt;
  const std::uint64_t passes = function == "sets.equivalent" ? 2 : 1;
  const CostRange pairs = product_of(args[0].size, args[1].size);
  return CallEstimate{sum_of(product_of(pairs, fixed_range(passes)), fixed_range(1)), {}};
}

std::optional<CallEstimate> of_standard(std::string_view id, const Arguments& args) {
  if (args.empty()) return std::nullopt;
  const SizeRange first = args[0].size;
  if (id == "string_format" || id == "strings_quote") {
    if (id == "string_format") return CallEstimate{traversal(first), {}};
    return CallEstimate{traversal(first), SizeRange{first.min, bounded_product(first.max, 2)}};
  }
  if (id == "string_to_bytes") return CallEstimate{traversal(first), SizeRange{first.min, bounded_product(first.max, 4)}};
  if (id == "bytes_to_string") return CallEstimate{traversal(first), SizeRange{first.min / 4, first.max}};
  if (args.size() < 2) return std::nullopt;
  const SizeRange second = args[1].size;
  if (id == "starts_with_string" || id == "ends_with_string") return CallEstimate{traversal(second), {}};
  if (id == "in_list") return CallEstimate{second, {}};
  if (id == "matches" || id == "matches_string") return CallEstimate{matching(first, second), {}};
  if (id == "contains_string") return CallEstimate{product_of(traversal(first), traversal(second)), {}};
  if (id == "add_list") return CallEstimate{fixed_range(1), sum_of(first, second)};
  if (id == "add_string" || id == "add_bytes") return CallEstimate{traversal(sum_of(first, second)), sum_of(first, second)};
  static constexpr std::array<std::string_view, 10> kCompared = {
      "less_string", "greater_string", "less_equals_string", "greater_equals_string",
      "less_bytes",  "greater_bytes",  "less_equals_bytes",  "greater_equals_bytes",
      "equals",      "not_equals"};
  if (is_one_of(id, kCompared)) {
    const std::uint64_t most = std::min(first.max, second.max);
    return CallEstimate{traversal({most > 0 ? 1U : 0U, most}), {}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<CallEstimate> estimate_call(std::string_view function, std::string_view overload,
                                          const std::vector<EstimatedArgument>& arguments) {
  if (arguments.empty()) return std::nullopt;
  if (auto estimate = of_lists(function, arguments)) return estimate;
  if (auto estimate = of_addresses(function, overload, arguments)) return estimate;
  if (auto estimate = of_equality(overload, arguments)) return estimate;
  if (auto estimate = of_texts(function, arguments)) return estimate;
  if (auto estimate = of_sets(function, arguments)) return estimate;
  return of_standard(overload, arguments);
}

}  // namespace fleetadm::cel
