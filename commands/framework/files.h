// Files that are named on the command line.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// Flags that take the name of a file, or several.
Flag& file_flag(FlagSet& flags, std::string* into, std::string name, std::string help, char letter = 0);
Flag& files_flag(FlagSet& flags, std::vector<std::string>* into, std::string name, std::string help, char letter = 0);

/// The whole of a file; kUsage where it cannot be read or has more bytes than `most`.
Result<std::string> read_whole_file(const std::string& path, std::size_t most);
/// The same, or of standard input for "-".
Result<std::string> read_file_or_stdin(Context& context, const std::string& path, std::size_t most = 8U << 20U);

}  // namespace fleetadm::commands
