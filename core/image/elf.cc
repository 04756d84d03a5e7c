#include "core/image/elf.h"

#include <cstring>
#include <elf.h>

namespace fleetadm::image {
namespace {

template <class T>
bool read_at(std::string_view file, std::uint64_t at, T& into) {
  if (at > file.size() || file.size() - at < sizeof into) return false;
  std::memcpy(&into, file.data() + at, sizeof into);
  return true;
}

}  // namespace

Result<Executable> read_executable(std::string_view file) {
  const auto refused = [](const std::string& why) { return fail(Category::kInvalid, why); };
  Elf64_Ehdr header{};
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return refused("it is not an executable");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      (header.e_type != ET_EXEC && header.e_type != ET_DYN)) {
    return refused("it is not a 64-bit Linux executable");
  }
  Executable out;
  switch (header.e_machine) {
    case EM_X86_64: out.architecture = "amd64"; break;
    case EM_AARCH64: out.architecture = "arm64"; break;
    default: return refused("it is for a processor that is neither amd64 nor arm64");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0) return refused("it cannot be loaded");
  for (unsigned which = 0; which < header.e_phnum; ++which) {
    Elf64_Phdr segment{};
    if (header.e_phoff > file.size() || !read_at(file, header.e_phoff + which * sizeof segment, segment))
      return refused("it is truncated");
    if (segment.p_type != PT_INTERP) continue;
    if (segment.p_offset > file.size() || segment.p_filesz > file.size() - segment.p_offset) return refused("it is truncated");
    const std::string_view path = file.substr(segment.p_offset, segment.p_filesz);
    out.interpreter = std::string(path.substr(0, path.find('\0')));
  }
  return out;
}

std::string own_architecture() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#else
  return "unknown";
#endif
}

}  // namespace fleetadm::image
