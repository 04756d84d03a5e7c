#include "core/registration/aws/sigv4.h"

#include <algorithm>
#include <map>
#include <openssl/evp.h>
#include <vector>

#include "kubeclient/base/encoding.h"

namespace fleetadm::registration::aws {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kUpperHex = "0123456789ABCDEF";
constexpr std::string_view kLowerHex = "0123456789abcdef";

bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

std::string in_hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out += kLowerHex[static_cast<unsigned char>(c) >> 4U];
    out += kLowerHex[static_cast<unsigned char>(c) & 15U];
  }
  return out;
}

/// "20150830T123600Z".
std::string stamp(Instant now) {
  std::string text = format_time(std::chrono::floor<std::chrono::seconds>(now));
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

/// Every segment is encoded once more than it was sent.
std::string canonical_path(std::string_view path) {
  std::string out;
  for (const char c : path.empty() ? std::string_view("/") : path) out += c == '/' ? "/" : percent_encoded({&c, 1});
  return out;
}

std::string canonical_query(const kube::Query& query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [name, value] : query) pairs.emplace_back(percent_encoded(name), percent_encoded(value));
  std::sort(pairs.begin(), pairs.end());
  std::string out;
  for (const auto& [name, value] : pairs) out += (out.empty() ? "" : "&") + name + "=" + value;
  return out;
}

struct Signature {
  std::string scope;    // of the credential
  std::string headers;  // that are signed, by name
  std::string hex;
};

/// `headers`: those that are signed, names in lower case.
Signature signature_of(std::string_view method, std::string_view path, const kube::Query& query,
                       const std::map<std::string, std::string>& headers, std::string_view body, const Credentials& credentials,
                       const Scope& scope, const std::string& time) {
  Signature made;
  std::string lines;
  for (const auto& [name, value] : headers) {
    lines += name + ":" + value + "\n";
    made.headers += (made.headers.empty() ? "" : ";") + name;
  }
  const std::string canonical = std::string(method) + "\n" + canonical_path(path) + "\n" + canonical_query(query) + "\n" + lines +
                                "\n" + made.headers + "\n" + sha256_hex(body);
  const std::string day = time.substr(0, 8);
  made.scope = day + "/" + scope.region + "/" + scope.service + "/aws4_request";
  const std::string text = std::string(kAlgorithm) + "\n" + time + "\n" + made.scope + "\n" + sha256_hex(canonical);
  std::string key = hmac_sha256("AWS4" + credentials.secret_key, day);
  for (const std::string& part : {scope.region, scope.service, std::string("aws4_request")}) key = hmac_sha256(key, part);
  made.hex = in_hex(hmac_sha256(key, text));
  return made;
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kUpperHex[byte >> 4U], kUpperHex[byte & 15U]};
  }
  return out;
}

void sign(kube::Request& request, std::string_view host, const Credentials& credentials, const Scope& scope, Instant now) {
  const std::string time = stamp(now);
  std::map<std::string, std::string> headers{{"host", std::string(host)}, {"x-amz-date", time}};
  if (!credentials.session_token.empty()) headers["x-amz-security-token"] = credentials.session_token;
  if (!request.body.empty()) headers["content-type"] = request.content_type;
  const Signature made =
      signature_of(to_string(request.method), request.path, request.query, headers, request.body, credentials, scope, time);
  request.headers["X-Amz-Date"] = time;
  if (!credentials.session_token.empty()) request.headers["X-Amz-Security-Token"] = credentials.session_token;
  request.headers["Authorization"] = std::string(kAlgorithm) + " Credential=" + credentials.access_key + "/" + made.scope +
                                     ", SignedHeaders=" + made.headers + ", Signature=" + made.hex;
}

std::string presigned_query(kube::Query query, std::map<std::string, std::string> headers, const Credentials& credentials,
                            const Scope& scope, Instant now, Duration valid) {
  const std::string time = stamp(now);
  std::string names;
  for (const auto& [name, value] : headers) names += (names.empty() ? "" : ";") + name;
  const std::string where = time.substr(0, 8) + "/" + scope.region + "/" + scope.service + "/aws4_request";
  query.emplace_back("X-Amz-Algorithm", std::string(kAlgorithm));
  query.emplace_back("X-Amz-Credential", credentials.access_key + "/" + where);
  query.emplace_back("X-Amz-Date", time);
  query.emplace_back("X-Amz-Expires", std::to_string(std::chrono::duration_cast<std::chrono::seconds>(valid).count()));
  if (!credentials.session_token.empty()) query.emplace_back("X-Amz-Security-Token", credentials.session_token);
  query.emplace_back("X-Amz-SignedHeaders", names);
  const Signature made = signature_of("GET", "/", query, headers, {}, credentials, scope, time);
  return canonical_query(query) + "&X-Amz-Signature=" + made.hex;
}

}  // namespace fleetadm::registration::aws
