// fleetadm sandbox logs: what the process behind a sandbox has to say.
#include <fstream>
#include <thread>

#include "commands/framework/grammar.h"
#include "commands/sandbox/home.h"
#include "commands/sandbox/sandbox.h"
#include "kubeclient/base/log.h"

namespace fleetadm::commands {
namespace {

constexpr auto kLook = std::chrono::milliseconds(200);
constexpr std::size_t kMaxLine = 64UL * 1024;

struct LogsOptions : NamedSandbox {
  std::string cluster;
  bool follow = false;
  std::int64_t tail = -1;
};

/// Lines are klog's: "I1121 19:20:01.123456 component: message".
bool is_of(const std::string& line, const std::string& cluster) {
  if (cluster.empty()) return true;
  const auto component = line.find(' ', line.find(' ') + 1);
  return component != std::string::npos && line.compare(component + 1, cluster.size() + 1, cluster + ":") == 0;
}

class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& file) : file_(file) {}

  /// Whole lines that have come since the last call; with `rest`, an unfinished one, too. A log that is shorter than before is
  /// a new one, and read from its beginning.
  std::vector<std::string> more(bool rest) {
    std::vector<std::string> out;
    std::error_code failed;
    const auto size = std::filesystem::file_size(file_, failed);
    if (failed) return out;
    if (size < at_) at_ = 0;
    std::ifstream in(file_, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(at_));
    std::string line;
    while (std::getline(in, line)) {
      if (in.eof() && !rest && line.size() < kMaxLine) break;
      at_ += line.size() + (in.eof() ? 0 : 1);
      out.push_back(std::move(line));
    }
    return out;
  }

 private:
  std::filesystem::path file_;
  std::uintmax_t at_ = 0;
};

Result<Report> logs(Context& context, const LogsOptions& options) {
  const std::string& name = options.name;
  FLEETADM_TRY(const auto home, sandbox_home(context));
  const Json description = home.description(name);
  if (!description.is_object()) return no_sandbox(home, name);
  std::string cluster;
  if (!options.cluster.empty()) {
    FLEETADM_TRY(cluster, cluster_of_sandbox(description, options.cluster));
  }
  LineReader reader(home.log(name));
  const auto show = [&](std::vector<std::string> lines, std::int64_t most) {
    std::erase_if(lines, [&](const std::string& line) { return !is_of(line, cluster); });
    std::string text;
    const auto count = static_cast<std::int64_t>(lines.size());
    for (auto i = most >= 0 && count > most ? count - most : 0; i < count; ++i)
      text += log::escape_terminal(lines[static_cast<std::size_t>(i)]) + "\n";
    return text.empty() || context.terminal().write_stdout(text);
  };
  bool reading = show(reader.more(!options.follow), options.tail);
  while (options.follow && reading && !context.stop().stop_requested()) {
    // Asked before the last look, so that nothing said before the end is missed.
    const bool running = home.running(name).has_value();
    reading = show(reader.more(!running), -1);
    if (!running) break;
    std::this_thread::sleep_for(kLook);
  }
  return Report{};
}

Status check_logs(const LogsOptions& options) {
  if (options.tail < -1) return fail(Category::kUsage, "--tail must be a number of lines");
  return check_sandbox(options);
}

}  // namespace

void register_sandbox_logs(Registry& registry) {
  Command command;
  command.path = "sandbox logs";
  command.target = Target::kSilent;
  command.group = "Sandbox";
  command.summary = "Print the log of a sandbox's process";
  command.description =
      "The log of the sandbox process: its clusters' addresses, faults added and removed, and, if it was "
      "started with -v 6, one line per request.";
  command.args = sandbox_argument();
  command.examples = {{"The default sandbox", "fleetadm sandbox logs"},
                      {"Follow the log of one cluster", "fleetadm sandbox logs test --cluster c1 --tail 0 -f"}};
  command.make = sandbox_invocation<LogsOptions>(
      [](FlagSet& flags, LogsOptions& options) {
        cluster_flag(flags, &options.cluster, "only lines about this cluster");
        flags.boolean(&options.follow, "follow", "keep printing until the sandbox stops", 'f');
        Flag& tail = flags.integer(&options.tail, "tail", "print only this many of the last lines");
        tail.value_name = "N";
      },
      check_logs, logs);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
