// A program of the benchmark in a process of its own, so that its memory and CPU time can be told from those of others, and so
// that it can be killed.
#pragma once

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "kubeclient/base/json.h"
#include "tests/support/network_namespace.h"

namespace fleetadm::bench {

/// The child's side: it gets its plan and orders as lines of JSON, and answers each with one line.
class Orders {
 public:
  Orders(FILE* in, FILE* out) : in_(in), out_(out) {}

  void answer(const Json& answer) const {
    std::fputs((dump_json(answer) + "\n").c_str(), out_);
    std::fflush(out_);
  }
  /// Until the parent closes it.
  void serve(const std::function<Json(const Json&)>& carry_out) const {
    while (true) {
      const auto order = parse_json(line_of(in_));
      if (!order) return;
      answer(carry_out(*order));
    }
  }

  static std::string line_of(FILE* file) {
    std::string out;
    for (int c = std::fgetc(file); c != EOF && c != '\n'; c = std::fgetc(file)) out.push_back(static_cast<char>(c));
    return out;
  }

 private:
  FILE* in_;
  FILE* out_;
};

class Part {
 public:
  using Body = int (*)(const Json& plan, const Orders& orders);

  /// Before this process has threads. `network`: where it runs; null: in this process's.
  explicit Part(Body body, const testkit::NetworkNamespace* network = nullptr) {
    int to_child[2];
    int from_child[2];
    if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(from_child, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(to_child[1]);
      ::close(from_child[0]);
      FILE* const in = ::fdopen(to_child[0], "r");
      FILE* const out = ::fdopen(from_child[1], "w");
      const auto plan = parse_json(Orders::line_of(in));
      const bool there = network == nullptr || network->enter();
      ::_exit(plan && there ? body(*plan, Orders(in, out)) : 1);
    }
    ::close(to_child[0]);
    ::close(from_child[1]);
    orders_ = ::fdopen(to_child[1], "w");
    answers_ = ::fdopen(from_child[0], "r");
  }
  ~Part() {
    if (orders_ != nullptr) std::fclose(orders_);
    if (answers_ != nullptr) std::fclose(answers_);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  /// The plan, first, and then orders.
  Result<Json> tell(const Json& line) {
    std::fputs((dump_json(line) + "\n").c_str(), orders_);
    std::fflush(orders_);
    const std::string answer = Orders::line_of(answers_);
    if (answer.empty()) return fail(Category::kInternal, "a process of the benchmark has ended");
    return parse_json(answer);
  }
  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  FILE* orders_ = nullptr;
  FILE* answers_ = nullptr;
};

}  // namespace fleetadm::bench
