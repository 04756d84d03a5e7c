#include "kubeclient/base/json.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "kubeclient/base/json_builder.h"
#include "kubeclient/base/json_reader.h"
#include "kubeclient/base/shortest.h"
#include "kubeclient/base/utf8.h"

template class nlohmann::basic_json<>;

namespace fleetadm {
namespace {

std::string position_text(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position == 0 ? 0 : position - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? before.size() + 1 : before.size() - start;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

class Writer {
 public:
  explicit Writer(bool pretty) : pretty_(pretty) {}

  void write(const Json& value, int depth = 0) {
    switch (value.type()) {
      case Json::value_t::object: write_object(value, depth); break;
      case Json::value_t::array: write_array(value, depth); break;
      case Json::value_t::string: write_string(value.get_ref<const std::string&>()); break;
      case Json::value_t::boolean: out_ += value.get<bool>() ? "true" : "false"; break;
      case Json::value_t::number_integer: out_ += std::to_string(value.get<std::int64_t>()); break;
      case Json::value_t::number_unsigned: out_ += std::to_string(value.get<std::uint64_t>()); break;
      case Json::value_t::number_float: out_ += format_number(value.get<double>()); break;
      default: out_ += "null";
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void new_line(int depth) {
    if (!pretty_) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(depth) * 4, ' ');
  }
  void write_object(const Json& value, int depth) {
    out_ += '{';
    bool first = true;
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (!first) out_ += ',';
      first = false;
      new_line(depth + 1);
      write_string(it.key());
      out_ += pretty_ ? ": " : ":";
      write(*it, depth + 1);
    }
    if (!first) new_line(depth);
    out_ += '}';
  }
  void write_array(const Json& value, int depth) {
    out_ += '[';
    bool first = true;
    for (const Json& item : value) {
      if (!first) out_ += ',';
      first = false;
      new_line(depth + 1);
      write(item, depth + 1);
    }
    if (!first) new_line(depth);
    out_ += ']';
  }
  void write_unicode(unsigned code) {
    static constexpr char kDigits[] = "0123456789abcdef";
    out_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out_ += kDigits[(code >> shift) & 0xFU];
  }
  /// How many bytes are written as they are.
  std::size_t plain_run(std::string_view text) const {
    const auto is_plain = [this](char c) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte >= 0x80 || c == '"' || c == '\\') return false;
      return !pretty_ || (c != '<' && c != '>' && c != '&');
    };
    return static_cast<std::size_t>(std::distance(text.begin(), std::find_if_not(text.begin(), text.end(), is_plain)));
  }
  void write_string(std::string_view text) {
    out_ += '"';
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t plain = plain_run(text.substr(at));
      out_ += text.substr(at, plain);
      at += plain;
      if (at == text.size()) break;
      const auto byte = static_cast<unsigned char>(text[at]);
      if (byte < 0x80) {
        write_ascii(text[at]);
        ++at;
        continue;
      }
      const std::size_t length = rune_at(text, at).length;
      if (length == 0) {
        out_ += "\\ufffd";
        ++at;
        continue;
      }
      const std::string_view rune = text.substr(at, length);
      if (pretty_ && rune == "\xE2\x80\xA8") {
        out_ += "\\u2028";
      } else if (pretty_ && rune == "\xE2\x80\xA9") {
        out_ += "\\u2029";
      } else {
        out_ += rune;
      }
      at += length;
    }
    out_ += '"';
  }
  void write_ascii(char c) {
    switch (c) {
      case '"': out_ += "\\\""; return;
      case '\\': out_ += "\\\\"; return;
      case '\n': out_ += "\\n"; return;
      case '\r': out_ += "\\r"; return;
      case '\t': out_ += "\\t"; return;
      case '\b': out_ += "\\b"; return;
      case '\f': out_ += "\\f"; return;
      default: break;
    }
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || (pretty_ && (c == '<' || c == '>' || c == '&'))) {
      write_unicode(code);
    } else {
      out_ += c;
    }
  }

  bool pretty_;
  std::string out_;
};

const Json& empty_list() {
  static const Json kEmpty = Json::array();
  return kEmpty;
}

const Json& empty_object() {
  static const Json kEmpty = Json::object();
  return kEmpty;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  Json root;
  JsonBuilder builder(root);
  bool good = false;
  try {
    JsonBuilder fast(root);
    if (read_json(text, fast)) return root;
    if (!fast.refusal().empty()) return fail(Category::kInvalid, fast.refusal());
    root = nullptr;
    good = Json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const std::exception& error) {
    return fail(Category::kInternal, std::string("JSON: ") + error.what());
  }
  if (good) return root;
  if (!builder.refusal().empty()) return fail(Category::kInvalid, builder.refusal());
  return fail(Category::kInvalid, "malformed JSON at " + position_text(text, builder.position()) + ": " + builder.reason());
}

std::string dump_json(const Json& value) {
  Writer writer(false);
  writer.write(value);
  return writer.take();
}

std::string dump_json_pretty(const Json& value) {
  Writer writer(true);
  writer.write(value);
  return writer.take();
}

std::string format_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::string text = shortest_scientific(value);
  const std::size_t mark = text.find('e');
  const double size = std::fabs(value);
  if (size != 0 && (size < 1e-6 || size >= 1e21)) {
    // Go writes e-7 where C++ writes e-07.
    if (text.compare(mark, 3, "e-0") == 0) text.erase(mark + 2, 1);
    return text;
  }
  return plain_decimal(text);
}

std::string plain_decimal(const std::string& scientific) {
  const std::size_t mark = scientific.find('e');
  const int exponent = std::atoi(scientific.c_str() + mark + 1);
  const std::string sign = scientific.starts_with('-') ? "-" : "";
  std::string digits;
  for (const char c : scientific.substr(0, mark)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0');
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

const Json* find(const Json& value, Path path) {
  const Json* at = &value;
  for (const std::string_view step : path) {
    if (!at->is_object()) return nullptr;
    const auto& members = at->get_ref<const Json::object_t&>();
    const auto member = members.find(step);
    if (member == members.end()) return nullptr;
    at = &member->second;
  }
  return at;
}

std::string str(const Json& value, Path path, std::string_view otherwise) {
  const Json* at = find(value, path);
  return at != nullptr && at->is_string() ? at->get_ref<const std::string&>() : std::string(otherwise);
}

std::int64_t num(const Json& value, Path path, std::int64_t otherwise) {
  const Json* at = find(value, path);
  if (at == nullptr) return otherwise;
  if (at->is_number_unsigned()) {
    const auto number = at->get<std::uint64_t>();
    return number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ? static_cast<std::int64_t>(number)
                                                                                          : otherwise;
  }
  if (at->is_number_integer()) return at->get<std::int64_t>();
  if (at->is_number_float()) {
    const double number = at->get<double>();
    if (number == std::trunc(number) && std::fabs(number) < 9.2e18) return static_cast<std::int64_t>(number);
  }
  return otherwise;
}

bool flag(const Json& value, Path path, bool otherwise) {
  const Json* at = find(value, path);
  return at != nullptr && at->is_boolean() ? at->get<bool>() : otherwise;
}

const Json& list_at(const Json& value, Path path) {
  const Json* at = find(value, path);
  return at != nullptr && at->is_array() ? *at : empty_list();
}

const Json& object_at(const Json& value, Path path) {
  const Json* at = find(value, path);
  return at != nullptr && at->is_object() ? *at : empty_object();
}

Json list_at(Json&& value, Path path) { return list_at(std::as_const(value), path); }

Json object_at(Json&& value, Path path) { return object_at(std::as_const(value), path); }

std::map<std::string, std::string> strings_at(const Json& value, Path path) {
  std::map<std::string, std::string> strings;
  const Json& members = object_at(value, path);
  for (auto it = members.begin(); it != members.end(); ++it) {
    if (it->is_string()) strings.emplace(it.key(), it->get_ref<const std::string&>());
  }
  return strings;
}

std::vector<std::string> string_list_at(const Json& value, Path path) {
  std::vector<std::string> strings;
  for (const Json& item : list_at(value, path)) {
    if (item.is_string()) strings.push_back(item.get_ref<const std::string&>());
  }
  return strings;
}

Json& at_or_make(Json& value, Path path) {
  Json* at = &value;
  for (const std::string_view step : path) {
    if (!at->is_object()) *at = Json::object();
    at = &(*at)[std::string(step)];
  }
  return *at;
}

void erase_at(Json& value, Path path) {
  if (path.size() == 0) return;
  Json* at = &value;
  const auto* last = path.end() - 1;
  for (const auto* step = path.begin(); step != last; ++step) {
    if (!at->is_object()) return;
    const auto member = at->find(std::string(*step));
    if (member == at->end()) return;
    at = &*member;
  }
  if (at->is_object()) at->erase(std::string(*last));
}

std::string name_of(const Json& object) { return str(object, {"metadata", "name"}); }
std::string namespace_of(const Json& object) { return str(object, {"metadata", "namespace"}); }
std::string uid_of(const Json& object) { return str(object, {"metadata", "uid"}); }
std::string resource_version_of(const Json& object) { return str(object, {"metadata", "resourceVersion"}); }
std::string label_of(const Json& object, std::string_view key) { return str(object, {"metadata", "labels", key}); }
std::string annotation_of(const Json& object, std::string_view key) { return str(object, {"metadata", "annotations", key}); }
bool is_deleting(const Json& object) { return !str(object, {"metadata", "deletionTimestamp"}).empty(); }

bool has_finalizer(const Json& object, std::string_view name) {
  const Json& finalizers = list_at(object, {"metadata", "finalizers"});
  return std::any_of(finalizers.begin(), finalizers.end(),
                     [&](const Json& item) { return item.is_string() && item.get_ref<const std::string&>() == name; });
}

}  // namespace fleetadm
