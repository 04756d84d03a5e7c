#include "core/proxy/konnectivity/packet.h"

#include <optional>
#include <utility>

#include "kubeclient/base/utf8.h"

namespace fleetadm::konnectivity {
namespace {

enum WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr std::uint32_t kTypeField = 1;  // of a packet; the others hold what one type of packet says
constexpr int kVarintBits = 64;

tl::unexpected<Error> malformed(std::string_view what) {
  return fail(Category::kInvalid, "malformed konnectivity packet: " + std::string(what));
}

struct Field {
  std::uint32_t number = 0;
  std::uint8_t wire = kVarint;
  std::uint64_t number_value = 0;
  std::string_view bytes;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view rest) : rest_(rest) {}

  bool done() const { return rest_.empty(); }
  Result<Field> next() {
    const auto key = varint();
    if (!key) return malformed("a field's key is broken off");
    Field field;
    field.wire = static_cast<std::uint8_t>(*key & 7);
    if ((*key >> 3) == 0 || (*key >> 3) > kMostFieldNumber) return malformed("a field number that cannot be");
    field.number = static_cast<std::uint32_t>(*key >> 3);
    switch (field.wire) {
      case kVarint: {
        const auto value = varint();
        if (!value) return malformed("a number is broken off");
        field.number_value = *value;
        return field;
      }
      case kFixed64: return take(8, field);
      case kFixed32: return take(4, field);
      case kBytes: {
        const auto size = varint();
        if (!size) return malformed("a length is broken off");
        return take(*size, field);
      }
      default: return malformed("a field of an unknown kind");
    }
  }

 private:
  static constexpr std::uint64_t kMostFieldNumber = (1U << 29) - 1;

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < kVarintBits && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) return std::nullopt;
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    return std::nullopt;
  }
  Result<Field> take(std::uint64_t size, Field field) {
    if (size > rest_.size()) return malformed("a field is longer than the packet");
    field.bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }

  std::string_view rest_;
};

/// Where the members of each type of packet stand: their field numbers, 0 where it has none of that name.
struct Layout {
  std::uint32_t field = 0;  // of the packet
  std::uint32_t protocol = 0;
  std::uint32_t address = 0;
  std::uint32_t random = 0;
  std::uint32_t connection = 0;
  std::uint32_t error = 0;
  std::uint32_t data = 0;
};

constexpr Layout layout_of(PacketType type) {
  switch (type) {
    case PacketType::kDialRequest: return {.field = 2, .protocol = 1, .address = 2, .random = 3};
    case PacketType::kDialResponse: return {.field = 3, .random = 3, .connection = 2, .error = 1};
    case PacketType::kCloseRequest: return {.field = 5, .connection = 1};
    case PacketType::kCloseResponse: return {.field = 6, .connection = 2, .error = 1};
    case PacketType::kData: return {.field = 4, .connection = 1, .error = 2, .data = 3};
    case PacketType::kDialClose: return {.field = 7, .random = 1};
    case PacketType::kDrain: return {.field = 8};
    case PacketType::kOther: break;
  }
  return {};
}

constexpr std::uint32_t kLastField = 8;

bool is_text(std::string_view bytes) { return valid_utf8(bytes) == bytes; }

Status take_text(const Field& field, std::string& into) {
  if (field.wire != kBytes) return malformed("a text of another kind");
  if (!is_text(field.bytes)) return malformed("a text that is not UTF-8");
  into = field.bytes;
  return {};
}

Status take_number(const Field& field, std::int64_t& into) {
  if (field.wire != kVarint) return malformed("a number of another kind");
  into = static_cast<std::int64_t>(field.number_value);
  return {};
}

Status decode_members(std::string_view bytes, const Layout& layout, Packet& packet) {
  FieldReader reader(bytes);
  while (!reader.done()) {
    FLEETADM_TRY(const Field field, reader.next());
    if (field.number == layout.protocol) {
      FLEETADM_CHECK(take_text(field, packet.protocol));
    } else if (field.number == layout.address) {
      FLEETADM_CHECK(take_text(field, packet.address));
    } else if (field.number == layout.error) {
      FLEETADM_CHECK(take_text(field, packet.error));
    } else if (field.number == layout.random) {
      FLEETADM_CHECK(take_number(field, packet.random));
    } else if (field.number == layout.connection) {
      FLEETADM_CHECK(take_number(field, packet.connection));
    } else if (field.number == layout.data) {
      if (field.wire != kBytes) return malformed("data of another kind");
      packet.data = field.bytes;
    }
  }
  if (packet.address.size() > kMostAddressBytes) return malformed("the address is too long");
  return {};
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  put_varint(out, (std::uint64_t{field} << 3) | kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

// Members that have the value that is taken where there is none are left out, as proto3 wants it.
void put_text(std::string& out, std::uint32_t field, std::string_view text) {
  if (field != 0 && !text.empty()) put_bytes(out, field, text);
}

void put_number(std::string& out, std::uint32_t field, std::int64_t value) {
  if (field == 0 || value == 0) return;
  put_varint(out, (std::uint64_t{field} << 3) | kVarint);
  put_varint(out, static_cast<std::uint64_t>(value));
}

}  // namespace

std::string encode_packet(const Packet& packet) {
  const Layout layout = layout_of(packet.type);
  std::string members;
  members.reserve(packet.data.size() + packet.address.size() + packet.error.size() + 48);
  put_text(members, layout.protocol, packet.protocol);
  put_text(members, layout.address, packet.address);
  put_number(members, layout.random, packet.random);
  put_number(members, layout.connection, packet.connection);
  put_text(members, layout.error, packet.error);
  put_text(members, layout.data, packet.data);
  std::string out;
  out.reserve(members.size() + 16);
  put_number(out, kTypeField, static_cast<std::int64_t>(packet.type));
  if (layout.field != 0) put_bytes(out, layout.field, members);
  return out;
}

Result<Packet> decode_packet(std::string_view bytes) {
  if (bytes.size() > kMostPacketBytes) return malformed("it is too long");
  std::uint64_t type = 0;
  std::uint32_t said = 0;  // which field holds what it says; the last one counts
  std::string_view members;
  FieldReader reader(bytes);
  while (!reader.done()) {
    FLEETADM_TRY(const Field field, reader.next());
    if (field.number == kTypeField) {
      if (field.wire != kVarint) return malformed("a type of another kind");
      type = field.number_value;
    } else if (field.number <= kLastField) {
      if (field.wire != kBytes) return malformed("a message of another kind");
      if (said != 0) return malformed("it says two things");
      said = field.number;
      members = field.bytes;
    }
  }
  Packet packet;
  packet.type = type < static_cast<std::uint64_t>(PacketType::kOther) ? static_cast<PacketType>(type) : PacketType::kOther;
  if (packet.type == PacketType::kOther) return packet;
  const Layout layout = layout_of(packet.type);
  const bool may_say_nothing = packet.type == PacketType::kDrain && said == 0;
  if (said != layout.field && !may_say_nothing) return malformed("it does not say what its type demands");
  FLEETADM_CHECK(decode_members(members, layout, packet));
  return packet;
}

std::string_view to_string(PacketType type) {
  switch (type) {
    case PacketType::kDialRequest: return "DIAL_REQ";
    case PacketType::kDialResponse: return "DIAL_RSP";
    case PacketType::kCloseRequest: return "CLOSE_REQ";
    case PacketType::kCloseResponse: return "CLOSE_RSP";
    case PacketType::kData: return "DATA";
    case PacketType::kDialClose: return "DIAL_CLS";
    case PacketType::kDrain: return "DRAIN";
    case PacketType::kOther: break;
  }
  return "unknown";
}

}  // namespace fleetadm::konnectivity
