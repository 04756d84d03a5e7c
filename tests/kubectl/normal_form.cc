#include "tests/kubectl/normal_form.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <re2/re2.h>
#include <sstream>

namespace fleetadm::kubectl {
namespace {

struct Replacement {
  std::unique_ptr<RE2> pattern;
  std::string by;
};

const std::vector<Replacement>& replacements() {
  static const std::vector<Replacement> all = [] {
    // The letters of Kubernetes' generated names; hashes of templates have up to ten of them.
    const std::string letters = "[bcdfghjklmnpqrstvwxz2456789]";
    const std::string hash = letters + "{8,10}";
    // From 30000 to 32767: above are the ports that a system gives its servers.
    const std::string node_port = R"(3(?:[01]\d{3}|2(?:[0-6]\d{2}|7(?:[0-5]\d|6[0-7]))))";
    const std::array<std::pair<std::string, std::string>, 25> rows = {{
        {R"(-----BEGIN [A-Z ]+-----[^-]*-----END [A-Z ]+-----)", "PEM"},
        {R"(\bLS0tLS1CRUdJTi[A-Za-z0-9+/=]+)", "PEM"},
        {R"(\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)", "TOKEN"},
        {R"(X509SHA256=[0-9a-f]{64})", "X509SHA256=HASH"},
        {R"(https://127\.0\.0\.1:\d+)", "https://SERVER"},
        {R"(\b10\.\d{1,3}\.\d{1,3}\.\d{1,3}\b)", "ADDRESS"},
        {R"(\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)", "UID"},
        {R"(\b[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ )", "LOG "},
        // A watch that a client's own short timeout ended.
        {R"((?m)^LOG reflector\.go:.*\n)", ""},
        // Times: of objects, of describe, of diff.
        {R"(\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))", "TIME"},
        {R"(\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4})", "TIME"},
        {R"(\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4}(?: [A-Z]+)?)", "TIME"},
        {R"((\\?"?resourceVersion\\?"?: *\\?"?|Resource Version: +|resourceVersion=)\d+)", "\\1VERSION"},
        {R"((LIVE|MERGED)-\d+)", "\\1-N"},
        {R"(kubectl-edit-\w+)", "kubectl-edit-N"},
        {"\\b" + node_port + R"((/(?:TCP|UDP))\b)", "PORT\\1"},
        {R"((nodePort"?: *))" + node_port + R"(\b)", "\\1PORT"},
        // Generated names.
        {R"(((?:pod-template|controller-revision)-hash"?[=:] *"?)[0-9a-z-]+)", "\\1HASH"},
        {"-" + hash + "-" + letters + R"({5}\b)", "-HASH-RANDOM"},
        {"-" + hash + R"(\b)", "-HASH"},
        {"-" + letters + R"({5}\b)", "-RANDOM"},
        // Ages: seconds, and minutes where a run takes long.
        {R"(\b(?:\d{1,3}s|[2-9]m(?:\d{1,2}s)?)\b)", "AGE"},
        {R"(\bAGE \(x\d+ over AGE\))", "AGE"},
        // A column is as wide as its longest cell.
        {R"((\S) {2,})", "\\1  "},
        {R"((?m)[ \t]+$)", ""},
    }};
    std::vector<Replacement> out;
    for (const auto& [pattern, by] : rows) out.push_back({std::make_unique<RE2>(pattern), by});
    return out;
  }();
  return all;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace

std::string normal_form(std::string text, const std::string& folder) {
  for (std::size_t at = 0; !folder.empty() && (at = text.find(folder, at)) != std::string::npos; at += 6)
    text.replace(at, folder.size(), "FOLDER");
  for (const auto& one : replacements()) RE2::GlobalReplace(&text, *one.pattern, one.by);
  return text;
}

std::string sorted_lines(const std::string& text) {
  auto lines = split_lines(text);
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

std::string without(std::string text, const Deviation& deviation) {
  for (const auto& drop : deviation.drops) {
    const RE2 pattern(drop);
    RE2::GlobalReplace(&text, pattern, pattern.NumberOfCapturingGroups() > 0 ? "\\1" : "");
  }
  return text;
}

std::string differences(const std::string& before, const std::string& after) {
  constexpr std::size_t kMax = 3000;  // lines: the table below is quadratic
  constexpr std::size_t kNear = 2;
  auto left = split_lines(before);
  auto right = split_lines(after);
  if (left.size() > kMax) left.resize(kMax);
  if (right.size() > kMax) right.resize(kMax);
  // The longest common subsequence from each place on.
  std::vector<std::vector<std::uint16_t>> common(left.size() + 1, std::vector<std::uint16_t>(right.size() + 1, 0));
  for (std::size_t i = left.size(); i-- > 0;) {
    for (std::size_t j = right.size(); j-- > 0;) {
      common[i][j] = left[i] == right[j] ? static_cast<std::uint16_t>(common[i + 1][j + 1] + 1)
                                         : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<std::pair<char, const std::string*>> all;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.size() || j < right.size()) {
    if (i < left.size() && j < right.size() && left[i] == right[j]) {
      all.emplace_back(' ', &left[i++]);
      ++j;
    } else if (i < left.size() && (j == right.size() || common[i + 1][j] >= common[i][j + 1])) {
      all.emplace_back('-', &left[i++]);
    } else {
      all.emplace_back('+', &right[j++]);
    }
  }
  std::string out;
  bool skipped = false;
  for (std::size_t at = 0; at < all.size(); ++at) {
    bool near = false;
    for (std::size_t k = at > kNear ? at - kNear : 0; k < std::min(all.size(), at + kNear + 1); ++k)
      near = near || all[k].first != ' ';
    if (near) {
      if (skipped) out += "  …\n";
      out += std::string(1, all[at].first) + " " + *all[at].second + "\n";
    }
    skipped = !near;
  }
  return out;
}

}  // namespace fleetadm::kubectl
