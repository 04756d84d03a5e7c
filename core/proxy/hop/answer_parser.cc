#include "core/proxy/hop/answer_parser.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <utility>

#include "kubeclient/base/ascii.h"

namespace fleetadm::proxy {
namespace {

namespace http = boost::beast::http;

/// What is neither head nor body: the parser takes a chunk's extensions, and the trailers, only as a whole.
constexpr std::size_t kMaxFraming = 16 * 1024;

}  // namespace

AnswerParser::AnswerParser(bool head_only) {
  header_limit(static_cast<std::uint32_t>(kMaxAnswerHead));
  body_limit(boost::none);
  eager(false);
  skip(head_only);
}

void AnswerParser::break_off(std::string flaw) {
  stage_ = Stage::kBroken;
  flaw_ = std::move(flaw);
}

std::size_t AnswerParser::put(std::string_view bytes, std::string& body) {
  std::size_t taken = 0;
  body_ = &body;
  while (taken < bytes.size() && (stage_ == Stage::kHead || stage_ == Stage::kBody)) {
    ErrorCode error;
    const std::string_view rest = bytes.substr(taken);
    const auto used = basic_parser::put(boost::asio::const_buffer(rest.data(), rest.size()), error);
    taken += used;
    const bool in_head = stage_ == Stage::kHead;
    if (in_head) head_bytes_ += used;
    if (error && error != http::error::need_more) {
      break_off(error.message());
    } else if (in_head && head_bytes_ > kMaxAnswerHead) {
      break_off("its head is larger than 64 KiB");
    } else if (is_done()) {
      stage_ = Stage::kWhole;
    } else if (in_head && is_header_done()) {
      stage_ = Stage::kBody;
      break;
    } else if (!in_head && error == http::error::need_more && bytes.size() - taken > kMaxFraming) {
      break_off("a chunk's extensions or the trailers are larger than 16 KiB");
    }
    if (error == http::error::need_more || used == 0) break;
  }
  body_ = nullptr;
  return taken;
}

void AnswerParser::end() {
  if (stage_ == Stage::kBody && need_eof()) {
    stage_ = Stage::kWhole;
  } else if (stage_ != Stage::kWhole) {
    break_off("it broke off");
  }
}

void AnswerParser::on_response_impl(int code, View /*reason*/, int /*version*/, ErrorCode& error) {
  status_ = code;
  if (code < 100) error = http::error::bad_status;
}

void AnswerParser::on_field_impl(http::field name, View text, View value, ErrorCode& error) {
  if (stage_ != Stage::kHead) return;  // a trailer
  const std::string_view content(value.data(), value.size());
  if (std::ranges::any_of(content, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; })) {
    error = http::error::bad_value;
    return;
  }
  // Beast reads an encoding that it does not know as a body that ends with the connection.
  if (name == http::field::transfer_encoding && lower_case(trimmed(content)) != "chunked") {
    error = http::error::bad_transfer_encoding;
    return;
  }
  headers_.emplace_back(lower_case({text.data(), text.size()}), content);
}

void AnswerParser::on_header_impl(ErrorCode& /*error*/) {}

std::size_t AnswerParser::on_body_impl(View bytes, ErrorCode& /*error*/) {
  body_->append(bytes.data(), bytes.size());
  return bytes.size();
}

std::size_t AnswerParser::on_chunk_body_impl(std::uint64_t /*remain*/, View bytes, ErrorCode& /*error*/) {
  body_->append(bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace fleetadm::proxy
