#include "core/proxy/konnectivity/packet.h"

#include <gtest/gtest.h>
#include <limits>

namespace fleetadm::konnectivity {
namespace {

using namespace std::string_literals;

TEST(KonnectivityPacket, IsWrittenAsProtobufSaysIt) {
  const Packet dial{.type = PacketType::kDialRequest, .protocol = "tcp", .address = "c1:443", .random = 300};
  EXPECT_EQ(encode_packet(dial),
            "\x12\x10\x0a\x03tcp\x12\x06"
            "c1:443\x18\xac\x02"s);  // the type is 0 and left out
  const Packet data{.type = PacketType::kData, .connection = 1, .data = "\0hi"s};
  EXPECT_EQ(encode_packet(data), "\x08\x04\x22\x07\x08\x01\x1a\x03\0hi"s);
  EXPECT_EQ(encode_packet({.type = PacketType::kDrain}), "\x08\x06\x42\0"s);
}

TEST(KonnectivityPacket, ComesBackAsItWas) {
  const Packet packets[] = {
      {.type = PacketType::kDialRequest, .protocol = "tcp", .address = "[::1]:443", .random = -1},
      {.type = PacketType::kDialResponse, .random = std::numeric_limits<std::int64_t>::max(), .connection = 7, .error = "no"},
      {.type = PacketType::kCloseRequest, .connection = std::numeric_limits<std::int64_t>::min()},
      {.type = PacketType::kCloseResponse, .connection = 3, .error = "schließt"},
      {.type = PacketType::kData, .connection = 3, .error = "cut", .data = std::string(100'000, '\xff')},
      {.type = PacketType::kDialClose, .random = 5},
      {.type = PacketType::kDrain},
  };
  for (const Packet& packet : packets) {
    const auto back = decode_packet(encode_packet(packet));
    ASSERT_TRUE(back) << to_string(packet.type) << ": " << back.error().message;
    EXPECT_EQ(*back, packet) << to_string(packet.type);
  }
}

TEST(KonnectivityPacket, ThatIsBrokenOffAnywhereIsRefused) {
  const std::string whole =
      encode_packet({.type = PacketType::kDialResponse, .random = 300, .connection = 1000, .error = "nobody"});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_packet(std::string_view(whole).substr(0, size))) << size;
  }
}

TEST(KonnectivityPacket, WithGarbageBehindItIsRefused) {
  const std::string whole = encode_packet({.type = PacketType::kCloseRequest, .connection = 1});
  for (const std::string& garbage : {"\0"s, "\x0f"s, "\x80"s, "\x2a\x02\x08"s, "\x08"s}) {
    EXPECT_FALSE(decode_packet(whole + garbage));
  }
}

TEST(KonnectivityPacket, SkipsWhatLaterVersionsAdd) {
  const std::string whole = encode_packet({.type = PacketType::kCloseRequest, .connection = 9});
  // Field 20: a number, 8 bytes, a text, 4 bytes.
  const auto packet = decode_packet("\xa0\x01\x05"s + whole +
                                    "\xa1\x01"
                                    "12345678\xa2\x01\x02hi\xa5\x01"
                                    "1234"s);
  ASSERT_TRUE(packet) << packet.error().message;
  EXPECT_EQ(packet->connection, 9);
  const auto later = decode_packet("\x08\x63"s);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->type, PacketType::kOther);
}

TEST(KonnectivityPacket, SaysWhatItsTypeDemandsAndNothingElse) {
  EXPECT_FALSE(decode_packet(""));                                       // a dial without its address
  EXPECT_FALSE(decode_packet("\x08\x04"s));                              // data without data
  EXPECT_FALSE(decode_packet("\x08\x04\x2a\x02\x08\x01"s));              // data that says what a close request says
  EXPECT_FALSE(decode_packet("\x08\x02\x2a\x02\x08\x01\x42\0"s));        // two things
  EXPECT_FALSE(decode_packet("\x08\x02\x28\x01"s));                      // a number where a message stands
  EXPECT_FALSE(decode_packet("\x08\x04\x22\x03\x1a\x01\xff\x0a\x00"s));  // a type's field that is none
  EXPECT_TRUE(decode_packet("\x08\x06"s));                               // to drain, nothing needs to be said
}

TEST(KonnectivityPacket, RefusesTextsThatAreNone) {
  EXPECT_FALSE(
      decode_packet("\x12\x06\x0a\x01\xff\x12\x01"
                    "a"s));
  const Packet long_one{.type = PacketType::kDialRequest, .protocol = "tcp", .address = std::string(kMostAddressBytes + 1, 'a')};
  EXPECT_FALSE(decode_packet(encode_packet(long_one)));
}

TEST(KonnectivityPacket, RefusesNumbersOfMoreThan64Bits) {
  EXPECT_TRUE(decode_packet("\x08\x02\x2a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s));
  EXPECT_FALSE(decode_packet("\x08\x02\x2a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s));
  EXPECT_FALSE(decode_packet("\x08\x02\x2a\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s));
}

TEST(KonnectivityPacket, RefusesMoreThanItsLimit) {
  const Packet data{.type = PacketType::kData, .connection = 1, .data = std::string(kMostPacketBytes, 'x')};
  EXPECT_FALSE(decode_packet(encode_packet(data)));
}

}  // namespace
}  // namespace fleetadm::konnectivity
