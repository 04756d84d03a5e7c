#include "commands/framework/files.h"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "kubeclient/base/owned_fd.h"

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
  const auto refused = [&](int code) {
    return fail(Category::kUsage, "cannot read \"" + path + "\": " + std::error_code(code, std::generic_category()).message());
  };
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return refused(errno);
  std::string text;
  std::string chunk(64U << 10U, '\0');
  while (true) {
    const ssize_t count = ::read(file.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refused(errno);  // a directory can be opened, but not read
    if (count == 0) return text;
    text.append(chunk, 0, static_cast<std::size_t>(count));
    if (text.size() > most)
      return fail(Category::kUsage, "\"" + path + "\" is larger than " + std::to_string(most >> 20U) + " MiB");
  }
}

Result<std::string> read_file_or_stdin(Context& context, const std::string& path, std::size_t most) {
  if (path != "-") return read_whole_file(path, most);
  FLEETADM_TRY(std::string text, context.terminal().read_stdin());
  if (text.size() > most) return fail(Category::kUsage, "stdin has more than " + std::to_string(most >> 20U) + " MiB");
  return text;
}

}  // namespace fleetadm::commands
