#include "cli/context.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <unistd.h>

#include "cli/signals.h"
#include "kubeclient/base/log.h"
#include "kubeclient/rest/kill_hook.h"

namespace fleetadm::cli {

using commands::GlobalOptions;

ProcessContext::ProcessContext(const GlobalOptions& globals, commands::Target target, bool tell_writes, Emit emit)
    : globals_(globals), emit_(std::move(emit)) {
  WrittenTo::Say say;
  if (tell_writes) say = [this](const std::string& line) { progress().say(line); };
  written_to_ = std::make_shared<WrittenTo>(target, std::move(say));
}

Result<kube::RestConfig> ProcessContext::rest_config() {
  if (!config_) {
    FLEETADM_TRY(config_, rest_config(globals_.config));
  }
  return *config_;
}

Result<kube::RestConfig> ProcessContext::rest_config(const kube::ConfigOverrides& overrides) {
  kube::ConfigOverrides wanted = overrides;
  wanted.interactive = terminal_.interactive();
  auto config = kube::load_rest_config(wanted);
  if (config) log::info(1, "connection", connection_text(*config));
  return config;
}

Result<kube::Client> ProcessContext::client() {
  if (!client_) {
    FLEETADM_TRY(const kube::RestConfig config, rest_config());
    client_ = client(config);
  }
  return *client_;
}

kube::Client ProcessContext::client(const kube::RestConfig& config) {
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = globals_.dry_run;
  const bool own = config_ && config_->server == config.server && config_->name == config.name;
  if (globals_.dry_run == kube::DryRun::kNone) {
    gate->after = [keep = written_to_, count = written_to_->count()](kube::Method method, std::string_view path, int status) {
      count(method, path, status);
    };
    progress();  // made here: writes may come from several threads
    if (auto hook = written_to_->hook(config, own)) {
      gate->before = [keep = written_to_, hook = std::move(hook)](kube::Method method, std::string_view path) {
        return hook(method, path);
      };
    }
  }
  kube::install_kill_hook(*gate);
  kube::Client made = kube::Client::connect(config, std::move(gate)).with_stop(stop());
  return globals_.request_timeout > Duration::zero() ? made.with_timeout(globals_.request_timeout) : made;
}

Result<std::string> ProcessContext::ns() {
  if (!globals_.config.ns.empty()) return globals_.config.ns;
  FLEETADM_TRY(const kube::RestConfig config, rest_config());
  return config.default_namespace.empty() ? std::string("default") : config.default_namespace;
}

Clock& ProcessContext::clock() {
  if (!clock_) clock_ = Clock::system();
  return *clock_;
}

commands::Progress& ProcessContext::progress() { return steps(); }

StepProgress& ProcessContext::steps() {
  const std::lock_guard lock(progress_mutex_);  // retries are told from the threads that wait
  if (!progress_) {
    const bool silent = globals_.quiet;
    progress_ = make_progress(silent, use_color(globals_.color, STDERR_FILENO), ::isatty(STDERR_FILENO) == 1);
  }
  return *progress_;
}

void ProcessContext::show_waiting(bool waiting) {
  if (waiting) {
    steps().waiting("Waiting for the server to answer");
  } else {
    steps().not_waiting();
  }
}

std::stop_token ProcessContext::stop() { return stop_on_signals(); }

std::string ProcessContext::env(std::string_view name) const {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? "" : value;
}

std::string ProcessContext::executable() const {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  return length <= 0 ? std::string("fleetadm") : std::string(path.data(), static_cast<std::size_t>(length));
}

}  // namespace fleetadm::cli
