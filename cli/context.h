// The Context of the real process. Everything in it is made on first use, so that `version --client` pays for nothing.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/written_to.h"
#include "commands/framework/context.h"

namespace fleetadm::cli {

class ProcessContext final : public commands::Context {
 public:
  using Emit = std::function<void(const commands::Report&)>;

  /// `globals` must outlive the context. `emit` prints a report at once. `tell_writes`: each cluster is named on stderr before
  /// the first write to it; else written_to() is for the report.
  ProcessContext(const commands::GlobalOptions& globals, commands::Target target, bool tell_writes, Emit emit);

  const commands::GlobalOptions& global() const override { return globals_; }
  Result<kube::RestConfig> rest_config() override;
  Result<kube::RestConfig> rest_config(const kube::ConfigOverrides& overrides) override;
  Result<kube::Client> client() override;
  kube::Client client(const kube::RestConfig& config) override;
  void name_side(const kube::RestConfig& config, std::string_view side) override { written_to_->name_side(config, side); }
  Result<std::string> ns() override;
  Clock& clock() override;
  commands::Progress& progress() override;
  commands::Terminal& terminal() override { return terminal_; }
  std::stop_token stop() override;
  std::string env(std::string_view name) const override;
  std::string executable() const override;
  void emit(const commands::Report& report) override { emit_(report); }

  const WrittenTo& written_to() const { return *written_to_; }

  /// Takes an unfinished step off the terminal.
  void end_progress() { progress_.reset(); }
  /// Shows on the terminal that an answer is waited for, or erases that.
  void show_waiting(bool waiting);

 private:
  StepProgress& steps();

  const commands::GlobalOptions& globals_;
  Emit emit_;
  ProcessTerminal terminal_;
  std::shared_ptr<Clock> clock_;
  std::mutex progress_mutex_;
  std::unique_ptr<StepProgress> progress_;
  std::shared_ptr<WrittenTo> written_to_;  // shared with the gates of clients, which may outlive a call
  std::optional<kube::RestConfig> config_;
  std::optional<kube::Client> client_;
};

}  // namespace fleetadm::cli
