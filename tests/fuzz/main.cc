// fuzz [TARGET…] [--keep FOLDER] [--replay FILE…]: random input for the parsers and engines; ten minutes each, or
// FLEETADM_FUZZ_SECONDS. FLEETADM_FUZZ_SEED begins elsewhere. --keep writes short inputs of many outcomes, as tests/corpora has
// them; --replay runs files through one target. Built with the sanitizers by `./dev bench fuzz`.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/fuzz/driver.h"

namespace {

using namespace fleetadm;

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

int replay(const fuzz::Target& target, const std::vector<std::string>& files) {
  int bad = 0;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(in), {}};
    const auto shape = target.run(input);
    std::printf("%s: %s\n", file.c_str(), shape ? shape->c_str() : shape.error().message.c_str());
    bad += shape ? 0 : 1;
  }
  return bad == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  fuzz::FuzzOptions options;
  options.time = std::chrono::seconds(number_of("FLEETADM_FUZZ_SECONDS", 600));
  options.seed = number_of("FLEETADM_FUZZ_SEED", static_cast<std::uint64_t>(std::time(nullptr)));
  options.parallel = std::max(1U, std::thread::hardware_concurrency());
  options.findings = (std::filesystem::temp_directory_path() / "fleetadm-fuzz-findings").string();
  std::vector<const fuzz::Target*> chosen;
  const std::vector<std::string> args(argv + 1, argv + argc);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--keep" && i + 1 < args.size()) {
      options.keep = args[++i];
      continue;
    }
    if (args[i] == "--replay" && chosen.size() == 1)
      return replay(*chosen.front(), {args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end()});
    const std::size_t before = chosen.size();
    for (const fuzz::Target& target : fuzz::targets()) {
      if (target.name == args[i]) chosen.push_back(&target);
    }
    if (chosen.size() > before) continue;
    std::fprintf(stderr, "fuzz: what is \"%s\"?\n", args[i].c_str());
    return 64;
  }
  if (chosen.empty()) {
    for (const fuzz::Target& target : fuzz::targets()) chosen.push_back(&target);
  }
  std::printf("%lld s for each target, seed %llu\n", static_cast<long long>(options.time.count()),
              static_cast<unsigned long long>(options.seed));
  const int findings = fuzz::fuzz(chosen, options);
  return findings == 0 ? 0 : 1;
}
