// A command is one registry row. The row feeds help, completion, man pages, the README's table and the tests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/context.h"
#include "commands/framework/report.h"

namespace fleetadm::commands {

enum class Arity { kNone, kValue, kOptionalValue };  // bool flags are kOptionalValue ("--wait", "--wait=false")

/// Where completion takes live values from.
enum class Complete {
  kNone,
  kFiles,
  kFolders,
  kContexts,
  kNamespaces,
  kClusters,
  kClusterSets,
  kPlacements,
  kWorks,
  kRollouts,
  kAddons,
  kSandboxes,
  kOutput,
  kValues,
};

struct Flag {
  std::string name;                  // "cluster-name"
  std::vector<std::string> aliases;  // other names that mean the same; accepted, and not shown
  char letter = 0;                   // 'n' or 0
  Arity arity = Arity::kValue;
  std::string value_name;    // "NAME" in help
  std::string help;          // one sentence, no full stop
  std::string default_text;  // shown as (default "x"); empty: not shown
  std::string no_value;      // what "--flag" alone means for kOptionalValue
  bool repeated = false;
  bool required = false;
  bool hidden = false;
  Complete complete = Complete::kNone;
  std::vector<std::string> values;  // allowed ones (kValues): checked, completed, named in errors
  std::function<Status(std::string_view)> set;
};

/// Flags bound to the fields of an Options struct. The returned reference may be refined: `flags.text(...).required = true`.
class FlagSet {
 public:
  Flag& text(std::string* into, std::string name, std::string help, char letter = 0);
  Flag& texts(std::vector<std::string>* into, std::string name, std::string help, char letter = 0);        // repeated
  Flag& comma_texts(std::vector<std::string>* into, std::string name, std::string help, char letter = 0);  // a,b and repeated
  Flag& boolean(bool* into, std::string name, std::string help, char letter = 0);
  Flag& integer(std::int64_t* into, std::string name, std::string help, char letter = 0);
  Flag& duration(Duration* into, std::string name, std::string help, char letter = 0);  // "30s", "5m"; a bare number: seconds
  Flag& choice(std::string* into, std::string name, std::vector<std::string> values, std::string help, char letter = 0);

  /// Where the flags that all lists of API objects share are kept until the call's GlobalOptions have them (list_flags).
  std::shared_ptr<ListOutput> list;

  std::vector<Flag>& flags() { return flags_; }
  const std::vector<Flag>& flags() const { return flags_; }
  /// The flag of that name, as "cluster-name"; null: there is none.
  Flag* find(std::string_view name);

 private:
  std::vector<Flag> flags_;
};

struct Example {
  std::string comment;
  std::string line;
};

struct Args {
  std::string usage;  // "NAME [NAME...]" in the usage line
  int min = 0;
  int max = 0;              // -1: any number
  bool after_dash = false;  // takes arguments after "--" (passed on as they are)
  Complete complete = Complete::kNone;
  std::vector<std::string> values = {};  // for kValues
};

class Program;
struct Hosting;

/// One parsed call: flags to bind, then run.
struct Invocation {
  FlagSet flags;
  std::function<Result<Report>(Context&, const std::vector<std::string>& args)> run;
  /// Of a program that can share a process with others (program.h). Null: with these options it needs a process of its own.
  std::function<Result<std::unique_ptr<Program>>(std::shared_ptr<Context>, const Hosting&)> start;
};

/// Where a command's own connection leads, for the line that names the cluster that was written to.
enum class Target {
  kHub,
  kCluster,  // a managed cluster (join, unjoin); a second connection of the command leads to the hub
  kSilent,   // a program or a sandbox, which tells where it writes by itself, and what has no connection
};

struct Command {
  std::string path;         // "clusterset bind"
  std::string group;        // heading in help: "Fleet", "Clusters", "Placement", "Work", "Programs", "Sandbox", "Other"
  std::string summary;      // one line, verb first
  std::string description;  // paragraphs, may be empty
  Args args;
  std::vector<Example> examples;
  std::vector<std::string> aliases;  // other paths ("get mcl")
  bool hidden = false;
  bool tree = false;  // its reports have branches (-o tree)
  /// Of a path that is a group, too: flags ("--clusters", "-c"), one of which makes it this command. Without them it is the
  /// group.
  std::vector<std::string> chosen_by;
  Target target = Target::kHub;
  std::function<Invocation()> make;
};

/// A call whose `options` are bound to its flags, and validated before it runs.
template <class Options, class Bind, class Validate, class Run>
Invocation bound_invocation(const std::shared_ptr<Options>& options, const Bind& bind, const Validate& validate, const Run& run) {
  Invocation call;
  bind(call.flags, *options);
  call.run = [options, validate, run](Context& context, const std::vector<std::string>& args) -> Result<Report> {
    if (Status ok = validate(*options, args); !ok) return tl::unexpected(ok.error());
    return run(context, *options, args);
  };
  return call;
}

/// The usual row: Options are made anew for each call, bound, validated, then run.
///   bind(FlagSet&, Options&); validate(const Options&, args) -> Status; run(Context&, const Options&, args) -> Result<Report>
template <class Options, class Bind, class Validate, class Run>
std::function<Invocation()> invocation(Bind bind, Validate validate, Run run) {
  return [bind, validate, run] { return bound_invocation(std::make_shared<Options>(), bind, validate, run); };
}

/// The row of a program that can share a process with others.
///   start(std::shared_ptr<Context>, const Options&, const Hosting&) -> Result<std::unique_ptr<Program>>
template <class Options, class Bind, class Validate, class Run, class Start>
std::function<Invocation()> program_invocation(Bind bind, Validate validate, Run run, Start start) {
  return [bind, validate, run, start] {
    const auto options = std::make_shared<Options>();
    Invocation call = bound_invocation(options, bind, validate, run);
    call.start = [options, validate, start](std::shared_ptr<Context> context,
                                            const Hosting& hosting) -> Result<std::unique_ptr<Program>> {
      if (Status ok = validate(*options, {}); !ok) return tl::unexpected(ok.error());
      return start(std::move(context), *options, hosting);
    };
    return call;
  };
}

/// A page about something that several commands share: fleetadm-NAME(7), and "fleetadm help NAME".
struct Topic {
  /// Paragraphs are separated by blank lines. A paragraph whose lines begin with four blanks is shown as it is; lines that begin
  /// with "* TERM: " are the entries of a list, each one line.
  struct Section {
    std::string title;  // "PLACEMENT"
    std::string text;
  };
  std::string name;
  std::string summary;   // as of a command
  std::string synopsis;  // lines
  std::vector<Section> sections;
};

class Registry {
 public:
  void add(Command command) { commands_.push_back(std::move(command)); }
  const std::vector<Command>& commands() const { return commands_; }
  /// The command with this path or alias ("get clusters"); null: there is none.
  const Command* find(std::string_view path) const;
  void add_topic(Topic topic) { topics_.push_back(std::move(topic)); }
  const std::vector<Topic>& topics() const { return topics_; }

 private:
  std::vector<Command> commands_;
  std::vector<Topic> topics_;
};

/// Every command of the program; one line a group (commands/all.cc).
void register_all(Registry& registry);

}  // namespace fleetadm::commands
