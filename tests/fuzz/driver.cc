#include "tests/fuzz/driver.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sanitizer/lsan_interface.h>
#include <set>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>

#include "tests/cel/generator.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/vectors.h"
#pragma weak __lsan_do_recoverable_leak_check  // of the sanitizer's library, where there is one

// An input that makes a gigabyte of one text is a finding, not bad luck.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "max_allocation_size_mb=1024:allocator_may_return_null=0";
}

namespace fleetadm::fuzz {
namespace {

using Timer = std::chrono::steady_clock;

constexpr std::size_t kSlot = 64 << 10;
constexpr std::size_t kMaxPooled = 6'000;
constexpr std::size_t kMaxSeeds = 120;  // of one file of recorded cases
constexpr double kHang = 30;            // s of CPU for one input, under the sanitizers
constexpr auto kStuck = std::chrono::minutes(3);
constexpr int kMaxFindings = 10;
constexpr int kPromise = 77;  // exit code of a worker that saw a broken promise
constexpr int kLeak = 78;

bool leaks() { return __lsan_do_recoverable_leak_check != nullptr && __lsan_do_recoverable_leak_check() != 0; }

double cpu_of(clockid_t clock) {
  timespec time{};
  return clock_gettime(clock, &time) == 0 ? static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9 : 0;
}

/// What a worker shares with who watches it.
struct Slot {
  std::uint64_t runs;
  std::uint64_t shapes;
  double began;  // the worker's CPU clock when it took the input
  std::size_t size;
  char input[kSlot];
};

void add_recorded(std::vector<std::string>& seeds, const Target& target) {
  const auto take = [&](const char* file, const std::function<std::string(const Json&)>& input_of) {
    std::size_t seen = 0;
    std::size_t taken = 0;
    const Status read = test::for_each_vector(file, [&](const Json& line) {
      if (++seen % 7 != 0 || taken >= kMaxSeeds) return;
      std::string input = input_of(line);
      if (input.size() > target.longest) return;
      seeds.push_back(std::move(input));
      ++taken;
    });
    if (!read) throw std::runtime_error(read.error().message);
  };
  const auto whole = [](const Json& line) {
    Json input = line;
    input.erase("expect");
    return dump_json(input);
  };
  if (target.name == "cel") take("cel.jsonl.gz", [](const Json& line) { return str(line, {"expression"}); });
  if (target.name == "scenario") {
    for (const char* file : {"placement.jsonl.gz", "cel.jsonl.gz", "rollout.jsonl.gz", "condition.jsonl.gz", "feedback.jsonl.gz"})
      take(file, whole);
  }
}

class Worker {
 public:
  Worker(const Target& target, const FuzzOptions& options, std::uint64_t seed, Slot& slot, Timer::time_point until)
      : target_(target), options_(options), slot_(slot), until_(until), mutator_(target, seed), generator_(seed) {}

  int run() {
    std::vector<std::string> seeds;
    for (auto& [name, input] : corpus_of(target_)) seeds.push_back(std::move(input));
    for (const std::string_view word : target_.words) seeds.emplace_back(word);
    add_recorded(seeds, target_);
    seeds.emplace_back();
    for (const std::string& seed : seeds) {
      if (const int bad = feed(seed, true); bad != 0) return bad;
    }
    for (std::uint64_t round = 0; Timer::now() < until_; ++round) {
      const bool fresh = target_.name == "cel" && mutator_.one_in(4);
      const std::string input = fresh ? generator_.expression(mutator_.one_in(2)) : mutator_.changed(any_pooled(), any_pooled());
      if (const int bad = feed(input, false); bad != 0) return bad;
      if (round % 20'000 == 19'999 && leaks()) return kLeak;
    }
    if (leaks()) return kLeak;
    if (!options_.keep.empty()) keep();
    return 0;
  }

 private:
  const std::string& any_pooled() { return pool_[mutator_.below(pool_.size())]; }

  int feed(const std::string& input, bool seed) {
    slot_.size = std::min(input.size(), kSlot);
    std::memcpy(slot_.input, input.data(), slot_.size);
    slot_.began = cpu_of(CLOCK_PROCESS_CPUTIME_ID);
    const Result<std::string> shape = target_.run(input);
    slot_.began = 0;
    ++slot_.runs;
    if (!shape) {
      std::fprintf(stderr, "%s\n", shape.error().message.c_str());
      return kPromise;
    }
    const auto [known, first] = shortest_.emplace(*shape, input);
    if (!first && input.size() < known->second.size()) known->second = input;
    if (!first && !seed) return 0;
    slot_.shapes = shortest_.size();
    if (pool_.size() < kMaxPooled) {
      pool_.push_back(input);
    } else {
      pool_[mutator_.below(pool_.size())] = input;
    }
    return 0;
  }

  // Evenly over the shapes in their order, so that each kind of outcome has its share.
  void keep() const {
    const auto folder = std::filesystem::path(options_.keep) / target_.name;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::size_t count = std::min(options_.keep_most, shortest_.size());
    std::vector<const std::string*> all;
    for (const auto& [shape, input] : shortest_) all.push_back(&input);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& input = *all[i * all.size() / count];
      char name[32];
      std::snprintf(name, sizeof name, "%016zx", std::hash<std::string>()(input));
      std::ofstream(folder / name, std::ios::binary) << input;
    }
  }

  const Target& target_;
  const FuzzOptions& options_;
  Slot& slot_;
  Timer::time_point until_;
  Mutator mutator_;
  testkit::CelGenerator generator_;
  std::vector<std::string> pool_;
  std::map<std::string, std::string> shortest_;  // by shape
};

class Watcher {
 public:
  Watcher(const Target& target, const FuzzOptions& options) : target_(target), options_(options) {
    void* memory = mmap(nullptr, sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    slot_ = memory == MAP_FAILED ? nullptr : static_cast<Slot*>(memory);
  }
  ~Watcher() {
    if (slot_ != nullptr) munmap(slot_, sizeof(Slot));
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Starts a worker for what is left of the time.
  bool start() {
    if (slot_ == nullptr) return false;
    if (until_ == Timer::time_point{}) until_ = Timer::now() + options_.time;
    std::fflush(stdout);
    std::fflush(stderr);
    slot_->size = 0;
    slot_->began = 0;
    pid_ = fork();
    if (pid_ < 0) return false;
    if (pid_ == 0) {
      const int code =
          Worker(target_, options_, options_.seed + static_cast<std::uint64_t>(starts_) * 1'000'003, *slot_, until_).run();
      std::fflush(stderr);
      _exit(code);
    }
    ++starts_;
    last_runs_ = slot_->runs;
    moved_ = Timer::now();
    return true;
  }

  /// Looks after the worker; true once the target is through.
  bool look() {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == 0) {
      kill_if_stuck();
      return false;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    ++findings;
    report(status);
    return findings >= kMaxFindings || Timer::now() >= until_ || !start();
  }

  void summary() const {
    std::printf("%-9s %10llu inputs, %5llu shapes of outcomes, %d findings\n", target_.name.c_str(),
                static_cast<unsigned long long>(slot_ == nullptr ? 0 : slot_->runs),
                static_cast<unsigned long long>(slot_ == nullptr ? 0 : slot_->shapes), findings);
    std::fflush(stdout);
  }

  int findings = 0;

 private:
  void kill_if_stuck() {
    if (slot_->runs != last_runs_) {
      last_runs_ = slot_->runs;
      moved_ = Timer::now();
      return;
    }
    clockid_t clock{};
    const double began = slot_->began;
    const bool burns = began > 0 && clock_getcpuclockid(pid_, &clock) == 0 && cpu_of(clock) - began > kHang;
    if (!burns && Timer::now() - moved_ < kStuck) return;
    hung_ = true;
    kill(pid_, SIGKILL);
  }

  void report(int status) {
    std::string why = "ended with code " + std::to_string(WEXITSTATUS(status));
    if (WIFSIGNALED(status)) why = "was killed by signal " + std::to_string(WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) == kPromise) why = "broke a promise";
    if (WIFEXITED(status) && WEXITSTATUS(status) == kLeak) why = "leaked (at the latest with this input)";
    if (hung_) why = "took more than " + std::to_string(static_cast<int>(kHang)) + " s of CPU";
    hung_ = false;
    std::error_code error;
    std::filesystem::create_directories(options_.findings, error);
    const std::string file = options_.findings + "/" + target_.name + "-" + std::to_string(findings);
    std::ofstream(file, std::ios::binary).write(slot_->input, static_cast<std::streamsize>(slot_->size));
    std::printf("%-9s %s: %s (%zu bytes)\n", target_.name.c_str(), why.c_str(), file.c_str(), slot_->size);
    std::fflush(stdout);
  }

  const Target& target_;
  const FuzzOptions& options_;
  Slot* slot_ = nullptr;
  pid_t pid_ = 0;
  int starts_ = 0;
  bool hung_ = false;
  std::uint64_t last_runs_ = 0;
  Timer::time_point moved_;
  Timer::time_point until_;
};

}  // namespace

int fuzz(const std::vector<const Target*>& chosen, const FuzzOptions& options) {
  int findings = 0;
  std::vector<std::unique_ptr<Watcher>> running;
  std::size_t next = 0;
  while (next < chosen.size() || !running.empty()) {
    while (next < chosen.size() && running.size() < std::max(1U, options.parallel)) {
      auto one = std::make_unique<Watcher>(*chosen[next++], options);
      if (!one->start()) {
        std::fprintf(stderr, "a worker cannot be started\n");
        return findings + 1;
      }
      running.push_back(std::move(one));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::erase_if(running, [&](const std::unique_ptr<Watcher>& one) {
      if (!one->look()) return false;
      one->summary();
      findings += one->findings;
      return true;
    });
  }
  return findings;
}

}  // namespace fleetadm::fuzz
