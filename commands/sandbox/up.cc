// fleetadm sandbox up, down.
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "commands/framework/dry_run.h"
#include "commands/sandbox/home.h"
#include "commands/sandbox/hosting.h"
#include "commands/sandbox/join.h"
#include "commands/sandbox/sandbox.h"
#include "core/sandbox/fleet/home.h"
#include "core/sandbox/fleet/serve.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

constexpr auto kReady = std::chrono::seconds(120);
constexpr auto kStep = std::chrono::milliseconds(20);
constexpr int kMaxClusters = 1000;
constexpr int kMaxNodesUnasked = 10;

// --- up ---

constexpr std::string_view kInProcess = "in-process";
constexpr std::string_view kProcesses = "processes";

struct UpOptions : NamedSandbox {
  std::int64_t clusters = 1;
  bool ephemeral = false;
  std::string nodes = "auto";
  std::string agents = std::string(kInProcess);
  bool join = false;
  bool gateway = false;
  bool foreground = false;

  /// A node is its watches and the processes of its pods: only small sandboxes get them unasked.
  bool has_nodes() const { return nodes == "auto" ? join || clusters <= kMaxNodesUnasked : nodes == "true"; }
};

/// With larger caches of free memory for each thread, which suit many clusters in one process.
std::vector<std::string> server_environment() {
  constexpr std::string_view kTunables = "GLIBC_TUNABLES=";
  std::vector<std::string> variables;
  bool own = false;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
    own = own || variables.back().starts_with(kTunables);
  }
  if (!own) variables.push_back(std::string(kTunables) + "glibc.malloc.tcache_count=120");
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

/// The same command in the foreground, as a process of its own session that outlives this one.
Result<pid_t> spawn(const Context& context, const sandbox::SandboxHome& home, const UpOptions& options) {
  const auto log = home.log(options.name).string();
  std::vector<std::string> words = {context.executable(),
                                    "sandbox",
                                    "up",
                                    "--foreground",
                                    "--name",
                                    options.name,
                                    "--clusters",
                                    std::to_string(options.clusters)};
  if (options.ephemeral) words.emplace_back("--ephemeral");
  words.emplace_back(options.has_nodes() ? "--nodes=true" : "--nodes=false");
  words.push_back("--agents=" + options.agents);
  if (context.global().verbosity > 0) words.push_back("-v=" + std::to_string(context.global().verbosity));
  std::vector<std::string> variables = server_environment();
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> environment = pointers_to(variables);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, words.front().c_str(), &files, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) return fail(Category::kInternal, "cannot start the sandbox's process");
  return pid;
}

std::string last_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  for (std::string next; std::getline(in, next);) {
    if (!next.empty()) line = next;
  }
  return line;
}

Report report_of(const sandbox::SandboxHome& home, const std::string& name) {
  const Json description = home.description(name);
  Report report;
  report.data = {{"kind", "SandboxReport"},
                 {"name", name},
                 {"kubeconfig", home.kubeconfig(name).string()},
                 {"clusters", list_at(description, {"clusters"})}};
  Table table;
  table.columns = {{"CONTEXT", false}, {"SERVER", false}};
  for (const Json& cluster : list_at(description, {"clusters"}))
    table.rows.push_back({name + "-" + str(cluster, {"name"}), str(cluster, {"server"})});
  report.table = std::move(table);
  report.names = {"sandbox/" + name};
  report.notes = {"export KUBECONFIG=" + home.kubeconfig(name).string()};
  return report;
}

/// What up would do, under --dry-run.
Report would_start(const UpOptions& options, bool runs) {
  Report report;
  report.data = {{"kind", "SandboxReport"}, {"name", options.name}, {"spokes", options.clusters},
                 {"start", !runs},          {"join", options.join}, {"dryRun", true}};
  report.names = {"sandbox/" + options.name};
  report.notes = {"sandbox \"" + options.name + "\" " + (runs ? "is running" : "would be started") + " with " +
                  pluralize(static_cast<std::uint64_t>(options.clusters), "spoke") +
                  (options.join ? ", and its clusters would be joined" : "") + " (dry run)"};
  return report;
}

/// Starts the sandbox's process and waits until every cluster answers.
Status start(Context& context, const sandbox::SandboxHome& home, const UpOptions& options) {
  FLEETADM_CHECK(home.write_description(options.name, [&] {
    Json known = home.description(options.name);
    if (!known.is_object()) known = {{"name", options.name}, {"ephemeral", options.ephemeral}, {"clusters", Json::array()}};
    known["ready"] = false;
    return known;
  }()));
  context.progress().begin("Starting " + std::to_string(options.clusters + 1) + " API servers");
  FLEETADM_TRY(const pid_t pid, spawn(context, home, options));
  const auto until = std::chrono::steady_clock::now() + kReady;
  while (true) {
    // The process writes its description anew, without "ready": false, once every cluster answers.
    const Json now = home.description(options.name);
    if (home.running(options.name) && find(now, {"ready"}) == nullptr && !list_at(now, {"clusters"}).empty()) break;
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      context.progress().failed("the process ended");
      return fail(Category::kInternal, "the sandbox did not start: " + last_line(home.log(options.name)));
    }
    if (context.stop().stop_requested() || std::chrono::steady_clock::now() > until) {
      ::kill(pid, SIGTERM);
      const bool cancelled = context.stop().stop_requested();
      return fail(cancelled ? Category::kCancelled : Category::kTimeout,
                  cancelled ? "interrupted" : "the sandbox did not start in time");
    }
    std::this_thread::sleep_for(kStep);
  }
  context.progress().done();
  return {};
}

/// One that is running must be what was asked for: then there is nothing to start.
Status check_running(const sandbox::SandboxHome& home, const UpOptions& options) {
  const Json description = home.description(options.name);
  const auto spokes = static_cast<std::int64_t>(list_at(description, {"clusters"}).size()) - 1;
  const auto what = "sandbox \"" + options.name + "\" is already running";
  const auto stop = "stop it with: fleetadm sandbox down --name " + options.name;
  if (spokes != options.clusters)
    return fail(Category::kConflict, what + ", with " + pluralize(static_cast<std::uint64_t>(spokes), "spoke"), stop);
  const bool nodes = flag(description, {"nodes"});
  if (options.join && !nodes) return fail(Category::kConflict, what + ", without the nodes that --join needs", stop);
  if (options.nodes != "auto" && nodes != options.has_nodes())
    return fail(Category::kConflict, what + (nodes ? ", with" : ", without") + " nodes", stop);
  if (options.agents == kProcesses && flag(description, {"agentsInProcess"}))
    return fail(Category::kConflict, what + ", with the agents in its process", stop);
  if (options.ephemeral && !flag(description, {"ephemeral"})) return fail(Category::kConflict, what + ", not ephemeral", stop);
  return {};
}

Result<Report> up(Context& context, const UpOptions& options) {
  FLEETADM_TRY(const auto home, sandbox_home(context));
  if (options.foreground) {
    FLEETADM_CHECK(refuse_dry_run(context, "sandbox up --foreground"));
    sandbox::ServeOptions serve;
    serve.name = options.name;
    serve.clusters = static_cast<int>(options.clusters);
    serve.ephemeral = options.ephemeral;
    serve.nodes = options.has_nodes();
    serve.executable = context.executable();
    if (options.agents == kInProcess) serve.host = hosting(context);
    FLEETADM_CHECK(sandbox::serve_sandbox(
        home, serve, [] {}, context.stop()));
    return Report{};
  }
  const bool runs = home.running(options.name).has_value();
  if (runs) FLEETADM_CHECK(check_running(home, options));
  if (context.global().dry_run != kube::DryRun::kNone) return would_start(options, runs);
  const bool fresh = !home.description(options.name).is_object();
  if (!runs) FLEETADM_CHECK(start(context, home, options));
  if (options.join) {
    auto spokes = sandbox::cluster_names(static_cast<int>(options.clusters));
    spokes.erase(spokes.begin());
    FLEETADM_CHECK(
        join_sandbox(context, {home.kubeconfig(options.name).string(), options.name, std::move(spokes), options.gateway, fresh}));
  }
  Report report = report_of(home, options.name);
  if (runs) report.notes.insert(report.notes.begin(), "sandbox \"" + options.name + "\" is already running");
  return report;
}

Status check_up(const UpOptions& options) {
  FLEETADM_CHECK(check_sandbox(options));
  if (options.clusters < 0 || options.clusters > kMaxClusters)
    return fail(Category::kUsage, "--clusters: 0 to " + std::to_string(kMaxClusters));
  if (options.join && !options.has_nodes())
    return fail(Category::kUsage, "--join requires nodes and cannot be combined with --nodes=false",
                "the hub and the agents run on them");
  if (options.gateway && !options.join) return fail(Category::kUsage, "--gateway requires --join");
  if (options.join && options.foreground) return fail(Category::kUsage, "--join cannot be combined with --foreground");
  return {};
}

Command up_command() {
  Command command;
  command.path = "sandbox up";
  command.target = Target::kSilent;
  command.group = "Sandbox";
  command.summary = "Start a hub and spokes on this machine, without Kubernetes";
  command.description =
      "Starts one background process with an embedded Kubernetes API server for a hub and for each "
      "spoke, on free loopback ports. Their objects are stored in one file per cluster and survive a "
      "restart. The contexts (sandbox-hub, sandbox-c1, ...) are in the sandbox's own kubeconfig; "
      "\"fleetadm sandbox kubeconfig\" prints it.\n\n"
      "Each cluster has a node, as \"fleetadm sandbox node\" provides. The agents of clusters run in the "
      "sandbox's process; their logs are still those of their pods. "
      "With --join the hub is initialized and every spoke joined and accepted, by the same steps as "
      "init, join and accept; it returns when all clusters are available. With --gateway as well, the "
      "clusters are reached through the hub: fleetadm get pods -A --all-clusters.";
  command.examples = {{"A hub and three spokes", "fleetadm sandbox up --clusters 3"},
                      {"A complete fleet: two clusters, joined and accepted", "fleetadm sandbox up --clusters 2 --join"},
                      {"The same with a gateway, through which the hub reaches the clusters",
                       "fleetadm sandbox up --clusters 2 --join --gateway"},
                      {"In memory only, alongside another sandbox", "fleetadm sandbox up --name test --ephemeral"}};
  command.args = sandbox_argument();
  command.make = sandbox_invocation<UpOptions>(
      [](FlagSet& flags, UpOptions& options) {
        Flag& clusters = flags.integer(&options.clusters, "clusters", "number of spokes in addition to the hub");
        clusters.aliases = {"cluster"};
        clusters.default_text = "1";
        flags.boolean(&options.ephemeral, "ephemeral", "keep objects in memory only");
        flags.boolean(&options.join, "join", "turn the clusters into one fleet: init, join and accept in one step");
        flags.boolean(
            &options.gateway, "gateway",
            "with --join: install the gateway on the hub, too (init --gateway), and let the sandbox's user do everything on "
            "the clusters");
        Flag& nodes = flags.choice(&options.nodes, "nodes", {"auto", "true", "false"},
                                   "give each cluster a node that runs fleetadm's own pods as processes (auto: up to 10 spokes)");
        nodes.arity = Arity::kOptionalValue;
        nodes.no_value = "true";
        nodes.default_text = "auto";
        flags
            .choice(&options.agents, "agents", {std::string(kInProcess), std::string(kProcesses)},
                    "where the nodes run the agents of clusters: in the sandbox's process, or as a process each")
            .default_text = kInProcess;
        flags.boolean(&options.foreground, "foreground", "serve in this process until it is stopped");
      },
      check_up, up);
  return command;
}

// --- down ---

struct DownOptions : NamedSandbox {
  bool keep = false;
};

Result<Report> down(Context& context, const DownOptions& options) {
  FLEETADM_TRY(const auto home, sandbox_home(context));
  const Json description = home.description(options.name);
  if (!description.is_object()) return no_sandbox(home, options.name);
  const bool dry_run = context.global().dry_run != kube::DryRun::kNone;
  if (!dry_run) {
    FLEETADM_CHECK(home.stop(options.name, std::chrono::seconds(20)));
    if (!options.keep) FLEETADM_CHECK(home.remove(options.name));
  }
  Report report;
  report.data = {{"kind", "SandboxReport"}, {"name", options.name}, {"stopped", true}, {"removed", !options.keep}};
  if (dry_run) report.data["dryRun"] = true;
  report.names = {"sandbox/" + options.name};
  report.notes = {"sandbox \"" + options.name + "\" " + (options.keep ? "stopped" : "removed") + (dry_run ? " (dry run)" : "")};
  return report;
}

Command down_command() {
  Command command;
  command.path = "sandbox down";
  command.target = Target::kSilent;
  command.group = "Sandbox";
  command.summary = "Stop a sandbox and remove it";
  command.description =
      "Stops the sandbox's process and removes its objects, keys and kubeconfig. "
      "With --keep they are kept, and \"fleetadm sandbox up\" continues where it stopped.";
  command.examples = {{"Remove the default sandbox", "fleetadm sandbox down"},
                      {"Stop one and keep its objects", "fleetadm sandbox down test --keep"}};
  command.args = sandbox_argument();
  command.make = sandbox_invocation<DownOptions>(
      [](FlagSet& flags, DownOptions& options) { flags.boolean(&options.keep, "keep", "keep objects and keys"); }, check_sandbox,
      down);
  return command;
}

}  // namespace

void register_sandbox_fleet(Registry& registry) {
  registry.add(up_command());
  registry.add(down_command());
  register_sandbox_lists(registry);
}

}  // namespace fleetadm::commands
