// The scripts of tests/kubectl: groups of kubectl commands that run against a sandbox server and against a real kube-apiserver,
// and have to say the same on both. A *.case file holds one or more groups:
//
//   GROUP  name [alone]     (a namespace of that name is there and current; alone: no other group runs at the same time)
//   FILE   name             (lines up to END go into this file of the group's folder)
//   END
//   RUN    shell command    (in the group's folder, with kubectl on PATH; \ at a line's end continues it)
//     EXIT    code          (0 where not given; anything: -)
//     SHOWS   text          (part of stdout on both servers, before anything is normalised)
//     UNTIL   text          (the same, and the command is repeated until it is so; without a text: until it ends as it should)
//     SORTED                (the order of the lines is not determined)
//     BUT     name          (a deviation of deviations.txt: what it drops is not compared)
//
// The words below RUN belong to it. Lines that start with # are comments. `lines N FILE` waits until a file has N lines.
//
// deviations.txt holds what the sandbox is known to say otherwise:
//
//   NAME   word
//   DROPS  regular expression (what it matches, but for its group, is left out on both sides; may be repeated)
//   REASON text
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fleetadm::kubectl {

struct Step {
  std::string source;  // "get.case:12"
  std::string run;
  int exit_code = 0;  // -1: any, but the same
  std::string shows;
  bool until = false;  // repeated until `shows` is shown
  bool sorted = false;
  std::vector<std::string> but;
};

struct Group {
  std::string name;
  std::string source;
  bool alone = false;
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<Step> steps;
};

struct Deviation {
  std::string name;
  std::vector<std::string> drops;
  std::string reason;
};

/// Every group of a file's text. What is wrong with it (unknown words, a group without steps) is appended to `problem`.
std::vector<Group> parse_groups(const std::string& text, const std::string& file, std::string& problem);
std::vector<Deviation> parse_deviations(const std::string& text, std::string& problem);

/// All groups of tests/kubectl/*.case, those that run alone first, and its deviations.txt.
struct Scripts {
  std::vector<Group> groups;
  std::vector<Deviation> deviations;
  std::string problem;
};
Scripts read_scripts(const std::string& folder);

}  // namespace fleetadm::kubectl
