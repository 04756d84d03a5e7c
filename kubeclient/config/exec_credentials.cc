// Exec credential plugins: the protocol and its cache. How a process is run is process.h's part.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "kubeclient/base/log.h"
#include "kubeclient/config/credentials.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/process.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::kube {
namespace {

constexpr std::size_t kMaxOutput = 1U << 20U;
// Requests that were on their way when a credential was replaced fail a moment later; the plugin need not run for each.
constexpr Duration kSettled = std::chrono::seconds(5);
constexpr auto kLook = std::chrono::milliseconds(50);  // at whether the wait for another's run is to end
using SteadyTime = std::chrono::steady_clock::time_point;

struct Answer {
  Credentials credentials;
  std::optional<Instant> expires;
};

class ExecSource final : public CredentialSource {
 public:
  ExecSource(ExecPlugin plugin, std::shared_ptr<Clock> clock) : plugin_(std::move(plugin)), clock_(std::move(clock)) {}

  Result<Credentials> current() override { return current_within(SteadyTime::max(), {}); }

  Result<Credentials> current_within(SteadyTime deadline, const std::stop_token& stop) override {
    // Held while the plugin runs: callers that wait need its answer, too.
    std::unique_lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_until(std::min(deadline, std::chrono::steady_clock::now() + kLook))) {
      if (stop.stop_requested()) return fail(Category::kCancelled, "cancelled");
      if (std::chrono::steady_clock::now() >= deadline)
        return fail(Category::kTimeout, "exec plugin " + plugin_.command + " did not end in time");
    }
    const Instant now = clock_->now();
    if (cached_ && (!cached_->expires || now <= *cached_->expires)) return cached_->credentials;
    FLEETADM_TRY(Answer answer, ask(deadline, stop));
    cached_ = std::move(answer);
    return cached_->credentials;
  }

  bool refresh() override {
    const std::lock_guard lock(mutex_);
    const Instant now = clock_->now();
    if (!cached_ || (renewed_ && now - *renewed_ < kSettled)) return true;
    cached_.reset();
    renewed_ = now;
    return true;
  }

  bool blocks() const override { return true; }

 private:
  Result<Answer> ask(SteadyTime deadline, const std::stop_token& stop) const {
    const bool interactive = plugin_.interactive_mode != "Never" && plugin_.terminal;
    if (plugin_.interactive_mode == "Always" && !plugin_.terminal) {
      return fail(Category::kAuth, "the exec plugin " + plugin_.command +
                                       " needs a terminal (interactiveMode: Always), and standard input is none");
    }
    Json spec = {{"interactive", interactive}};
    if (plugin_.cluster.is_object()) spec["cluster"] = plugin_.cluster;
    const Json info = {{"kind", "ExecCredential"}, {"apiVersion", plugin_.api_version}, {"spec", std::move(spec)}};
    ProcessOptions options;
    options.command = plugin_.command;
    options.args = plugin_.args;
    options.env = plugin_.env;
    options.env.emplace_back("KUBERNETES_EXEC_INFO", dump_json(info));
    options.keep_stdin = interactive;
    options.max_output = kMaxOutput;
    options.timeout = interactive ? plugin_.timeout * 10 : plugin_.timeout;
    // A person who is asked for a password is not hurried by a request's time-out.
    if (!interactive && deadline != SteadyTime::max())
      options.timeout =
          std::min<Duration>(options.timeout, std::max<Duration>(deadline - std::chrono::steady_clock::now(), Duration(1)));
    options.stop = stop;
    auto done = run_process(options);
    if (!done) {
      Error error = done.error();
      const bool ended = error.category == Category::kTimeout || error.category == Category::kCancelled;
      if (!ended) error.category = Category::kAuth;
      if (done.error().category == Category::kNotFound) {
        error.message = "exec: executable " + plugin_.command + " not found";
        error.hint = plugin_.install_hint.empty() ? "install it, or put its folder on PATH"
                                                  : log::escape_terminal(plugin_.install_hint, true);
      } else {
        error = error.wrap("exec plugin " + plugin_.command);
      }
      return fail(std::move(error));
    }
    if (done->exit_code != 0) {
      return fail(Category::kAuth,
                  "exec: executable " + plugin_.command + " failed with exit code " + std::to_string(done->exit_code));
    }
    auto answer = read_answer(done->output);
    if (!answer) return fail(answer.error().wrap("exec plugin " + plugin_.command));
    return answer;
  }

  Result<Answer> read_answer(const std::string& output) const {
    auto parsed = parse_json(output);
    if (!parsed) return fail(Category::kAuth, "its output is no ExecCredential: " + parsed.error().message);
    if (str(*parsed, {"kind"}) != "ExecCredential" || str(*parsed, {"apiVersion"}) != plugin_.api_version) {
      return fail(Category::kAuth, "its output is no ExecCredential of " + plugin_.api_version + ", which the kubeconfig names");
    }
    Answer answer;
    answer.credentials.token = str(*parsed, {"status", "token"});
    answer.credentials.client_certificate = str(*parsed, {"status", "clientCertificateData"});
    answer.credentials.client_key = str(*parsed, {"status", "clientKeyData"});
    const bool certificate = !answer.credentials.client_certificate.empty();
    if (certificate != !answer.credentials.client_key.empty()) {
      return fail(Category::kAuth, "its answer has only one of clientCertificateData and clientKeyData");
    }
    if (!certificate && answer.credentials.token.empty()) {
      return fail(Category::kAuth, "its answer has neither a token nor a client certificate");
    }
    if (certificate && !pki::key_matches(answer.credentials.client_certificate, answer.credentials.client_key)) {
      return fail(Category::kAuth, "its client certificate does not belong to its key");
    }
    const std::string expires = str(*parsed, {"status", "expirationTimestamp"});
    if (expires.empty()) return answer;
    answer.expires = parse_time(expires);
    if (!answer.expires) return fail(Category::kAuth, "its expirationTimestamp is no RFC 3339 time");
    return answer;
  }

  const ExecPlugin plugin_;
  const std::shared_ptr<Clock> clock_;
  std::timed_mutex mutex_;
  std::optional<Answer> cached_;
  std::optional<Instant> renewed_;
};

}  // namespace

std::shared_ptr<CredentialSource> exec_credentials(ExecPlugin plugin, std::shared_ptr<Clock> clock) {
  return std::make_shared<ExecSource>(std::move(plugin), std::move(clock));
}

std::shared_ptr<CredentialSource> shared_exec_credentials(ExecPlugin plugin) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<CredentialSource>> sources;
  const std::string how = dump_json(Json{plugin.command, plugin.args, plugin.env, plugin.api_version, plugin.interactive_mode,
                                         plugin.cluster, plugin.terminal});
  const std::scoped_lock lock(mutex);
  auto& source = sources[how];
  if (!source) source = exec_credentials(std::move(plugin));
  return source;
}

}  // namespace fleetadm::kube
