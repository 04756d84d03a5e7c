// Where simulations and explanations take their objects from: a live hub, or files.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "core/placement/engine/object_set.h"

namespace fleetadm::commands {

struct InputFlags {
  std::vector<std::string> files;
  std::string now;
};

void bind_inputs(FlagSet& flags, InputFlags& into);

struct Inputs {
  placement::Objects objects;
  std::vector<std::string> notes;  // what was left out, or cannot be known
  Instant now;
};

/// With files: their objects (the defaults of the API server are filled in; no hub is asked). Otherwise the hub's: clusters and
/// sets, and the namespaced kinds of all namespaces, or, where that is forbidden, of `ns` alone with a note. kInvalid: two
/// objects with one name; kUsage: --now is no time.
Result<Inputs> read_inputs(Context& context, const InputFlags& flags, const std::string& ns);

/// The hub's objects, as above; with an empty `ns` what is forbidden in all namespaces is an error (but scores).
Result<Inputs> read_hub_inputs(const kube::Client& hub, Instant now, const std::string& ns);

/// The objects of files, folders or standard input ("-") that the scheduler reads; of other kinds only a note is made.
/// `default_ns` is the namespace of those that name none. kInvalid: a Placement that the API server would refuse.
Status add_files(Context& context, const std::vector<std::string>& files, const std::string& default_ns, Inputs& into);

/// -n, else the namespace of the kubeconfig's context; with files, where no hub is asked: -n, else "default".
Result<std::string> input_namespace(Context& context, const InputFlags& flags);

}  // namespace fleetadm::commands
