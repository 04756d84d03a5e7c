// The clusters that a command has written to: people read which they were on stderr, programs in the command's report.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/framework/command.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::cli {

/// `context "staging" (https://…)`, or `in-cluster (https://…)`.
std::string connection_text(const kube::RestConfig& config);

class WrittenTo {
 public:
  using Say = std::function<void(const std::string& line)>;

  /// `target`: where the command's own connection leads. `say` is called once per cluster, before its first mutating request is
  /// sent.
  WrittenTo(commands::Target target, Say say) : target_(target), say_(std::move(say)) {}

  /// Of hooks that are made afterwards for this connection.
  void name_side(const kube::RestConfig& config, std::string_view side);

  /// The hook of a write gate (WriteGate::before) of one connection. `own`: the command's own one; others lead to the other side.
  std::function<Status(kube::Method, std::string_view)> hook(const kube::RestConfig& config, bool own);

  /// The hook after a request (WriteGate::after): counts what the server did.
  std::function<void(kube::Method, std::string_view, int)> count();

  /// {"hub": {"context", "server"}, "cluster": …}: what was written to so far; empty where nothing was.
  Json report() const;
  /// The lines that `say` got.
  std::vector<std::string> lines() const;
  /// "placements: 1 created", a line per resource: what was done so far.
  std::vector<std::string> done() const;

 private:
  void add(const std::string& side, const kube::RestConfig& config);

  struct Place {
    std::string side;  // "hub" or "cluster", or as name_side() said
    std::string context;
    std::string server;
    std::string line;
  };

  commands::Target target_;
  Say say_;
  mutable std::mutex mutex_;
  std::vector<Place> places_;
  std::map<std::pair<std::string, std::string>, std::string> sides_;  // by context and server
  std::map<std::string, std::map<std::string, int>> done_;            // resource → "created" → how often
};

}  // namespace fleetadm::cli
