#include "core/work/ignore_fields.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fleetadm::work {
namespace {

using Steps = std::vector<std::string>;

std::optional<Steps> parse_pointer(std::string_view text) {
  if (text.empty() || text.front() != '/') return std::nullopt;
  Steps steps;
  std::string step;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '/') {
      steps.push_back(std::exchange(step, {}));
    } else if (text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      step += text[++i] == '0' ? '~' : '/';
    } else {
      step += text[i];
    }
  }
  steps.push_back(step);
  return steps;
}

/// `["key"]`, `['key']` or `[3]`; `at` is behind the bracket and is moved past the closing one.
std::optional<std::string> parse_bracket(std::string_view text, std::size_t& at) {
  const std::size_t close = text.find(']', at);
  if (close == std::string_view::npos || close == at) return std::nullopt;
  std::string_view inner = text.substr(at, close - at);
  at = close + 1;
  const char quote = inner.front();
  if (quote == '"' || quote == '\'') {
    if (inner.size() < 2 || inner.back() != quote) return std::nullopt;
    return std::string(inner.substr(1, inner.size() - 2));
  }
  if (inner.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return std::string(inner);
}

std::optional<Steps> parse_path(std::string_view text) {
  if (text.size() > 2 && text.front() == '{' && text.back() == '}') text = text.substr(1, text.size() - 2);
  if (!text.empty() && text.front() == '$') text.remove_prefix(1);
  if (text.empty() || text.front() != '.') return std::nullopt;
  Steps steps;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '.') {
      ++at;
      std::string step;
      while (at < text.size() && text[at] != '.' && text[at] != '[') {
        const char c = text[at];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (c == '\\' && at + 1 < text.size()) {
          step += text[++at];
        } else if (plain) {
          step += c;
        } else {
          return std::nullopt;
        }
        ++at;
      }
      if (step.empty() && (at >= text.size() || text[at] != '[')) return std::nullopt;
      if (!step.empty()) steps.push_back(std::move(step));
    } else if (text[at] == '[') {
      ++at;
      std::optional<std::string> step = parse_bracket(text, at);
      if (!step) return std::nullopt;
      steps.push_back(std::move(*step));
    } else {
      return std::nullopt;
    }
  }
  return steps.empty() ? std::nullopt : std::optional(steps);
}

void remove_at(Json& value, const Steps& steps) {
  Json* at = &value;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool last = i + 1 == steps.size();
    if (at->is_object()) {
      const auto found = at->find(steps[i]);
      if (found == at->end()) return;
      if (last) {
        at->erase(found);
        return;
      }
      at = &*found;
    } else if (at->is_array()) {
      std::size_t index = 0;
      const auto [end, code] = std::from_chars(steps[i].data(), steps[i].data() + steps[i].size(), index);
      if (code != std::errc{} || end != steps[i].data() + steps[i].size() || index >= at->size()) return;
      if (last) {
        at->erase(index);
        return;
      }
      at = &(*at)[index];
    } else {
      return;
    }
  }
}

}  // namespace

Status drop_ignored_fields(const Json& ignore_fields, bool present, Json& intent) {
  if (!ignore_fields.is_array()) return {};
  for (const Json& entry : ignore_fields) {
    for (const char* member : {"jsonPointers", "jsonPaths", "jqPathExpressions"}) {
      const bool pointers = std::string_view(member) == "jsonPointers";
      for (const std::string& text : string_list_at(entry, {member})) {
        const std::optional<Steps> steps = pointers ? parse_pointer(text) : parse_path(text);
        if (!steps) return fail(Category::kUnsupported, "the expression \"" + text + "\" of " + member + " is not a plain path");
        if (present) remove_at(intent, *steps);
      }
    }
  }
  return {};
}

}  // namespace fleetadm::work
