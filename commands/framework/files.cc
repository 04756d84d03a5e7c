#include "commands/framework/files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace fleetadm::commands {

Flag& file_flag(FlagSet& flags, std::string* into, std::string name, std::string help, char letter) {
  Flag& flag = flags.text(into, std::move(name), std::move(help), letter);
  flag.value_name = "FILE";
  flag.complete = Complete::kFiles;
  return flag;
}

Flag& files_flag(FlagSet& flags, std::vector<std::string>* into, std::string name, std::string help, char letter) {
  Flag& flag = flags.texts(into, std::move(name), std::move(help), letter);
  flag.value_name = "FILE";
  flag.complete = Complete::kFiles;
  return flag;
}

Result<std::string> read_whole_file(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Category::kUsage, "cannot read \"" + path + "\": " + std::strerror(errno));
  std::string text;
  std::string chunk(64U << 10U, '\0');
  while (file) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk, 0, static_cast<std::size_t>(file.gcount()));
    if (text.size() > most)
      return fail(Category::kUsage, "\"" + path + "\" is larger than " + std::to_string(most >> 20U) + " MiB");
  }
  if (file.bad() || !file.eof()) return fail(Category::kUsage, "cannot read \"" + path + "\"");
  return text;
}

Result<std::string> read_file_or_stdin(Context& context, const std::string& path, std::size_t most) {
  if (path != "-") return read_whole_file(path, most);
  FLEETADM_TRY(std::string text, context.terminal().read_stdin());
  if (text.size() > most) return fail(Category::kUsage, "stdin has more than " + std::to_string(most >> 20U) + " MiB");
  return text;
}

}  // namespace fleetadm::commands
