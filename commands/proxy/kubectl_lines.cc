#include "commands/proxy/kubectl_lines.h"

#include <optional>
#include <utility>
#include <vector>

#include "commands/framework/settings.h"
#include "commands/proxy/line_editor.h"
#include "commands/proxy/raw_terminal.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/log.h"
#include "kubeclient/config/process.h"

namespace fleetadm::commands {
namespace {

constexpr auto kCompletionPatience = std::chrono::seconds(2);
constexpr auto kKeyPatience = std::chrono::milliseconds(200);

/// What kubectl itself offers at the end of the line (the protocol of cobra's __complete).
std::vector<std::string> offered_by(const Child& kubectl, const std::string& line) {
  auto words = alias_words(line);
  if (!words) return {};
  if (words->size() > 1 && words->front() == "kubectl") words->erase(words->begin());
  if (line.empty() || line.back() == ' ') words->emplace_back();
  kube::ProcessOptions options;
  options.command = kubectl.program;
  options.args = {"__complete"};
  options.args.insert(options.args.end(), words->begin(), words->end());
  options.env = kubectl.env;
  options.timeout = kCompletionPatience;
  const auto done = kube::run_process(options);
  std::vector<std::string> offered;
  if (!done || done->exit_code != 0) return offered;
  for (std::size_t at = 0; at < done->output.size();) {
    const std::size_t end = std::min(done->output.find('\n', at), done->output.size());
    const std::string word = done->output.substr(at, std::min(done->output.find('\t', at), end) - at);
    at = end + 1;
    if (!word.empty() && word.front() != ':' && log::escape_terminal(word) == word) offered.push_back(word);
  }
  return offered;
}

/// Lines from standard input: typed at a terminal, or of a script.
class Lines {
 public:
  Lines(Context& context, const Child& kubectl, std::string prompt)
      : context_(context),
        typed_(context.terminal().interactive()),
        prompt_(std::move(prompt)),
        editor_(history_, [&kubectl](const std::string& line) { return offered_by(kubectl, line); }) {}

  /// Nothing at the end of the input.
  Result<std::optional<std::string>> next() {
    const RawTerminal raw(typed_);
    draw();
    while (!context_.stop().stop_requested()) {
      while (!input_.empty()) {
        const char byte = input_.front();
        input_.erase(0, 1);
        if (!typed_) {
          if (byte == '\n') return std::exchange(script_, {});
          script_ += byte;
          continue;
        }
        const LineEditor::Outcome outcome = editor_.key(byte);
        show_candidates();
        draw();
        if (outcome == LineEditor::Outcome::kMore) continue;
        context_.terminal().write_stderr("\r\n");
        if (outcome == LineEditor::Outcome::kEnd) return std::nullopt;
        return editor_.take();
      }
      FLEETADM_TRY(const Terminal::Input what, context_.terminal().read_stdin_some(input_, kKeyPatience));
      if (what != Terminal::Input::kEnd) continue;
      if (script_.empty()) return std::nullopt;
      return std::exchange(script_, {});
    }
    return fail(Category::kCancelled, "cancelled");
  }

 private:
  void draw() {
    if (!typed_) return;
    std::string out = "\r" + prompt_ + log::escape_terminal(editor_.line()) + "\x1b[K";
    if (const std::size_t back = editor_.behind_cursor(); back > 0) out += "\x1b[" + std::to_string(back) + "D";
    context_.terminal().write_stderr(out);
  }

  void show_candidates() {
    const std::vector<std::string> candidates = editor_.take_candidates();
    if (candidates.empty()) return;
    std::string out = "\r\n";
    for (const std::string& word : candidates) out += word + "  ";
    context_.terminal().write_stderr(out + "\r\n");
  }

  Context& context_;
  const bool typed_;
  const std::string prompt_;
  std::vector<std::string> history_;
  LineEditor editor_;
  std::string input_;
  std::string script_;
};

}  // namespace

Result<int> run_kubectl_lines(Context& context, const Child& kubectl, const std::string& cluster) {
  Lines lines(context, kubectl, cluster + "> ");
  int code = 0;
  while (true) {
    FLEETADM_TRY(const auto line, lines.next());
    if (!line) return code;
    const std::string text(trimmed(*line));
    if (text.empty() || text.front() == '#') continue;
    if (text == "exit" || text == "quit") return code;
    auto words = alias_words(text);
    if (!words) {
      context.progress().warn(words.error().message);
      code = 64;
      continue;
    }
    if (words->front() == "kubectl") words->erase(words->begin());
    Child child = kubectl;
    child.args = std::move(*words);
    FLEETADM_TRY(code, run_in_foreground(child));
  }
}

}  // namespace fleetadm::commands
