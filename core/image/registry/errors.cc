#include "core/image/registry/errors.h"

#include <algorithm>
#include <charconv>

#include "kubeclient/base/json.h"

namespace fleetadm::image {
namespace {

constexpr std::size_t kMaxWords = 300;
constexpr int kMaxRetryAfter = 3600;

std::string shortened(std::string text) {
  if (text.size() > kMaxWords) text = text.substr(0, kMaxWords) + "…";
  return text;
}

/// {"errors": [{"code", "message", "detail"}]}
std::string words_of(const std::string& body) {
  const auto parsed = parse_json(body);
  if (!parsed) return {};
  const Json& errors = list_at(*parsed, {"errors"});
  if (errors.empty()) return {};
  const Json& first = errors.front();
  std::string text = str(first, {"message"});
  if (text.empty()) text = str(first, {"code"});
  const Json* detail = find(first, {"detail"});
  // A registry that does not know what its storage has says it there only.
  if (detail != nullptr && !detail->is_null() && !detail->empty() && str(first, {"code"}) == "UNKNOWN")
    text += ": " + (detail->is_string() ? detail->get<std::string>() : dump_json(*detail));
  return shortened(std::move(text));
}

int retry_after(const kube::Response& answer) {
  const auto header = answer.headers.find("retry-after");
  if (header == answer.headers.end()) return 0;
  int seconds = 0;
  const char* end = header->second.data() + header->second.size();
  const auto [at, problem] = std::from_chars(header->second.data(), end, seconds);
  return problem == std::errc() && at == end ? std::clamp(seconds, 0, kMaxRetryAfter) : 0;  // a date is not taken
}

Category category_of(int status) {
  switch (status) {
    case 401:
    case 403: return Category::kAuth;
    case 404: return Category::kNotFound;
    case 405:
    case 415:
    case 501: return Category::kUnsupported;
    default: return status == 429 || status >= 500 ? Category::kUnavailable : Category::kInvalid;
  }
}

}  // namespace

Error error_of_answer(const std::string& registry, const kube::Response& answer) {
  Error error;
  error.code = answer.status;
  error.category = category_of(answer.status);
  error.retry_after_seconds = retry_after(answer);
  const std::string words = words_of(answer.body);
  error.message = "the registry " + registry + " answered " + std::to_string(answer.status) + (words.empty() ? "" : ": " + words);
  switch (answer.status) {
    case 401:
    case 403:
      error.hint = "log in with an account that may push: docker login " + registry + ", or name its file with --auth-file";
      break;
    case 413: error.hint = "something in front of the registry limits the size of requests; raise that limit"; break;
    case 507: error.hint = "the registry has no space left"; break;
    default: break;
  }
  return error;
}

Error error_of_transport(Error error) {
  if (error.reason == "UnknownAuthority" || error.reason == "BadCertificateAuthority") {
    error.hint = "name the registry's CA with --ca-file; something else may be answering at this address";
  } else if (error.reason == "NameMismatch") {
    error.hint = "use a name or address that the certificate lists";
  } else if (error.reason == "NotTls") {
    error.hint = "without TLS only a registry of this machine can be asked, with --plain-http";
  } else if (error.reason == "ConnectionRefused") {
    error.hint = "is the registry running, and is the port right?";
  } else if (error.reason == "DnsFailure") {
    error.hint = "check the registry's name, and this machine's DNS and proxy settings";
  }
  return error;
}

bool may_pass(const Error& error) {
  switch (error.code) {
    case 0: return error.category == Category::kUnavailable || error.category == Category::kTimeout;
    case 429:
    case 500:
    case 502:
    case 503:
    case 504: return true;
    default: return false;
  }
}

}  // namespace fleetadm::image
