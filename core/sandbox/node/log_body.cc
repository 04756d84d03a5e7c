#include "core/sandbox/node/log_body.h"

#include <algorithm>
#include <utility>

#include "core/sandbox/node/containers.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::uint64_t kBlock = 64 * 1024;

}  // namespace

Result<std::uint64_t> start_of_tail(const std::filesystem::path& file, std::uint64_t begin, std::uint64_t end,
                                    std::uint64_t lines) {
  if (begin >= end || lines == 0) return end;
  std::ifstream in(file, std::ios::binary);
  std::string block;
  std::uint64_t newlines = 0;
  for (std::uint64_t upto = end; upto > begin;) {
    const std::uint64_t from = upto - begin > kBlock ? upto - kBlock : begin;
    block.resize(upto - from);
    in.seekg(static_cast<std::streamoff>(from));
    if (!in.read(block.data(), static_cast<std::streamsize>(block.size())))
      return fail(Category::kInternal, "the log could not be read");
    for (std::uint64_t at = upto; at > from; --at) {
      if (block[at - 1 - from] != '\n' || at == end) continue;  // the last newline ends the last line
      if (++newlines == lines) return at;
    }
    upto = from;
  }
  return begin;
}

Result<std::shared_ptr<LogBody>> LogBody::open(LogPart part) {
  std::shared_ptr<LogBody> body(new LogBody());
  const std::uint64_t end = std::min(log_size(part.file), part.end.value_or(UINT64_MAX));
  body->at_ = std::min(part.begin, end);
  if (part.tail_lines) {
    FLEETADM_TRY(body->at_, start_of_tail(part.file, body->at_, end, *part.tail_lines));
  }
  if (!part.end && !part.end_of_followed) part.end = end;
  body->part_ = std::move(part);
  return body;
}

serve::BodyStream::More LogBody::read(std::string& into, std::size_t most) {
  if (part_.limit_bytes && *part_.limit_bytes == 0) return More::kEnd;
  // Asked before the file is read: what came until the end is then in the file.
  if (!part_.end && part_.end_of_followed) part_.end = part_.end_of_followed();
  if (!in_.is_open()) in_.open(part_.file, std::ios::binary);
  std::uint64_t room = std::min<std::uint64_t>(most, kBlock);
  room = std::min(room, part_.limit_bytes.value_or(room));
  room = std::min(room, part_.end ? *part_.end - std::min(at_, *part_.end) : room);
  if (room == 0) return More::kEnd;
  std::string piece(room, '\0');
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(at_));
  in_.read(piece.data(), static_cast<std::streamsize>(room));
  const auto got = static_cast<std::uint64_t>(std::max<std::streamsize>(in_.gcount(), 0));
  if (got == 0) return part_.end ? More::kEnd : More::kLater;  // an end beyond the file: it was cut meanwhile
  into.append(piece, 0, got);
  at_ += got;
  if (part_.limit_bytes) *part_.limit_bytes -= got;
  return More::kYes;
}

}  // namespace fleetadm::sandbox
