#include "core/cel/library/name_formats.h"

#include <algorithm>
#include <array>
#include <re2/re2.h>

#include "core/cel/library/url.h"

namespace fleetadm::cel {
namespace {

using Errors = std::vector<std::string>;

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxSubdomain = 253;

constexpr const char* kLabel = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr const char* kSubdomain = R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)";
constexpr const char* kLabel1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr const char* kKey = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr const char* kValue = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

// Compiled once: expressions may ask a million times.
struct Patterns {
  RE2 label{kLabel};
  RE2 subdomain{kSubdomain};
  RE2 label1035{kLabel1035};
  RE2 key{kKey};
  RE2 value{kValue};
  RE2 uuid{"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"};
  RE2 date{"([0-9]{4})-([0-9]{2})-([0-9]{2})"};
  RE2 time{"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})"};
};

const Patterns& patterns() {
  static const Patterns kPatterns;
  return kPatterns;
}

bool is(std::string_view text, const RE2& pattern) { return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern); }

// The sentence of a rule that failed; the words are Kubernetes' and can be compared by expressions.
std::string rule(std::string_view what, std::string_view examples, const char* pattern) {
  return std::string(what) + " (e.g. " + std::string(examples) + ", regex used for validation is '" + pattern + "')";
}

std::string longer_than(std::size_t limit, std::string_view unit) {
  return "must be no more than " + std::to_string(limit) + " " + std::string(unit);
}

// A prefix may end in a dash, because something follows.
std::string completed(std::string_view prefix) {
  if (prefix.size() < 2 || !prefix.ends_with('-')) return std::string(prefix);
  return std::string(prefix.substr(0, prefix.size() - 2)) + "a";
}

Errors subdomain_errors(std::string_view text, std::string_view unit) {
  Errors errors;
  if (text.size() > kMaxSubdomain) errors.push_back(longer_than(kMaxSubdomain, unit));
  if (!is(text, patterns().subdomain)) {
    errors.push_back(
        rule("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
             "end with an alphanumeric character",
             "'example.com'", kSubdomain));
  }
  return errors;
}

Errors dns1123_label(std::string_view text) {
  Errors errors;
  if (text.size() > kMaxLabel) errors.push_back(longer_than(kMaxLabel, "characters"));
  if (is(text, patterns().label)) return errors;
  if (is(text, patterns().subdomain)) {
    errors.emplace_back("must not contain dots");
  } else {
    errors.push_back(
        rule("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
             "an alphanumeric character",
             "'my-name',  or '123-abc'", kLabel));
  }
  return errors;
}

Errors dns1123_subdomain(std::string_view text) { return subdomain_errors(text, "characters"); }

Errors dns1035_label(std::string_view text) {
  Errors errors;
  if (text.size() > kMaxLabel) errors.push_back(longer_than(kMaxLabel, "characters"));
  if (!is(text, patterns().label1035)) {
    errors.push_back(rule(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
        "end with an alphanumeric character",
        "'my-name',  or 'abc-123'", kLabel1035));
  }
  return errors;
}

Errors dns1123_label_prefix(std::string_view text) { return dns1123_label(completed(text)); }
Errors dns1123_subdomain_prefix(std::string_view text) { return dns1123_subdomain(completed(text)); }
Errors dns1035_label_prefix(std::string_view text) { return dns1035_label(completed(text)); }

Errors qualified_name(std::string_view text) {
  static const std::string kRule =
      rule("must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
           "'MyName',  or 'my.name',  or '123-abc'", kKey);
  Errors errors;
  std::string_view name = text;
  const auto slashes = std::count(text.begin(), text.end(), '/');
  if (slashes > 1) {
    return {"a valid label key " + kRule + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
  }
  if (slashes == 1) {
    const std::string_view prefix = text.substr(0, text.find('/'));
    name = text.substr(prefix.size() + 1);
    if (prefix.empty()) {
      errors.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& error : subdomain_errors(prefix, "bytes")) errors.push_back("prefix part " + error);
    }
  }
  if (name.empty()) {
    errors.emplace_back("name part must be non-empty");
  } else if (name.size() > kMaxLabel) {
    errors.push_back("name part " + longer_than(kMaxLabel, "bytes"));
  }
  if (!is(name, patterns().key)) errors.push_back("name part " + kRule);
  return errors;
}

Errors label_value(std::string_view text) {
  Errors errors;
  if (text.size() > kMaxLabel) errors.push_back(longer_than(kMaxLabel, "bytes"));
  if (!is(text, patterns().value)) {
    errors.push_back(
        rule("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
             "end with an alphanumeric character",
             "'MyValue',  or 'my_value',  or '12345'", kValue));
  }
  return errors;
}

Errors uri(std::string_view text) {
  if (const Status status = Url::check_request(text); !status) return {status.error().message};
  return {};
}

Errors unless(bool valid, std::string_view message) { return valid ? Errors() : Errors{std::string(message)}; }

Errors uuid(std::string_view text) { return unless(is(text, patterns().uuid), "does not match the UUID format"); }

// Not with a pattern: RE2 holds repetitions of a long text in memory.
bool is_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return false;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  return text.substr(0, text.size() - padding)
             .find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == std::string_view::npos;
}

Errors byte(std::string_view text) { return unless(is_base64(text), "invalid base64"); }

bool is_date(std::string_view text) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!RE2::FullMatch(re2::StringPiece(text.data(), text.size()), patterns().date, &year, &month, &day)) {
    return false;
  }
  if (month < 1 || month > 12 || day < 1) return false;
  static constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return day <= kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

// What follows a second "t" does not count, nor does a leap second: that is how it is checked everywhere else.
bool is_date_time(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::size_t first = lower.find('t');
  if (first == std::string::npos || !is_date(std::string_view(lower).substr(0, first))) return false;
  const std::string time = lower.substr(first + 1, lower.find('t', first + 1) - first - 1);
  int hour = 0;
  int minute = 0;
  int second = 0;
  return RE2::FullMatch(time, patterns().time, &hour, &minute, &second) && hour <= 23 && minute <= 59 && second <= 59;
}

Errors date(std::string_view text) { return unless(is_date(text), "invalid date"); }
Errors date_time(std::string_view text) { return unless(is_date_time(text), "invalid datetime"); }

constexpr std::array<NamedFormat, 13> kFormats = {{
    {"dns1123Label", "DNS1123Label", dns1123_label},
    {"dns1123Subdomain", "DNS1123Subdomain", dns1123_subdomain},
    {"dns1035Label", "DNS1035Label", dns1035_label},
    {"qualifiedName", "QualifiedName", qualified_name},
    {"dns1123LabelPrefix", "DNS1123LabelPrefix", dns1123_label_prefix},
    {"dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", dns1123_subdomain_prefix},
    {"dns1035LabelPrefix", "DNS1035LabelPrefix", dns1035_label_prefix},
    {"labelValue", "LabelValue", label_value},
    {"uri", "URI", uri},
    {"uuid", "uuid", uuid},
    {"byte", "byte", byte},
    {"date", "date", date},
    {"datetime", "datetime", date_time},
}};

}  // namespace

std::span<const NamedFormat> named_formats() { return kFormats; }

const NamedFormat* named_format(std::string_view function) {
  const auto at =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const NamedFormat& one) { return one.function == function; });
  return at == kFormats.end() ? nullptr : &*at;
}

}  // namespace fleetadm::cel
