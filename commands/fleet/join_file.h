// The file of join -f, a Klusterlet and what is deployed with it, as options of join.
#pragma once

#include <string>
#include <vector>

#include "commands/fleet/join_options.h"
#include "commands/framework/context.h"
#include "core/registration/join/klusterlet.h"

namespace fleetadm::commands {

/// What a file says and no flag does.
struct JoinFile {
  std::string hub_ca_pem;  // of its bootstrap Secret, where no flag tells how the hub is known
  install::PodSettings pods;
  std::vector<join::FieldOutcome> fields;
};

/// Reads --filename into `options`, where flags come before it.
Result<JoinFile> read_join_file(Context& context, JoinOptions& options);

/// Of the flags and, for what they leave open, of the file.
install::PodSettings pods_of(const JoinOptions& options, const JoinFile& file);

}  // namespace fleetadm::commands
