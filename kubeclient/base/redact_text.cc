#include "kubeclient/base/redact_text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace fleetadm {
namespace {

constexpr std::string_view kMark = "<redacted>";
constexpr std::size_t kShortestJwt = 16;

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' || c == '+' || c == '/' ||
         c == '~' || c == '%' || c == '$';
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool names_a_credential(std::string_view word) {
  static constexpr std::array<std::string_view, 9> kParts = {"token",   "passw",   "secret",        "private",   "apikey",
                                                             "api_key", "api-key", "authorization", "client-key"};
  const std::string name = lowered(word);
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

/// "abcdef.0123456789abcdef", anywhere in a word.
bool holds_bootstrap_token(std::string_view word) {
  const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (std::size_t dot = word.find('.'); dot != std::string_view::npos; dot = word.find('.', dot + 1)) {
    if (dot < 6 || word.size() < dot + 17) continue;
    const auto id = word.substr(dot - 6, 6);
    const auto secret = word.substr(dot + 1, 16);
    const bool ends = word.size() == dot + 17 || !lower(word[dot + 17]);
    const bool begins = dot == 6 || !lower(word[dot - 7]);
    if (begins && ends && std::all_of(id.begin(), id.end(), lower) && std::all_of(secret.begin(), secret.end(), lower))
      return true;
  }
  return false;
}

bool is_credential(std::string_view word) {
  return (word.size() >= kShortestJwt && word.find("eyJ") != std::string_view::npos) || holds_bootstrap_token(word);
}

/// Without PEM private keys; one that has no end ends with the text.
std::string without_keys(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "-----END ";
  constexpr std::string_view kKey = "PRIVATE KEY-----";
  std::string out;
  while (true) {
    const std::size_t key = text.find(kKey);
    const std::size_t begin = key == std::string_view::npos ? key : text.rfind(kBegin, key);
    if (begin == std::string_view::npos) break;
    out += text.substr(0, begin);
    out += kMark;
    const std::size_t end = text.find(kEnd, key);
    const std::size_t rest = end == std::string_view::npos ? end : text.find(kKey, end);
    if (rest == std::string_view::npos) return out;
    text.remove_prefix(rest + kKey.size());
  }
  out += text;
  return out;
}

/// What stands between "://" and "@" in a URL, from `at` on; the end of it, or `at` where there is none.
std::size_t end_of_user(std::string_view text, std::size_t at) {
  const std::size_t end = text.find_first_of("/ \t\r\n\"'<>", at);
  const std::size_t sign = text.substr(0, end).rfind('@');
  return sign == std::string_view::npos || sign < at ? at : sign;
}

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (!is_word_char(text_[at_])) {
        out_ += text_[at_++];
        continue;
      }
      take_word();
    }
    return std::move(out_);
  }

 private:
  void take_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    out_ += is_credential(word) ? kMark : word;
    const std::string name = lowered(word);
    if (name.ends_with("bearer") || name.ends_with("basic")) {
      take_gap(" ");
      take_value();
    } else if (text_.substr(at_).starts_with("://")) {
      take_user();
    } else if (names_a_credential(word)) {
      take_assigned();
    }
  }
  void take_user() {
    out_ += "://";
    at_ += 3;
    const std::size_t end = end_of_user(text_, at_);
    if (end == at_) return;
    out_ += kMark;
    at_ = end;
  }
  /// ="…", : …, =…
  void take_assigned() {
    take_gap("\"'\\]");
    if (at_ >= text_.size() || (text_[at_] != '=' && text_[at_] != ':')) return;
    out_ += text_[at_++];
    take_gap(" \t\"'\\[");
    // "Authorization: Bearer …": the scheme is not the value.
    for (const std::string_view scheme : {"bearer ", "basic "}) {
      if (lowered(text_.substr(at_, scheme.size())) != scheme) continue;
      out_ += text_.substr(at_, scheme.size());
      at_ += scheme.size();
    }
    take_value();
  }
  void take_gap(std::string_view of) {
    while (at_ < text_.size() && of.find(text_[at_]) != std::string_view::npos) out_ += text_[at_++];
  }
  void take_value() {
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n\"'\\,;&)}]", at_), text_.size());
    if (end == at_) return;
    out_ += kMark;
    at_ = end;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string redact_text(std::string_view text) {
  const std::string keyless = without_keys(text);
  return Scan(keyless).run();
}

}  // namespace fleetadm
