// fleetadm sandbox load: what kubectl has of another cluster into one of a sandbox.
#include "commands/framework/dry_run.h"
#include "commands/framework/files.h"
#include "commands/framework/grammar.h"
#include "commands/sandbox/home.h"
#include "commands/sandbox/sandbox.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxDump = 128UL * 1024 * 1024;
constexpr auto kLoadPatience = std::chrono::minutes(5);

struct LoadOptions : NamedSandbox {
  std::string cluster = "hub";
  std::string file;
};

Result<Report> load(Context& context, const LoadOptions& options) {
  FLEETADM_CHECK(refuse_dry_run(context, "sandbox load"));
  FLEETADM_TRY(const auto home, sandbox_home(context));
  const Json description = home.description(options.name);
  if (!description.is_object()) return no_sandbox(home, options.name);
  FLEETADM_TRY(const auto cluster, cluster_of_sandbox(description, options.cluster));
  FLEETADM_TRY(const auto text, read_file_or_stdin(context, options.file, kMaxDump));
  FLEETADM_TRY(auto documents, parse_yaml_documents(text));
  Json objects = Json::array();
  for (auto& document : documents) objects.push_back(std::move(document.value));
  FLEETADM_TRY(Json answer, ask_sandbox(context, options.name,
                                        {{"do", "load"}, {"cluster", cluster}, {"objects", std::move(objects)}}, kLoadPatience));
  Report report;
  report.lines = {std::to_string(num(answer, {"created"})) + " created, " + std::to_string(num(answer, {"updated"})) +
                  " updated, " + std::to_string(num(answer, {"unchanged"})) + " unchanged"};
  for (const Json& one : list_at(answer, {"skipped"}))
    report.notes.push_back("Skipped " + str(one, {"object"}) + ": " + str(one, {"why"}));
  for (const Json& one : list_at(answer, {"failed"})) {
    Error error;
    error.category = Category::kInvalid;
    error.message = str(one, {"object"}) + ": " + str(one, {"why"});
    error.cluster = cluster;
    report.failures.push_back(std::move(error));
  }
  const bool some = num(answer, {"created"}) + num(answer, {"updated"}) + num(answer, {"unchanged"}) > 0;
  if (!report.failures.empty()) report.exit_code = some ? kPartialExitCode : 1;
  answer["kind"] = "LoadReport";
  answer["cluster"] = cluster;
  report.data = std::move(answer);
  return report;
}

Status check_load(const LoadOptions& options) {
  if (options.file.empty()) return fail(Category::kUsage, "missing flag: -f", "pass a file, or - for standard input");
  return check_sandbox(options);
}

}  // namespace

void register_sandbox_load(Registry& registry) {
  Command command;
  command.path = "sandbox load";
  command.target = Target::kSilent;
  command.group = "Sandbox";
  command.summary = "Load the objects of another cluster into one of a sandbox";
  command.description =
      "Reads what \"kubectl get -o yaml\" (or json) printed: lists, or several documents. "
      "Definitions come first, then namespaces, then owners before what they own. "
      "New objects keep their uid, creationTimestamp and status; existing ones are updated to match. "
      "Objects that were being deleted and objects that every cluster creates itself are skipped; "
      "a reference to an owner that is neither loaded nor present is dropped. "
      "Loading the same again changes nothing.";
  command.examples = {{"From another cluster", "kubectl get crd,ns,deploy,cm -A -o yaml | fleetadm sandbox load -f -"},
                      {"From a file, into a spoke", "fleetadm sandbox load -f dump.yaml --cluster c1"}};
  command.args = sandbox_argument();
  command.make = sandbox_invocation<LoadOptions>(
      [](FlagSet& flags, LoadOptions& options) {
        cluster_flag(flags, &options.cluster, "the cluster to load into");
        filename_flag(flags, &options.file, "the dump; \"-\": standard input");
      },
      check_load, load);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
