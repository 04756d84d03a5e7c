// What the sandbox commands share: whose sandboxes, which one, and how to ask its process.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "core/sandbox/fleet/home.h"

namespace fleetadm::commands {

inline constexpr const char* kSandboxName = "sandbox";  // the default

Result<sandbox::SandboxHome> sandbox_home(const Context& context);
Status check_sandbox_name(const std::string& name);

/// Of every command that is about one sandbox, which --name names.
struct NamedSandbox {
  std::string name = kSandboxName;
};
void bind_sandbox(FlagSet& flags, NamedSandbox& options);
Status check_sandbox(const NamedSandbox& options);

/// The only argument of most of them is that name, too.
Args sandbox_argument();
/// Takes the name from the argument, if there is one; kUsage where --name gives another.
Status take_sandbox(NamedSandbox& options, const std::vector<std::string>& args);

/// The call of a command whose argument is sandbox_argument(): its options are a NamedSandbox.
///   bind(FlagSet&, Options&); validate(const Options&) -> Status; run(Context&, const Options&) -> Result<Report>
template <class Options, class Bind, class Validate, class Run>
std::function<Invocation()> sandbox_invocation(Bind bind, Validate validate, Run run) {
  return invocation<Options>(
      [bind](FlagSet& flags, Options& options) {
        bind_sandbox(flags, options);
        bind(flags, options);
      },
      [](const Options&, const std::vector<std::string>&) -> Status { return {}; },
      [validate, run](Context& context, Options options, const std::vector<std::string>& args) -> Result<Report> {
        FLEETADM_CHECK(take_sandbox(options, args));
        FLEETADM_CHECK(validate(options));
        return run(context, options);
      });
}

/// kNotFound, with the near names of the sandboxes that there are.
tl::unexpected<Error> no_sandbox(const sandbox::SandboxHome& home, const std::string& name);

/// "c1" and, with the sandbox's name before it, the context's "sandbox-c1"; kNotFound where it has no such cluster.
Result<std::string> cluster_of_sandbox(const Json& description, const std::string& name);

/// Asks the running sandbox's process (core/sandbox/fleet/operations.h). kNotFound, or kUnavailable where it does not run.
Result<Json> ask_sandbox(const Context& context, const std::string& name, const Json& request,
                         Duration patience = std::chrono::seconds(20));

}  // namespace fleetadm::commands
