#include "cli/argv/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/argv/suggest.h"

namespace fleetadm::cli {
namespace {

using commands::Flag;

Status set_one(const Flag& flag, const std::string& value) {
  if (!flag.values.empty() && std::find(flag.values.begin(), flag.values.end(), value) == flag.values.end()) {
    std::string allowed;
    for (const std::string& one : flag.values) allowed += (allowed.empty() ? "" : ", ") + one;
    const std::vector<std::string> near = nearest(value, flag.values);
    return fail(Category::kUsage, "invalid value \"" + value + "\" for --" + flag.name + ": must be one of " + allowed,
                near.empty() ? "" : "did you mean " + near.front() + "?");
  }
  if (!flag.set) return {};
  if (Status ok = flag.set(value); !ok) {
    Error error = std::move(ok).error();
    error.category = Category::kUsage;
    error.message = "invalid value \"" + value + "\" for --" + flag.name + ": " + error.message;
    return fail(std::move(error));
  }
  return {};
}

Status missing_flags(const std::vector<std::pair<const Flag*, CLI::Option*>>& options) {
  std::string missing;
  for (const auto& [flag, option] : options)
    if (flag->required && option->count() == 0) missing += (missing.empty() ? "--" : ", --") + flag->name;
  return fail(Category::kUsage,
              "missing required " + std::string(missing.find(',') == std::string::npos ? "flag: " : "flags: ") + missing);
}

}  // namespace

Status set_flags(const NormalArgv& argv, const FlagList& flags) {
  CLI::App app;
  app.set_help_flag();  // help is the registry's
  std::vector<std::pair<const Flag*, CLI::Option*>> options;
  try {
    for (const Flag* flag : flags) {
      CLI::Option* option = app.add_option("--" + flag->name, CLI::callback_t{}, "");
      // One word a flag ("-f a x": x is an argument) and no "[a,b]" lists.
      option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      option->required(flag->required);
      options.emplace_back(flag, option);
    }
    app.parse(std::vector<std::string>(argv.flags.rbegin(), argv.flags.rend()));
  } catch (const CLI::RequiredError&) {
    return missing_flags(options);
  } catch (const CLI::Error& error) {
    return fail(Category::kUsage, error.what());
  }
  for (const auto& [flag, option] : options) {
    const std::vector<std::string>& values = option->results();  // raw: CLI11's own conversions rewrite "{}"
    if (values.empty()) continue;
    if (!flag->repeated) {
      FLEETADM_CHECK(set_one(*flag, values.back()));
      continue;
    }
    for (const std::string& value : values) FLEETADM_CHECK(set_one(*flag, value));
  }
  return {};
}

}  // namespace fleetadm::cli
