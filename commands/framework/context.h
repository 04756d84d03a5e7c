// What the process lends a command: global options, clients, clock, terminal, progress. Tests lend fakes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/report.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// What a list of API objects shows beside its own columns, and of which objects (FlagSet::list).
struct ListOutput {
  std::string field_selector;
  bool show_labels = false;
  std::vector<std::string> label_columns;
  bool usual() const { return field_selector.empty() && !show_labels && label_columns.empty(); }
};

/// The flags that every command takes, and those that every list takes.
struct GlobalOptions {
  kube::ConfigOverrides config;      // --kubeconfig, --context, --as, …, -n
  std::string output;                // table (default), wide, json, yaml, name, csv, tree, jsonpath=…, custom-columns=…
  std::vector<std::string> columns;  // of the table, in this order; empty: the usual ones
  ListOutput list;
  bool no_headers = false;
  std::string sort_by;
  std::string color = "auto";
  bool quiet = false;
  int verbosity = 0;
  std::string trace;                            // file for the facts of each request
  bool profile = false;                         // times of the phases, on stderr
  Duration request_timeout = Duration::zero();  // 0: the client's default
  kube::DryRun dry_run = kube::DryRun::kNone;
};

/// Steps of long work, told as they happen (stderr; a spinner on a terminal, plain lines elsewhere, nothing with -o json
/// --quiet).
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void begin(std::string_view step) = 0;         // "Waiting for the hub controllers"
  virtual void note(std::string_view detail) = 0;        // replaces the running step's detail
  virtual void done(std::string_view outcome = {}) = 0;  // ✓
  virtual void failed(std::string_view why) = 0;         // ✗
  virtual void warn(std::string_view text) = 0;          // a line of its own
  virtual void say(std::string_view text) = 0;           // the same, without "warning:", and not with --quiet
};

class Terminal {
 public:
  virtual ~Terminal() = default;
  virtual bool interactive() const = 0;  // stdin and stderr are terminals
  virtual bool stdout_is_terminal() const = 0;
  /// Asks a yes/no question on stderr; kUsage with a hint to --yes where not interactive.
  virtual Result<bool> confirm(std::string_view question) = 0;
  virtual Result<std::string> read_stdin() = 0;  // bounded (64 MiB)
  /// Waits at most `patience` for more of stdin and appends what is there, at most 1 MiB (streams; not together with read_stdin).
  enum class Input { kMore, kNothingYet, kEnd };
  virtual Result<Input> read_stdin_some(std::string& into, Duration patience) = 0;
  /// Writes straight to stdout (streams such as logs); everything else goes through reports. False where the reader is gone or
  /// the disk is full: there is no use in going on.
  virtual bool write_stdout(std::string_view text) = 0;
  /// The same to stderr, of a program elsewhere that has one.
  virtual bool write_stderr(std::string_view text) = 0;
};

class Context {
 public:
  virtual ~Context() = default;
  virtual const GlobalOptions& global() const = 0;
  /// The connection of the chosen kubeconfig context (in a pod without kubeconfig: the pod's).
  virtual Result<kube::RestConfig> rest_config() = 0;
  /// Another context or file of the same command (join: hub and spoke). Shares dry run, timeouts, -v.
  virtual Result<kube::RestConfig> rest_config(const kube::ConfigOverrides& overrides) = 0;
  virtual Result<kube::Client> client() = 0;
  virtual kube::Client client(const kube::RestConfig& config) = 0;
  /// What the line and the report that name the clusters that were written to call the one of this connection, in place of "hub"
  /// and "cluster", which follow from the command's target. Before its client is made.
  virtual void name_side(const kube::RestConfig& /*config*/, std::string_view /*side*/) {}
  /// -n, else the context's namespace, else "default".
  virtual Result<std::string> ns() = 0;
  virtual Clock& clock() = 0;
  virtual Progress& progress() = 0;
  virtual Terminal& terminal() = 0;
  virtual std::stop_token stop() = 0;  // set by SIGINT and SIGTERM
  virtual std::string env(std::string_view name) const = 0;
  /// Path of the running binary (argv rules of child processes, the demo, the node).
  virtual std::string executable() const = 0;
  /// Prints a report before the command ends (-w, streams).
  virtual void emit(const Report& report) = 0;
};

}  // namespace fleetadm::commands
