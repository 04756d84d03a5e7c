#include "tests/kubectl/script.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace fleetadm::kubectl {
namespace fs = std::filesystem;
namespace {

std::string without_ends(const std::string& text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

std::string whole_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A script's lines, each as its first word and the rest, with where it stands.
class Lines {
 public:
  Lines(const std::string& text, std::string file) : in_(text), file_(std::move(file)) {}

  bool next() {
    for (std::string line; std::getline(in_, line);) {
      ++number_;
      first_ = number_;
      if (const auto begin = without_ends(line); begin.empty() || begin.front() == '#') continue;
      std::string more;
      while (line.ends_with('\\') && std::getline(in_, more)) {
        ++number_;
        line += "\n" + more;
      }
      line = without_ends(line);
      const auto space = std::min(line.find(' '), line.size());
      word_ = line.substr(0, space);
      rest_ = without_ends(line.substr(space));
      return true;
    }
    return false;
  }
  /// The lines up to END as they are; false where there is none.
  bool block(std::string& into) {
    for (std::string line; std::getline(in_, line);) {
      ++number_;
      if (line == "END") return true;
      into += line + "\n";
    }
    return false;
  }
  const std::string& word() const { return word_; }
  const std::string& rest() const { return rest_; }
  std::string place() const { return file_ + ":" + std::to_string(first_); }

 private:
  std::istringstream in_;
  std::string file_;
  std::string word_;
  std::string rest_;
  int number_ = 0;
  int first_ = 0;
};

/// A word below RUN; false where it is none.
bool read_detail(const Lines& lines, Step& step) {
  const auto& word = lines.word();
  if (word == "EXIT") {
    step.exit_code = lines.rest() == "-" ? -1 : std::atoi(lines.rest().c_str());
  } else if (word == "SHOWS" || word == "UNTIL") {
    step.shows = lines.rest();
    step.until = word == "UNTIL";
  } else if (word == "SORTED") {
    step.sorted = true;
  } else if (word == "BUT") {
    step.but.push_back(lines.rest());
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::vector<Group> parse_groups(const std::string& text, const std::string& file, std::string& problem) {
  std::vector<Group> groups;
  Lines lines(text, file);
  while (lines.next()) {
    const auto complain = [&](const std::string& what) { problem += lines.place() + ": " + what + "\n"; };
    if (lines.word() == "GROUP") {
      Group group;
      group.source = lines.place();
      const auto space = lines.rest().find(' ');
      group.name = lines.rest().substr(0, space);
      group.alone = space != std::string::npos && without_ends(lines.rest().substr(space)) == "alone";
      groups.push_back(std::move(group));
      continue;
    }
    if (groups.empty()) {
      complain("a script begins with GROUP");
      return groups;
    }
    auto& group = groups.back();
    if (lines.word() == "FILE") {
      std::string content;
      const auto name = lines.rest();
      if (!lines.block(content)) complain("FILE " + name + " has no END");
      group.files.emplace_back(name, std::move(content));
    } else if (lines.word() == "RUN") {
      Step step;
      step.source = lines.place();
      step.run = lines.rest();
      group.steps.push_back(std::move(step));
    } else if (group.steps.empty() || !read_detail(lines, group.steps.back())) {
      complain("unknown word " + lines.word());
    }
  }
  for (const auto& group : groups) {
    if (group.steps.empty()) problem += group.source + ": the group " + group.name + " has no steps\n";
  }
  return groups;
}

std::vector<Deviation> parse_deviations(const std::string& text, std::string& problem) {
  std::vector<Deviation> all;
  Lines lines(text, "deviations.txt");
  while (lines.next()) {
    if (lines.word() == "NAME") {
      all.push_back({lines.rest(), {}, {}});
    } else if (!all.empty() && lines.word() == "DROPS") {
      all.back().drops.push_back(lines.rest());
    } else if (!all.empty() && lines.word() == "REASON") {
      all.back().reason += (all.back().reason.empty() ? "" : " ") + lines.rest();
    } else {
      problem += lines.place() + ": unknown word " + lines.word() + "\n";
    }
  }
  for (const auto& one : all) {
    if (one.drops.empty() || one.reason.empty()) problem += "deviations.txt: " + one.name + " needs DROPS and REASON\n";
  }
  return all;
}

Scripts read_scripts(const std::string& folder) {
  Scripts out;
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".case") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  out.deviations = parse_deviations(whole_file(fs::path(folder) / "deviations.txt"), out.problem);
  std::set<std::string> names;
  for (const auto& file : files) {
    for (auto& group : parse_groups(whole_file(file), file.filename().string(), out.problem)) {
      if (!names.insert(group.name).second) out.problem += group.source + ": the name " + group.name + " is taken\n";
      for (const auto& step : group.steps) {
        for (const auto& name : step.but) {
          const auto known =
              std::any_of(out.deviations.begin(), out.deviations.end(), [&](const Deviation& one) { return one.name == name; });
          if (!known) out.problem += step.source + ": no deviation is named " + name + "\n";
        }
      }
      out.groups.push_back(std::move(group));
    }
  }
  if (out.groups.empty()) out.problem += folder + ": no groups\n";
  std::stable_partition(out.groups.begin(), out.groups.end(), [](const Group& one) { return one.alone; });
  return out;
}

}  // namespace fleetadm::kubectl
