// A command's surroundings without a process: a client of the caller's, an answer to every question, and a record of what was
// told.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands/framework/command.h"
#include "commands/framework/context.h"

namespace fleetadm::testkit {

class QuietProgress final : public commands::Progress {
 public:
  void begin(std::string_view step) override { told.emplace_back(step); }
  void note(std::string_view) override {}
  void done(std::string_view) override {}
  void failed(std::string_view why) override { told.emplace_back(why); }
  void warn(std::string_view text) override { told.emplace_back(text); }
  void say(std::string_view text) override { told.emplace_back(text); }
  std::vector<std::string> told;
};

class FakeTerminal final : public commands::Terminal {
 public:
  bool interactive() const override { return terminal; }
  bool stdout_is_terminal() const override { return output_shown; }
  Result<bool> confirm(std::string_view question) override {
    asked.emplace_back(question);
    return answer;
  }
  Result<std::string> read_stdin() override { return input; }
  Result<Input> read_stdin_some(std::string& into, Duration) override {
    if (input_read) return Input::kEnd;
    into += input;
    input_read = true;
    return Input::kMore;
  }
  bool write_stdout(std::string_view text) override {
    output += text;
    return true;
  }
  bool write_stderr(std::string_view text) override {
    errors += text;
    return true;
  }
  bool terminal = false;
  bool output_shown = false;  // stdout is a terminal
  bool answer = true;
  std::vector<std::string> asked;
  std::string input;
  bool input_read = false;
  std::string output;
  std::string errors;
};

class FakeContext final : public commands::Context {
 public:
  explicit FakeContext(kube::Client hub, std::shared_ptr<Clock> time = Clock::system())
      : hub_(std::move(hub)), clock_(std::move(time)) {
    globals.dry_run = hub_.gate().dry_run;
  }

  const commands::GlobalOptions& global() const override { return globals; }
  Result<kube::RestConfig> rest_config() override { return config; }
  Result<kube::RestConfig> rest_config(const kube::ConfigOverrides&) override { return config; }
  Result<kube::Client> client() override { return hub_; }
  kube::Client client(const kube::RestConfig& to) override { return connect ? connect(to) : hub_; }
  Result<std::string> ns() override { return globals.config.ns.empty() ? std::string("default") : globals.config.ns; }
  Clock& clock() override { return *clock_; }
  commands::Progress& progress() override { return steps; }
  commands::Terminal& terminal() override { return screen; }
  std::stop_token stop() override { return stopper.get_token(); }
  std::string env(std::string_view name) const override {
    const auto at = variables.find(std::string(name));
    return at == variables.end() ? std::string() : at->second;
  }
  std::string executable() const override { return "fleetadm"; }
  void emit(const commands::Report& report) override {
    emitted.push_back(report);
    if (on_emit) on_emit();
  }

  commands::GlobalOptions globals;
  kube::RestConfig config;                                       // of the hub
  std::function<kube::Client(const kube::RestConfig&)> connect;  // to another server
  std::map<std::string, std::string> variables;
  QuietProgress steps;
  FakeTerminal screen;
  std::stop_source stopper;
  std::vector<commands::Report> emitted;
  std::function<void()> on_emit;

 private:
  kube::Client hub_;
  std::shared_ptr<Clock> clock_;
};

/// Runs a registered command as the command line would: its flags ("name" → value) in order, then its arguments.
inline Result<commands::Report> run_command(const commands::Registry& registry, std::string_view path, commands::Context& context,
                                            const std::vector<std::pair<std::string, std::string>>& flags,
                                            const std::vector<std::string>& args) {
  for (const commands::Command& command : registry.commands()) {
    if (command.path != path && std::find(command.aliases.begin(), command.aliases.end(), path) == command.aliases.end())
      continue;
    commands::Invocation call = command.make();
    for (const auto& [name, value] : flags) {
      bool known = false;
      for (commands::Flag& flag : call.flags.flags()) {
        if (flag.name != name && std::find(flag.aliases.begin(), flag.aliases.end(), name) == flag.aliases.end()) continue;
        known = true;
        FLEETADM_CHECK(flag.set(value));
      }
      if (!known) return fail(Category::kUsage, "no flag --" + name);
    }
    auto* fake = dynamic_cast<FakeContext*>(&context);
    if (fake != nullptr && call.flags.list) fake->globals.list = *call.flags.list;
    return call.run(context, args);
  }
  return fail(Category::kUsage, "no command " + std::string(path));
}

}  // namespace fleetadm::testkit
