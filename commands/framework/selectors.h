// Selectors and taints as the values of flags say them.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::commands {

/// A label selector's text ("env=prod,tier in (gold,silver),!x") as metav1.LabelSelector; kUsage names the term that is wrong.
Result<Json> parse_selector(std::string_view text);

/// The same with each term as one of matchExpressions: claim selectors have no matchLabels. `flag` is named in errors.
Result<Json> selector_expressions(std::string_view text, std::string_view flag);

/// The hint for a word that is no effect of a taint: the near one, else all of them.
std::string taint_effect_hint(const std::string& word);

/// kUsage: `--FLAG "WORD": why`.
tl::unexpected<Error> bad_value_of(std::string_view flag, std::string_view word, std::string_view why, std::string hint = {});

}  // namespace fleetadm::commands
