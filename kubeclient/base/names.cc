#include "kubeclient/base/names.h"

#include <algorithm>

#include "kubeclient/base/ascii.h"

namespace fleetadm {
namespace {

constexpr std::size_t kMaxLabelBytes = 63;
constexpr std::size_t kMaxSubdomainBytes = 253;

constexpr std::string_view kKeyWords =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
    "'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kValueWords =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kDnsLabelWords =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainWords =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kServiceWords =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";

bool is_small(char c) { return c >= 'a' && c <= 'z'; }

/// Ends as `edge` says, with `inner` besides between them.
template <class Edge>
bool is_built_of(std::string_view text, Edge edge, std::string_view inner) {
  return !text.empty() && edge(text.front()) && edge(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return edge(c) || inner.find(c) != std::string_view::npos; });
}

bool is_subdomain_form(std::string_view text) {
  while (true) {
    const auto dot = text.find('.');
    if (!is_built_of(text.substr(0, dot), is_lower_alnum, "-")) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

std::string too_long(std::size_t most) { return "must be no more than " + std::to_string(most) + " bytes"; }

}  // namespace

bool is_label_value(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() > 63 || !is_alnum(text.front()) || !is_alnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_dns_label(std::string_view text) {
  if (text.empty() || text.size() > 63 || !is_lower_alnum(text.front()) || !is_lower_alnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool is_dns_subdomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  while (true) {
    const auto dot = text.find('.');
    const auto piece = text.substr(0, dot);
    if (piece.empty() || !is_lower_alnum(piece.front()) || !is_lower_alnum(piece.back())) return false;
    if (!std::all_of(piece.begin(), piece.end(), [](char c) { return is_lower_alnum(c) || c == '-'; })) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_qualified_name(std::string_view text) {
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    if (!is_dns_subdomain(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  return !text.empty() && is_label_value(text);
}

std::vector<std::string> qualified_name_problems(std::string_view key, std::string_view what) {
  const auto slashes = std::count(key.begin(), key.end(), '/');
  if (slashes > 1) {
    return {std::string(what) + " " + std::string(kKeyWords) +
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
  }
  std::vector<std::string> out;
  std::string_view name = key;
  if (slashes == 1) {
    const auto prefix = key.substr(0, key.find('/'));
    name = key.substr(prefix.size() + 1);
    if (prefix.empty()) {
      out.emplace_back("prefix part must be non-empty");
    } else {
      for (const auto& problem : dns_subdomain_problems(prefix)) out.push_back("prefix part " + problem);
    }
  }
  if (name.empty()) {
    out.emplace_back("name part must be non-empty");
  } else if (name.size() > kMaxLabelBytes) {
    out.push_back("name part " + too_long(kMaxLabelBytes));
  }
  if (!is_built_of(name, is_alnum, "-_.")) out.push_back("name part " + std::string(kKeyWords));
  return out;
}

std::vector<std::string> label_key_problems(std::string_view key) { return qualified_name_problems(key, "a valid label key"); }

std::vector<std::string> label_value_problems(std::string_view value) {
  std::vector<std::string> out;
  if (value.size() > kMaxLabelBytes) out.push_back(too_long(kMaxLabelBytes));
  if (!value.empty() && !is_built_of(value, is_alnum, "-_.")) out.emplace_back(kValueWords);
  return out;
}

std::vector<std::string> dns_label_problems(std::string_view name) {
  std::vector<std::string> out;
  if (name.size() > kMaxLabelBytes) out.push_back(too_long(kMaxLabelBytes));
  if (!is_built_of(name, is_lower_alnum, "-")) {
    if (is_subdomain_form(name)) {
      out.emplace_back("must not contain dots");
    } else {
      out.emplace_back(kDnsLabelWords);
    }
  }
  return out;
}

std::vector<std::string> dns_subdomain_problems(std::string_view name) {
  std::vector<std::string> out;
  if (name.size() > kMaxSubdomainBytes) out.push_back(too_long(kMaxSubdomainBytes));
  if (!is_subdomain_form(name)) out.emplace_back(kSubdomainWords);
  return out;
}

std::vector<std::string> service_name_problems(std::string_view name) {
  std::vector<std::string> out;
  if (name.size() > kMaxLabelBytes) out.push_back(too_long(kMaxLabelBytes));
  if (!is_built_of(name, is_lower_alnum, "-") || !is_small(name.front())) out.emplace_back(kServiceWords);
  return out;
}

std::vector<std::string> path_segment_problems(std::string_view name) {
  for (const std::string_view whole : {".", ".."}) {
    if (name == whole) return {"may not be '" + std::string(whole) + "'"};
  }
  std::vector<std::string> out;
  for (const char part : {'/', '%'}) {
    if (name.find(part) != std::string_view::npos) out.push_back("may not contain '" + std::string(1, part) + "'");
  }
  return out;
}

}  // namespace fleetadm
