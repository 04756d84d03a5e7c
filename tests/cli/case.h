// The declarative cases of tests/cli: one block a case, read from *.case files.
//
//   NAME  unique_word
//   FILE  name            (lines up to END go into this file of the case's own folder)
//   END
//   ENV   KEY=value       (besides PATH with the built fleetadm first, HOME and TMPDIR in the case's folder)
//   RUN   shell command   (in the case's folder)
//   EXPECT text           (a line or part of one on stdout; may be repeated)
//   EXPECT_ERR text       (on stderr)
//   EXPECT_NOT text       (neither on stdout nor on stderr)
//   GOLDEN file           (stdout is exactly tests/cli/golden/file; FLEETADM_UPDATE_GOLDEN=1 writes it)
//   SILENT                (nothing on stdout)
//   SCHEMAS Kind Kind…    (stdout and stderr hold documents of these kinds; all that they hold fit docs/schemas)
//   EXIT  code            (0 where not given)
//
// Lines that start with # are comments; blank lines end a case.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fleetadm::cli_cases {

struct Case {
  std::string name;
  std::string source;  // "usage.case:12"
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> env;
  std::string run;
  std::vector<std::string> expect;
  std::vector<std::string> expect_err;
  std::vector<std::string> expect_not;
  std::vector<std::string> schemas;
  std::string golden;
  bool silent = false;
  int exit_code = 0;
};

/// Every case of a file's text. Problems (an unknown word, a case without RUN or NAME) are put into `problem`.
std::vector<Case> parse_cases(const std::string& text, const std::string& file, std::string& problem);

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
  bool timed_out = false;
};

/// Runs a case's command in a folder of its own (removed afterwards); killed after `seconds`.
Outcome run_case(const Case& one, const std::string& binary, int seconds);

}  // namespace fleetadm::cli_cases
