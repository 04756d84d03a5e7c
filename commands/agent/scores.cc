// fleetadm agent scores: the agent of the add-on resource-usage-collect.
#include <map>

#include "commands/agent/agent.h"
#include "core/addon/score/publisher.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::commands {
namespace {

struct ScoresOptions {
  std::string hub_kubeconfig;
  std::string cluster;
  std::string name = "resource-usage-score";
  std::string source = "auto";
  std::string most_cpu = "100";
  std::string most_memory = "1Ti";
  std::string health_address;
  Duration refresh = std::chrono::seconds(60);
};

void bind_scores(FlagSet& flags, ScoresOptions& options) {
  Flag& file = flags.text(&options.hub_kubeconfig, "hub-kubeconfig", "Kubeconfig file of the hub");
  file.value_name = "FILE";
  file.complete = Complete::kFiles;
  flags.text(&options.cluster, "cluster-name", "Name of this cluster on the hub");
  flags.text(&options.name, "name", "Name of the score object").default_text = options.name;
  flags
      .choice(&options.source, "source", {"auto", "requests", "metrics"},
              "Count what pods request, or what metrics.k8s.io measures (auto: metrics if the cluster has them)")
      .default_text = options.source;
  flags.text(&options.most_cpu, "max-cpu", "Free CPU at which the score is 100").default_text = options.most_cpu;
  flags.text(&options.most_memory, "max-memory", "Free memory at which the score is 100").default_text = options.most_memory;
  flags.duration(&options.refresh, "refresh", "How often scores are published again").default_text = "60s";
  flags.text(&options.health_address, "health-address", "Address of the health and metrics server, such as :8000 (default: none)")
      .value_name = "HOST:PORT";
}

Result<double> positive_quantity(const std::string& flag, const std::string& text) {
  const auto parsed = Quantity::parse(text);
  if (!parsed || !(parsed->approximate() > 0))
    return fail(Category::kUsage, flag + " \"" + text + "\" is not a positive quantity", "write it as in requests: 64, 512Gi");
  return parsed->approximate();
}

Status validate_scores(const ScoresOptions& options, const std::vector<std::string>&) {
  if (options.hub_kubeconfig.empty()) return fail(Category::kUsage, "--hub-kubeconfig is required");
  if (options.cluster.empty()) return fail(Category::kUsage, "--cluster-name is required");
  if (options.refresh < std::chrono::seconds(1)) return fail(Category::kUsage, "--refresh must be at least 1s");
  FLEETADM_CHECK(positive_quantity("--max-cpu", options.most_cpu));
  FLEETADM_CHECK(positive_quantity("--max-memory", options.most_memory));
  return {};
}

Result<Report> run_scores(Context& context, const ScoresOptions& options, const std::vector<std::string>&) {
  if (context.global().dry_run != kube::DryRun::kNone)
    return fail(Category::kUsage, "--dry-run does not apply to \"agent scores\", which is a long-running process");
  static const std::map<std::string, addon::ScoreSource> kSources = {{"auto", addon::ScoreSource::kAuto},
                                                                     {"requests", addon::ScoreSource::kRequests},
                                                                     {"metrics", addon::ScoreSource::kMetrics}};
  addon::PublisherOptions publisher;
  publisher.cluster = options.cluster;
  publisher.name = options.name;
  publisher.source = kSources.at(options.source);
  publisher.score.refresh = options.refresh;
  FLEETADM_TRY(publisher.score.most.cpu, positive_quantity("--max-cpu", options.most_cpu));
  FLEETADM_TRY(publisher.score.most.memory, positive_quantity("--max-memory", options.most_memory));
  kube::ConfigOverrides of_hub;
  of_hub.kubeconfig = options.hub_kubeconfig;
  of_hub.interactive = false;
  FLEETADM_TRY(const auto hub, context.rest_config(of_hub));
  FLEETADM_TRY(const auto spoke, context.rest_config());
  controller::Manager::Options how;
  how.threads = 2;
  how.health_address = options.health_address;
  controller::Manager manager(how);
  addon::add_score_publisher(manager, context.client(hub), context.client(spoke), publisher);
  FLEETADM_CHECK(manager.run(context.stop()));
  return Report{};
}

}  // namespace

void register_agent_scores(Registry& registry) {
  Command command;
  command.path = "agent scores";
  command.target = Target::kSilent;
  command.group = "Programs";
  command.summary = "Publish what a managed cluster has free as scores";
  command.description =
      "Keeps an AddOnPlacementScore in the cluster's namespace on the hub, with the scores cpuAvailable and memAvailable "
      "(100 × free / maximum, -100 if nothing is free). They are published every minute, and when nodes or pods "
      "change. The add-on resource-usage-collect runs it on managed clusters.\n\n"
      "The cluster is the one of --kubeconfig, and inside a pod the pod's own.";
  command.examples = {{"Outside of a cluster",
                       "fleetadm agent scores --kubeconfig spoke.kubeconfig --hub-kubeconfig "
                       "hub.kubeconfig --cluster-name c1"}};
  command.make = invocation<ScoresOptions>(bind_scores, validate_scores, run_scores);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
