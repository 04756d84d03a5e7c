#include "core/addon/rules/substitution.h"

#include "kubeclient/base/json.h"

namespace fleetadm::addon {
namespace {

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";

Status check_value(std::string_view name, const std::string& value, rollout::Semantics conduct) {
  if (value.size() > kMaxVariableBytes) {
    return fail(Category::kInvalid, "the value of " + std::string(name) + " is larger than 64 KiB");
  }
  if (conduct != rollout::Semantics::kStrict) return {};
  const Result<Json> piece = parse_json("\"" + value + "\"");
  if (piece && piece->is_string()) return {};
  return fail(Category::kInvalid, "the value of " + std::string(name) + " is not a piece of a JSON string",
              "Write quotes and backslashes in it as \\\" and \\\\.");
}

}  // namespace

Result<std::string> substitute(std::string_view text, const Variables& variables, std::size_t limit, rollout::Semantics conduct) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find(kOpen, at);
    out += text.substr(at, open == std::string_view::npos ? open : open - at);
    if (open == std::string_view::npos) break;
    const std::size_t start = open + kOpen.size();
    const std::size_t close = text.find(kClose, start);
    if (close == std::string_view::npos) return fail(Category::kInvalid, "{{ without }} in a manifest");
    const std::string_view name = text.substr(start, close - start);
    if (conduct == rollout::Semantics::kStrict && name.find('"') != std::string_view::npos) {
      return fail(Category::kInvalid, "{{ without }} in a text of a manifest");
    }
    if (const auto variable = variables.find(name); variable != variables.end()) {
      FLEETADM_CHECK(check_value(name, variable->second, conduct));
      out += variable->second;
    }
    if (out.size() > limit) break;
    at = close + kClose.size();
  }
  if (out.size() > limit) {
    return fail(Category::kInvalid, "the manifests are larger than " + std::to_string(limit) + " bytes with their variables");
  }
  return out;
}

}  // namespace fleetadm::addon
