#include "commands/sandbox/hosting.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stop_token>

#include "commands/framework/command.h"
#include "commands/framework/program.h"
#include "kubeclient/config/in_cluster.h"

namespace fleetadm::commands {
namespace {

/// What a program finds around it: the variables of its container, and the pod's own cluster.
class PodContext final : public Context {
 public:
  PodContext(Context& outer, const std::vector<std::string>& environment) : outer_(outer) {
    for (const std::string& variable : environment) {
      const auto equals = variable.find('=');
      if (equals != std::string::npos) variables_[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
  }
  const GlobalOptions& global() const override { return globals_; }
  Result<kube::RestConfig> rest_config() override {
    return kube::in_cluster_config([this](const char* name) { return env(name); });
  }
  Result<kube::RestConfig> rest_config(const kube::ConfigOverrides& /*overrides*/) override {
    return fail(Category::kUnsupported, "a program of the sandbox's process has no kubeconfig");
  }
  Result<kube::Client> client() override {
    FLEETADM_TRY(const auto config, rest_config());
    return client(config);
  }
  kube::Client client(const kube::RestConfig& config) override {
    return kube::Client::connect(config).with_stop(stop_.get_token());
  }
  Result<std::string> ns() override {
    return kube::in_cluster_namespace([this](const char* name) { return env(name); });
  }
  Clock& clock() override { return outer_.clock(); }
  Progress& progress() override { return outer_.progress(); }
  Terminal& terminal() override { return outer_.terminal(); }
  std::stop_token stop() override { return stop_.get_token(); }
  std::string env(std::string_view name) const override {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::string() : found->second;
  }
  std::string executable() const override { return outer_.executable(); }
  void emit(const Report& /*report*/) override {}

  void terminate() { stop_.request_stop(); }

 private:
  Context& outer_;
  GlobalOptions globals_;
  std::map<std::string, std::string, std::less<>> variables_;
  std::stop_source stop_;
};

class Hosted final : public sandbox::HostedProgram {
 public:
  Hosted(std::shared_ptr<PodContext> context, std::unique_ptr<Program> program)
      : context_(std::move(context)), program_(std::move(program)) {}
  ~Hosted() override { context_->terminate(); }
  void terminate() override { context_->terminate(); }

 private:
  std::shared_ptr<PodContext> context_;
  std::unique_ptr<Program> program_;  // last: it ends first
};

/// Sets the flags of "--name=value" words; nothing where one is not of that form, or not a flag of the command.
std::optional<Status> set_flags(FlagSet& flags, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string::npos) return std::nullopt;
    const std::string name = word.substr(2, equals - 2);
    const Flag* flag = flags.find(name);
    if (flag == nullptr) return std::nullopt;
    if (Status set = flag->set(word.substr(equals + 1)); !set) return fail(set.error().wrap("--" + name));
  }
  return Status{};
}

}  // namespace

sandbox::HostOnPool hosting(Context& context) {
  const auto registry = std::make_shared<Registry>();
  register_all(*registry);
  return [&context, registry](
             const sandbox::ChildSpec& spec,
             const std::shared_ptr<controller::WorkerPool>& pool) -> Result<std::unique_ptr<sandbox::HostedProgram>> {
    const bool own_kubeconfig = std::any_of(spec.environment.begin(), spec.environment.end(),
                                            [](const std::string& variable) { return variable.starts_with("KUBECONFIG="); });
    if (own_kubeconfig || spec.args.size() < 2) return nullptr;
    const std::string path = spec.args[0] + " " + spec.args[1];
    const Command* command = registry->find(path);
    if (command == nullptr) return nullptr;
    Invocation call = command->make();
    if (!call.start) return nullptr;
    const auto set = set_flags(call.flags, {spec.args.begin() + 2, spec.args.end()});
    if (!set) return nullptr;
    FLEETADM_CHECK(*set);
    const auto inside = std::make_shared<PodContext>(context, spec.environment);
    FLEETADM_TRY(auto program, call.start(inside, Hosting{pool, spec.output_file}));
    if (!program) return nullptr;
    return std::make_unique<Hosted>(inside, std::move(program));
  };
}

}  // namespace fleetadm::commands
