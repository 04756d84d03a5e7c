#include "core/work/rules/ignore_fields.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/work/rules/held_fields.h"

namespace fleetadm::work {
namespace {

struct FieldStep {
  enum class Kind { kKey, kAll, kWhere };
  Kind kind = Kind::kKey;
  std::string text;   // kKey: member or index; kWhere: the member that is compared
  std::string value;  // kWhere
};
using FieldSteps = std::vector<FieldStep>;

FieldStep key_step(std::string text) { return {FieldStep::Kind::kKey, std::move(text), {}}; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<FieldSteps> parse_pointer(std::string_view text) {
  if (text.empty() || text.front() != '/') return std::nullopt;
  FieldSteps steps;
  std::string step;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '/') {
      steps.push_back(key_step(std::exchange(step, {})));
    } else if (text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      step += text[++i] == '0' ? '~' : '/';
    } else {
      step += text[i];
    }
  }
  steps.push_back(key_step(step));
  return steps;
}

/// `.name == "web"`, as a filter and select() have it.
std::optional<FieldStep> parse_comparison(std::string_view text) {
  const std::size_t equals = text.find("==");
  if (equals == std::string_view::npos) return std::nullopt;
  std::string_view left = trimmed(text.substr(0, equals));
  std::string_view right = trimmed(text.substr(equals + 2));
  if (!left.empty() && left.front() == '@') left.remove_prefix(1);
  if (left.size() < 2 || left.front() != '.' || left.find_first_of(".[", 1) != std::string_view::npos) return std::nullopt;
  if (right.size() < 2 || (right.front() != '"' && right.front() != '\'') || right.back() != right.front()) return std::nullopt;
  return FieldStep{FieldStep::Kind::kWhere, std::string(left.substr(1)), std::string(right.substr(1, right.size() - 2))};
}

/// What stands between brackets: nothing or *, an index, a quoted key, a filter.
std::optional<FieldStep> parse_bracket(std::string_view inner) {
  if (inner.empty() || inner == "*") return FieldStep{FieldStep::Kind::kAll, {}, {}};
  if (inner.size() > 3 && inner.starts_with("?(") && inner.back() == ')')
    return parse_comparison(inner.substr(2, inner.size() - 3));
  const char quote = inner.front();
  if (quote == '"' || quote == '\'') {
    if (inner.size() < 2 || inner.back() != quote) return std::nullopt;
    return key_step(std::string(inner.substr(1, inner.size() - 2)));
  }
  if (inner.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return key_step(std::string(inner));
}

/// The bracket that closes the one at `at - 1`, outside of quotes.
std::size_t closing_bracket(std::string_view text, std::size_t at) {
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == ']') {
      return at;
    }
  }
  return std::string_view::npos;
}

bool parse_dotted(std::string_view text, FieldSteps& steps) {
  if (text.empty() || (text.front() != '.' && text.front() != '[')) return false;
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
          return false;
        }
        ++at;
      }
      if (step.empty() && (at >= text.size() || text[at] != '[')) return false;
      if (!step.empty()) steps.push_back(key_step(std::move(step)));
    } else if (text[at] == '[') {
      const std::size_t close = closing_bracket(text, ++at);
      if (close == std::string_view::npos) return false;
      std::optional<FieldStep> step = parse_bracket(text.substr(at, close - at));
      if (!step) return false;
      steps.push_back(std::move(*step));
      at = close + 1;
    } else {
      return false;
    }
  }
  return true;
}

/// A path, or jq's `path | select(…) | path`.
std::optional<FieldSteps> parse_path(std::string_view text) {
  if (text.size() > 2 && text.front() == '{' && text.back() == '}') text = text.substr(1, text.size() - 2);
  if (!text.empty() && text.front() == '$') text.remove_prefix(1);
  FieldSteps steps;
  while (true) {
    const std::size_t bar = text.find('|');
    const std::string_view part = trimmed(text.substr(0, bar));
    if (part.starts_with("select(") && part.back() == ')') {
      std::optional<FieldStep> where = parse_comparison(part.substr(7, part.size() - 8));
      // jq selects among what `[]` has listed.
      if (!where || steps.empty() || steps.back().kind != FieldStep::Kind::kAll) return std::nullopt;
      steps.back() = std::move(*where);
    } else if (!parse_dotted(part, steps)) {
      return std::nullopt;
    }
    if (bar == std::string_view::npos) break;
    text = text.substr(bar + 1);
  }
  return steps.empty() ? std::nullopt : std::optional(std::move(steps));
}

/// The member that a key step names, or nullptr.
template <class Value>
Value* member_of(Value* value, const std::string& text) {
  if (value == nullptr) return nullptr;
  if (value->is_object()) {
    const auto found = value->find(text);
    return found == value->end() ? nullptr : &*found;
  }
  if (!value->is_array()) return nullptr;
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (code != std::errc{} || end != text.data() + text.size() || index >= value->size()) return nullptr;
  return &(*value)[index];
}

/// The live element that stands for one of the intent: by name, else by place.
const Json* twin_of(const Json* live, const Json& element, std::size_t index) {
  if (live == nullptr || !live->is_array()) return nullptr;
  const std::string name = str(element, {"name"});
  if (name.empty()) return index < live->size() ? &(*live)[index] : nullptr;
  const auto found = std::find_if(live->begin(), live->end(), [&](const Json& one) { return str(one, {"name"}) == name; });
  return found == live->end() ? nullptr : &*found;
}

void remove_member(Json& value, const std::string& text) {
  if (value.is_object()) {
    value.erase(text);
  } else if (const Json* element = member_of(&value, text); element != nullptr) {
    value.erase(static_cast<std::size_t>(element - &value[0]));
  }
}

/// Replaces what the steps name in `value` by what is live and `held`, or takes it out where that is nothing.
void settle(Json& value, const Json* live, const HeldFields& held, const FieldSteps& steps, std::size_t at) {
  const FieldStep& step = steps[at];
  const bool last = at + 1 == steps.size();
  const auto element_of = [&](const Json* twin) {
    return twin == nullptr ? HeldFields() : held.element(*twin, static_cast<std::size_t>(twin - &(*live)[0]));
  };
  if (step.kind == FieldStep::Kind::kKey) {
    Json* member = member_of(&value, step.text);
    if (member == nullptr) return;
    const Json* twin = member_of(live, step.text);
    const HeldFields below = value.is_array() ? element_of(twin) : held.member(step.text);
    if (!last) {
      settle(*member, twin, below, steps, at + 1);
    } else if (std::optional<Json> kept = twin == nullptr ? std::nullopt : below.held_of(*twin)) {
      *member = std::move(*kept);
    } else {
      remove_member(value, step.text);
    }
    return;
  }
  if (!value.is_array()) return;
  Json settled = Json::array();
  std::size_t index = 0;
  for (Json& element : value) {
    const Json* twin = twin_of(live, element, index++);
    const bool meant = step.kind == FieldStep::Kind::kAll || str(element, {step.text}) == step.value;
    if (meant && last) {
      std::optional<Json> kept = twin == nullptr ? std::nullopt : element_of(twin).held_of(*twin);
      if (kept) settled.push_back(std::move(*kept));
      continue;
    }
    if (meant) settle(element, twin, element_of(twin), steps, at + 1);
    settled.push_back(std::move(element));
  }
  value = std::move(settled);
}

/// Calls `use(steps, on_change)` for each expression.
template <class Use>
Status for_each_path(const Json& ignore_fields, const Use& use) {
  if (!ignore_fields.is_array()) return {};
  for (const Json& entry : ignore_fields) {
    const bool on_change = str(entry, {"condition"}) == "OnSpokeChange";
    for (const char* member : {"jsonPointers", "jsonPaths", "jqPathExpressions"}) {
      const bool pointers = std::string_view(member) == "jsonPointers";
      for (const std::string& text : string_list_at(entry, {member})) {
        const std::optional<FieldSteps> steps = pointers ? parse_pointer(text) : parse_path(text);
        if (!steps) return fail(Category::kUnsupported, "the expression \"" + text + "\" of " + member + " is not a plain path");
        use(*steps, on_change);
      }
    }
  }
  return {};
}

}  // namespace

Status settle_ignored_fields(const Json& ignore_fields, const std::optional<Json>& live, std::string_view manager,
                             bool manifest_changed, Json& intent) {
  const HeldFields held = live ? HeldFields::of(*live, manager) : HeldFields();
  return for_each_path(ignore_fields, [&](const FieldSteps& steps, bool on_change) {
    if (live && !(on_change && manifest_changed)) settle(intent, &*live, held, steps, 0);
  });
}

Status drop_present_fields(const Json& ignore_fields, Json& object) {
  return for_each_path(ignore_fields, [&](const FieldSteps& steps, bool on_change) {
    if (!on_change) settle(object, nullptr, HeldFields(), steps, 0);
  });
}

}  // namespace fleetadm::work
