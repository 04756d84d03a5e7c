#include "core/cel/library/semantic_version.h"

#include <algorithm>
#include <charconv>

#include "kubeclient/base/ascii.h"

namespace fleetadm::cel {
namespace {

bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; }
bool is_number(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

bool read(std::string_view text, std::uint64_t& out) {
  if (!is_number(text) || (text.size() > 1 && text.front() == '0')) return false;
  return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc();
}

std::vector<std::string> split_dots(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t at = text.find('.');
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool is_identifier(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_word); }

bool is_pre_release(std::string_view text) {
  std::uint64_t number = 0;
  return is_number(text) ? read(text, number) : is_identifier(text);
}

template <class T>
int three_way(const T& left, const T& right) {
  return left < right ? -1 : left == right ? 0 : 1;
}

int compare_identifiers(const std::string& left, const std::string& right) {
  const bool left_number = is_number(left);
  if (left_number != is_number(right)) return left_number ? -1 : 1;
  // Numbers have no leading zeros: the longer one is the larger one.
  if (left_number && left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
  return three_way(left, right);
}

}  // namespace

Result<SemanticVersion> SemanticVersion::parse(std::string_view text) {
  const auto malformed = [&](std::string_view why) {
    return fail(Category::kInvalid, "\"" + std::string(text) + "\" is no semantic version: " + std::string(why));
  };
  SemanticVersion version;
  std::string_view rest = text;
  for (std::uint64_t* part : {&version.major, &version.minor}) {
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos || !read(rest.substr(0, dot), *part))
      return malformed("it does not start with three numbers");
    rest.remove_prefix(dot + 1);
  }
  if (const std::size_t plus = rest.find('+'); plus != std::string_view::npos) {
    version.build = split_dots(rest.substr(plus + 1));
    if (!std::all_of(version.build.begin(), version.build.end(), is_identifier)) return malformed("its build part");
    rest = rest.substr(0, plus);
  }
  if (const std::size_t dash = rest.find('-'); dash != std::string_view::npos) {
    version.pre_release = split_dots(rest.substr(dash + 1));
    if (!std::all_of(version.pre_release.begin(), version.pre_release.end(), is_pre_release))
      return malformed("its pre-release part");
    rest = rest.substr(0, dash);
  }
  if (!read(rest, version.patch)) return malformed("it does not start with three numbers");
  return version;
}

int SemanticVersion::compare(const SemanticVersion& other) const {
  if (const int by = three_way(major, other.major); by != 0) return by;
  if (const int by = three_way(minor, other.minor); by != 0) return by;
  if (const int by = three_way(patch, other.patch); by != 0) return by;
  if (pre_release.empty() || other.pre_release.empty()) return three_way(pre_release.empty(), other.pre_release.empty());
  for (std::size_t i = 0; i < pre_release.size() && i < other.pre_release.size(); ++i) {
    if (const int by = compare_identifiers(pre_release[i], other.pre_release[i]); by != 0) return by;
  }
  return three_way(pre_release.size(), other.pre_release.size());
}

std::string SemanticVersion::to_string() const {
  std::string out = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  char separator = '-';
  for (const std::string& part : pre_release) {
    out += separator + part;
    separator = '.';
  }
  separator = '+';
  for (const std::string& part : build) {
    out += separator + part;
    separator = '.';
  }
  return out;
}

}  // namespace fleetadm::cel
