// Answers of an HTTP/1.1 server, read by Beast's parser. Pure: bytes in, a head and a body out.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/serve/http/message.h"

namespace fleetadm::proxy {

inline constexpr std::size_t kMaxAnswerHead = 64 * 1024;

/// One answer, of any status (1xx is one by itself).
class AnswerParser final : private boost::beast::http::basic_parser<false> {
 public:
  enum class Stage { kHead, kBody, kWhole, kBroken };

  /// `head_only`: of a request with HEAD, whose answer has no body, whatever its head says.
  explicit AnswerParser(bool head_only);

  /// How many of the bytes were taken; the others are to come again, with more behind them. It stops behind the head, once, and
  /// behind the answer. What it finds of the body is appended to `body`.
  std::size_t put(std::string_view bytes, std::string& body);
  /// The connection has ended: so has a body without length.
  void end();

  Stage stage() const { return stage_; }
  /// Once the stage is not kHead:
  int status() const { return status_; }
  serve::Headers& headers() { return headers_; }
  /// Its end is that of the connection.
  bool until_close() const { return stage_ == Stage::kBody && need_eof(); }
  /// Another request may be sent on the connection behind it.
  bool keeps_connection() const { return keep_alive(); }
  /// Of kBroken: what is wrong, for people.
  const std::string& flaw() const { return flaw_; }

 private:
  using ErrorCode = boost::beast::error_code;
  using View = boost::beast::string_view;

  void on_request_impl(boost::beast::http::verb, View, View, int, ErrorCode&) override {}
  void on_response_impl(int code, View reason, int version, ErrorCode& error) override;
  void on_field_impl(boost::beast::http::field name, View text, View value, ErrorCode& error) override;
  void on_header_impl(ErrorCode& error) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(View bytes, ErrorCode& error) override;
  void on_chunk_header_impl(std::uint64_t, View, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t remain, View bytes, ErrorCode& error) override;
  void on_finish_impl(ErrorCode&) override {}
  void break_off(std::string flaw);

  Stage stage_ = Stage::kHead;
  int status_ = 0;
  serve::Headers headers_;
  std::string flaw_;
  std::string* body_ = nullptr;  // during put()
  std::size_t head_bytes_ = 0;
};

}  // namespace fleetadm::proxy
