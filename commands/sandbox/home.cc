#include "commands/sandbox/home.h"

#include "commands/framework/suggest.h"
#include "core/sandbox/fleet/control.h"

namespace fleetadm::commands {

Result<sandbox::SandboxHome> sandbox_home(const Context& context) {
  return sandbox::SandboxHome::of(context.env("FLEETADM_SANDBOX_DIR"), context.env("XDG_STATE_HOME"), context.env("HOME"));
}

Status check_sandbox_name(const std::string& name) {
  if (sandbox::is_sandbox_name(name)) return {};
  return fail(Category::kUsage, "\"" + name + "\" is not a valid sandbox name", "use up to 40 lowercase letters, digits and '-'");
}

void bind_sandbox(FlagSet& flags, NamedSandbox& options) {
  Flag& flag = flags.text(&options.name, "name", "name of the sandbox");
  flag.value_name = "NAME";
  flag.complete = Complete::kSandboxes;
  flag.default_text = options.name;
}

Status check_sandbox(const NamedSandbox& options) { return check_sandbox_name(options.name); }

Args sandbox_argument() { return {"[NAME]", 0, 1, false, Complete::kSandboxes}; }

Status take_sandbox(NamedSandbox& options, const std::vector<std::string>& args) {
  if (args.empty() || args.front() == options.name) return {};
  if (options.name != kSandboxName)
    return fail(Category::kUsage, "the argument names sandbox \"" + args.front() + "\", --name \"" + options.name + "\"",
                "omit one of the two");
  options.name = args.front();
  return {};
}

tl::unexpected<Error> no_sandbox(const sandbox::SandboxHome& home, const std::string& name) {
  return fail(Category::kNotFound, "there is no sandbox \"" + name + "\"",
              did_you_mean(name, home.names(), "list the sandboxes with: fleetadm sandbox list"));
}

Result<std::string> cluster_of_sandbox(const Json& description, const std::string& name) {
  const auto prefix = str(description, {"name"}) + "-";
  std::vector<std::string> all;
  for (const Json& cluster : list_at(description, {"clusters"})) {
    const auto known = str(cluster, {"name"});
    if (name == known || name == prefix + known) return known;
    all.push_back(known);
  }
  return fail(Category::kNotFound, "the sandbox has no cluster \"" + name + "\"",
              did_you_mean(name, all, "list the clusters with: fleetadm sandbox list -o yaml"));
}

Result<Json> ask_sandbox(const Context& context, const std::string& name, const Json& request, Duration patience) {
  FLEETADM_TRY(const auto home, sandbox_home(context));
  if (!home.description(name).is_object()) return no_sandbox(home, name);
  if (!home.running(name))
    return fail(Category::kUnavailable, "sandbox \"" + name + "\" is not running",
                "start it with: fleetadm sandbox up --name " + name);
  return sandbox::control_call(home.folder(name), request, patience);
}

}  // namespace fleetadm::commands
