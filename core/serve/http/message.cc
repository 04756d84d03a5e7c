#include "core/serve/http/message.h"

namespace fleetadm::serve {

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::vector<std::string> HttpRequest::all(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : headers) {
    if (key == name) out.push_back(value);
  }
  return out;
}

HttpResponse answer_text(int status, std::string text, std::string type) {
  HttpResponse out;
  out.status = status;
  out.headers = {
      {"content-type", std::move(type)}, {"cache-control", "no-cache, private"}, {"x-content-type-options", "nosniff"}};
  out.body = std::move(text);
  return out;
}

HttpResponse too_many_requests() {
  HttpResponse out;
  out.status = 429;
  out.headers = {{"retry-after", "1"}, {"content-type", "text/plain"}};
  out.body = "Too many requests, please try again later.\n";
  return out;
}

std::string_view status_text(int status) {
  switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 301: return "Moved Permanently";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Request Entity Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Entity";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Status";
  }
}

}  // namespace fleetadm::serve
