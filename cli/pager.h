// Long text on a terminal: help and descriptions are shown in a pager if they are taller than the screen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/command.h"
#include "commands/framework/settings.h"

namespace fleetadm::cli {

/// Whether a command prints text that people read from its beginning: help, options, and everything that describes.
bool prints_long_text(const commands::Command& command);

/// Whether the words ask for none (--no-pager).
bool refuses_pager(const std::vector<std::string>& words);

/// The pager's command for stdout: the setting's, else less. Empty where there is none to use: stdout is no terminal, or one
/// without cursor movement, or the setting is "cat".
std::string pager_of(const commands::Settings& settings);

/// Whether a text needs less than `rows` lines of `columns` cells, so that the prompt below it fits, too.
bool fits(std::string_view text, std::size_t rows, std::size_t columns);
/// The same for the terminal on stdout; true where its size is unknown.
bool fits_screen(std::string_view text);

/// Shows the text until the pager ends, by the shell. LESS is FRX where it is unset. False where the pager failed and the text
/// may not have been shown; a pager that is left early did not fail.
bool show_in_pager(std::string_view text, const std::string& pager);

}  // namespace fleetadm::cli
