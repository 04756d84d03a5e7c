#include "core/serve/http/http1_head.h"

#include <utility>

#include "kubeclient/base/ascii.h"

namespace fleetadm::serve {

namespace http = boost::beast::http;

std::optional<Refusal> ambiguous(const Http1Head& head) {
  const auto hosts = head.count(http::field::host);
  if (hosts > 1) return Refusal{400, "the request has more than one Host header"};
  if (hosts == 0 && head.version() >= 11) return Refusal{400, "the request has no Host header"};
  const auto encodings = head.count(http::field::transfer_encoding);
  if (encodings > 1) return Refusal{400, "the request has more than one Transfer-Encoding header"};
  if (encodings == 1 && lower_case(std::string_view(head[http::field::transfer_encoding])) != "chunked")
    return Refusal{501, "the Transfer-Encoding is not chunked"};
  return std::nullopt;
}

bool is_folded(std::string_view input) {
  const auto head = input.substr(0, input.find("\r\n\r\n"));
  return head.find("\r\n ") != std::string_view::npos || head.find("\r\n\t") != std::string_view::npos;
}

Refusal refusal_of(const boost::beast::error_code& error, std::size_t most_header) {
  if (error == http::error::header_limit)
    return {431, "the head of the request is larger than " + std::to_string(most_header) + " bytes"};
  if (error == http::error::bad_content_length)
    return {400, "the Content-Length is no number, or is there beside another length"};
  if (error == http::error::bad_transfer_encoding) return {400, "the Transfer-Encoding stands beside a Content-Length"};
  return {400, "the request is malformed: " + error.message()};
}

HttpRequest request_of(const Http1Head& head, std::shared_ptr<const Peer> peer) {
  HttpRequest request;
  request.method = std::string(head.method_string());
  const std::string target(head.target());
  const auto mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string::npos) request.query = target.substr(mark + 1);
  for (const auto& field : head)
    request.headers.emplace_back(lower_case(std::string_view(field.name_string())), std::string(field.value()));
  request.peer = std::move(peer);
  return request;
}

bool keeps_connection(const Http1Head& head) {
  return head.version() >= 11 && lower_case(std::string_view(head[http::field::connection])).find("close") == std::string::npos;
}

}  // namespace fleetadm::serve
