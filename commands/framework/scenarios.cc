#include "commands/framework/scenarios.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

namespace fleetadm::commands {
namespace {

using Input = Terminal::Input;

constexpr Duration kScenarioPatience = std::chrono::milliseconds(100);  // how long a stop request may wait for input
constexpr std::size_t kRound = 4U << 20U;                               // enough for every thread to have something to do
constexpr std::size_t kLongest = 256U << 20U;
constexpr unsigned kMaxThreads = 16;

/// Standard input or a file as chunks.
class Source {
 public:
  Source(Context& context, std::string path) : context_(context), path_(std::move(path)) {}
  Status open() {
    if (path_ == "-") return {};
    file_.open(path_, std::ios::binary);
    if (file_) return {};
    return fail(Category::kUsage, "cannot read \"" + path_ + "\": " + std::strerror(errno));
  }
  Result<Input> read(std::string& into, Duration patience) {
    if (path_ == "-") return context_.terminal().read_stdin_some(into, patience);
    const std::size_t before = into.size();
    into.resize(before + kRound);
    file_.read(into.data() + before, static_cast<std::streamsize>(kRound));
    into.resize(before + static_cast<std::size_t>(file_.gcount()));
    if (file_.bad()) return fail(Category::kUsage, "cannot read \"" + path_ + "\"");
    return into.size() > before ? Input::kMore : Input::kEnd;
  }

 private:
  Context& context_;
  std::string path_;
  std::ifstream file_;
};

struct Line {
  std::size_t number = 0;
  std::string_view text;
  std::string answer;  // with its newline
  bool failed = false;
};

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r") == std::string_view::npos; }

// A line that is no case is answered, too: answers stay as many as lines, and whoever waits for one gets it.
std::string not_a_case(const Line& line, std::string why) {
  constexpr std::string_view kOneLine = "line 1, ";  // of the text that was parsed: the line's own number is told beside it
  if (const std::size_t at = why.find(kOneLine); at != std::string::npos) why.erase(at, kOneLine.size());
  return "line " + std::to_string(line.number) + " is not a valid case: " + why;
}

void answer_line(Line& line, const AnswerCase& answer) {
  const auto parsed = parse_json(line.text);
  Json out;
  if (!parsed || !parsed->is_object()) {
    line.failed = true;
    out = Json{{"error", not_a_case(line, parsed ? "not an object" : parsed.error().message)}};
  } else {
    Result<Json> answered = answer(*parsed);
    line.failed = !answered;
    out = answered ? std::move(*answered) : Json{{"error", answered.error().message}};
    if (const Json* id = find(*parsed, {"id"}); id != nullptr) out["id"] = *id;
  }
  line.answer = dump_json(out) + "\n";
}

void answer_round(std::vector<Line>& lines, const AnswerCase& answer) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < lines.size(); i = next.fetch_add(1)) answer_line(lines[i], answer);
  };
  const std::size_t threads = std::min<std::size_t>({std::thread::hardware_concurrency(), kMaxThreads, lines.size()});
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
}

class Batch {
 public:
  Batch(Context& context, const AnswerCase& answer) : context_(context), answer_(answer) {}

  /// Answers the complete lines of `text` (all of it where it is the `last` of the input) and takes them from it.
  Status take(std::string& text, bool last) {
    std::vector<Line> lines;
    std::size_t at = 0;
    while (at < text.size()) {
      std::size_t end = text.find('\n', at);
      if (end == std::string::npos) {
        if (!last) break;
        end = text.size();
      }
      ++number_;
      const std::string_view line = std::string_view(text).substr(at, end - at);
      if (!blank(line)) lines.push_back({number_, line, {}, false});
      at = std::min(end + 1, text.size());
    }
    if (text.size() - at > kLongest) {
      return fail(Category::kInvalid, "line " + std::to_string(number_ + 1) + " is longer than 256 MiB");
    }
    answer_round(lines, answer_);
    print(lines);
    text.erase(0, at);
    return {};
  }

  bool reader_gone() const { return reader_gone_; }
  Report report() const {
    Report report;
    if (failed_ > 0) {
      Error error;
      error.category = failed_ < answered_ ? Category::kPartial : Category::kInvalid;
      error.message = std::to_string(failed_) + (failed_ == 1 ? " case was" : " cases were") + " answered with an error";
      error.hint = "see fleetadm-scenarios(7) for the formats";
      report.failures.push_back(std::move(error));
    }
    return report;
  }

 private:
  void print(const std::vector<Line>& lines) {
    std::string out;
    for (const Line& line : lines) {
      out += line.answer;
      ++answered_;
      failed_ += line.failed ? 1 : 0;
    }
    if (!out.empty() && !context_.terminal().write_stdout(out)) reader_gone_ = true;
  }

  Context& context_;
  const AnswerCase& answer_;
  std::size_t number_ = 0;
  std::size_t answered_ = 0;
  std::size_t failed_ = 0;
  bool reader_gone_ = false;
};

}  // namespace

Flag& scenarios_flag(FlagSet& flags, std::string* into) {
  Flag& flag = flags.text(into, "scenarios",
                          "Evaluate the cases in a file (\"-\": standard input), one JSON object per line; "
                          "see fleetadm-scenarios(7)");
  flag.value_name = "FILE";
  flag.complete = Complete::kFiles;
  return flag;
}

Result<Report> answer_scenarios(Context& context, const std::string& path, const AnswerCase& answer) {
  if (const std::string& output = context.global().output; !output.empty() && output != "json") {
    return fail(Category::kUsage, "--scenarios prints JSON lines and cannot be combined with -o " + output);
  }
  Source source(context, path);
  FLEETADM_CHECK(source.open());
  Batch batch(context, answer);
  std::string text;
  for (bool more = true; more && !batch.reader_gone();) {
    if (context.stop().stop_requested()) return fail(Category::kCancelled, "cancelled");
    FLEETADM_TRY(Input got, source.read(text, kScenarioPatience));
    // Whoever writes faster than answers come gets larger rounds; who waits for an answer gets it at once.
    while (got == Input::kMore && text.size() < kRound) {
      FLEETADM_TRY(got, source.read(text, Duration::zero()));
    }
    more = got != Input::kEnd;
    FLEETADM_CHECK(batch.take(text, !more));
  }
  return batch.report();
}

}  // namespace fleetadm::commands
