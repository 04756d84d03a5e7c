#include "core/proxy/hop/answer_parser.h"

#include <gtest/gtest.h>

namespace fleetadm::proxy {
namespace {

using namespace std::string_view_literals;
using Stage = AnswerParser::Stage;

struct Parsed {
  Stage stage = Stage::kHead;
  int status = 0;
  serve::Headers headers;
  std::string body;
  std::string rest;
  bool keeps_connection = false;
  bool operator==(const Parsed&) const = default;
};

/// In pieces of a size, with what the parser leaves put before the next.
Parsed parse_answer(std::string_view text, std::size_t piece, bool head_only = false, bool ended = false) {
  AnswerParser parser(head_only);
  Parsed out;
  std::string kept;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    kept += text.substr(at, piece);
    while (!kept.empty() && (parser.stage() == Stage::kHead || parser.stage() == Stage::kBody)) {
      const auto used = parser.put(kept, out.body);
      kept.erase(0, used);
      if (used == 0) break;
    }
  }
  if (ended) parser.end();
  out.stage = parser.stage();
  out.status = parser.status();
  out.headers = parser.headers();
  out.rest = kept;
  out.keeps_connection = out.stage == Stage::kWhole && parser.keeps_connection();
  return out;
}

/// Whatever the pieces, an answer that is good is the same, and one that is not is not.
Parsed parse_answer_all_ways(std::string_view text, bool head_only = false, bool ended = false) {
  const auto whole = parse_answer(text, text.size(), head_only, ended);
  for (const std::size_t piece : {1, 2, 3, 7, 19}) {
    const auto pieces = parse_answer(text, piece, head_only, ended);
    EXPECT_EQ(pieces.stage, whole.stage) << piece << ": " << text;
    EXPECT_TRUE(whole.stage == Stage::kBroken || pieces == whole) << piece << ": " << text;
  }
  return whole;
}

TEST(AnswerParser, ReadsBodiesOfEveryFraming) {
  const auto length = parse_answer_all_ways("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b \r\n\r\nhelloHTTP");
  EXPECT_EQ(length.stage, Stage::kWhole);
  EXPECT_EQ(length.status, 200);
  EXPECT_EQ(length.body, "hello");
  EXPECT_EQ(length.rest, "HTTP");
  EXPECT_TRUE(length.keeps_connection);
  EXPECT_EQ(length.headers, (serve::Headers{{"content-length", "5"}, {"x-a", "b"}}));

  const auto chunked = parse_answer_all_ways(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX-Trailer: 1\r\n\r\nrest");
  EXPECT_EQ(chunked.stage, Stage::kWhole);
  EXPECT_EQ(chunked.body, "hello!");
  EXPECT_EQ(chunked.rest, "rest");
  EXPECT_EQ(chunked.headers.size(), 1U) << "a trailer is no header";

  const auto until_close = parse_answer_all_ways("HTTP/1.1 200 OK\r\n\r\nhello", false, true);
  EXPECT_EQ(until_close.stage, Stage::kWhole);
  EXPECT_EQ(until_close.body, "hello");
  EXPECT_FALSE(until_close.keeps_connection);

  EXPECT_FALSE(parse_answer_all_ways("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").keeps_connection);
}

TEST(AnswerParser, KnowsWhichAnswersHaveNoBody) {
  for (const std::string status : {"204 No Content", "304 Not Modified", "100 Continue", "101 Switching Protocols"}) {
    const auto parsed = parse_answer_all_ways("HTTP/1.1 " + status + "\r\nContent-Length: 5\r\n\r\nnext!");
    EXPECT_EQ(parsed.stage, Stage::kWhole) << status;
    EXPECT_EQ(parsed.rest, "next!") << status;
  }
  const auto head = parse_answer_all_ways("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true);
  EXPECT_EQ(head.stage, Stage::kWhole);
  EXPECT_TRUE(head.body.empty());
}

TEST(AnswerParser, SaysThatAnAnswerBrokeOff) {
  for (const std::string text : {"HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
                                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"}) {
    EXPECT_EQ(parse_answer_all_ways(text, false, true).stage, Stage::kBroken) << text;
  }
}

TEST(AnswerParser, RefusesWhatCanBeReadInTwoWays) {
  const std::vector<std::string> hostile = {
      "garbage\r\n\r\n",
      "HTTP/2.0 200 OK\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/1.1 099 OK\r\n\r\n",
      "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
      "HTTP/1.1 200 OK\r\nA: b\rC: d\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA\x01: b\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: b\x01\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA : b\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\n: b\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nab",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nab",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nab",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabcd",
  };
  for (const auto& text : hostile) {
    EXPECT_EQ(parse_answer(text, text.size()).stage, Stage::kBroken) << text;
    parse_answer_all_ways(text, false, true);  // in pieces, the end of a line that does not come may be waited for
  }
  const auto nul = "HTTP/1.1 200 OK\r\nA: b\0c\r\nContent-Length: 0\r\n\r\n"sv;
  EXPECT_EQ(parse_answer_all_ways(nul).stage, Stage::kBroken);
}

TEST(AnswerParser, BoundsWhatItHolds) {
  const auto stage_of = [](const std::string& text) { return parse_answer(text, 4096).stage; };
  const std::string fits = "HTTP/1.1 200 OK\r\nA: " + std::string(60 * 1024, 'x') + "\r\nContent-Length: 0\r\n\r\n";
  EXPECT_EQ(stage_of(fits), Stage::kWhole);
  EXPECT_EQ(stage_of("HTTP/1.1 200 OK\r\nA: " + std::string(70 * 1024, 'x')), Stage::kBroken);
  std::string many = "HTTP/1.1 200 OK\r\n";
  while (many.size() < 80 * 1024) many += "A: b\r\n";
  EXPECT_EQ(stage_of(many), Stage::kBroken);
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(stage_of(chunked + "1;a=" + std::string(40 * 1024, 'x')), Stage::kBroken);
  EXPECT_EQ(stage_of(chunked + "0\r\nA: " + std::string(40 * 1024, 'x')), Stage::kBroken);
  EXPECT_EQ(stage_of(chunked + std::string(40 * 1024, '0')), Stage::kBroken);
}

}  // namespace
}  // namespace fleetadm::proxy
