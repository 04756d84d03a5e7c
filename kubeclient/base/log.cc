#include "kubeclient/base/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include "kubeclient/base/json.h"
#include "kubeclient/base/log_file.h"
#include "kubeclient/base/owned_fd.h"
#include "kubeclient/base/utf8.h"

namespace fleetadm::log {
namespace {

constexpr std::string_view kRedacted = "<redacted>";

std::atomic<int>& level() {
  static std::atomic<int> value{0};
  return value;
}

const std::string*& file_of_thread() {
  thread_local const std::string* file = nullptr;
  return file;
}

void write_line(char severity, std::string_view component, std::string_view message) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count() % 1'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 64> stamp{};
  const int length = std::snprintf(stamp.data(), stamp.size(), "%c%02d%02d %02d:%02d:%02d.%06d ", severity, local.tm_mon + 1,
                                   local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, static_cast<int>(micros));
  std::string line(stamp.data(), static_cast<std::size_t>(length));
  line += escape_terminal(component);
  line += ": ";
  line += escape_terminal(message);
  line += '\n';
  // One write a line: lines of several threads (and processes) do not mix. A closed stderr is no reason to fail.
  std::string_view rest = line;
  const std::string* file = file_of_thread();
  const OwnedFd opened(file != nullptr ? ::open(file->c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1);
  while (!rest.empty()) {
    const ssize_t written = ::write(opened ? opened.get() : STDERR_FILENO, rest.data(), rest.size());
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void append_hex(std::string& out, unsigned value, int digits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += kDigits[(value >> shift) & 0xFU];
}

struct Range {
  unsigned first;
  unsigned last;
};
// C1 controls, line separators, what reorders text, and what takes no room: each can forge what a reader sees.
constexpr std::array<Range, 15> kDeceptive = {{{0x80, 0x9F},
                                               {0xAD, 0xAD},  // soft hyphen
                                               {0x034F, 0x034F},
                                               {0x061C, 0x061C},  // Arabic letter mark
                                               {0x115F, 0x1160},
                                               {0x17B4, 0x17B5},
                                               {0x180B, 0x180F},
                                               {0x200B, 0x200F},  // zero-width, direction marks
                                               {0x2028, 0x202E},
                                               {0x2060, 0x206F},
                                               {0x3164, 0x3164},
                                               {0xFEFF, 0xFEFF},
                                               {0xFFA0, 0xFFA0},
                                               {0xFFF9, 0xFFFB},
                                               {0xE0000, 0xE0FFF}}};  // tags

bool deceptive(unsigned code) {
  return code >= kDeceptive.front().first && std::any_of(kDeceptive.begin(), kDeceptive.end(), [&](const Range& range) {
           return code >= range.first && code <= range.last;
         });
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool secret_name(std::string_view name) {
  const std::string key = lower(name);
  static constexpr std::array<std::string_view, 10> kParts = {"token",         "password",      "passwd",    "client-key-data",
                                                              "clientkeydata", "client_secret", "secretkey", "private",
                                                              "authorization", "kubeconfig"};
  if (key.find("expiration") != std::string::npos) return false;
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) { return key.find(part) != std::string::npos; });
}

bool secret_text(std::string_view text) {
  if (text.find("PRIVATE KEY-----") != std::string_view::npos) return true;
  if (text.find("client-key-data") != std::string_view::npos) return true;
  const bool token = text.starts_with("eyJ") && std::count(text.begin(), text.end(), '.') == 2;
  return token || text.find("Bearer ") != std::string_view::npos;
}

void redact_values(Json& node) {
  if (node.is_structured()) {
    for (auto& child : node) redact_values(child);
  } else if (!node.is_null()) {
    node = kRedacted;
  }
}

void redact_node(Json& node) {
  if (node.is_array()) {
    for (auto& child : node) redact_node(child);
    return;
  }
  if (node.is_string()) {
    if (secret_text(node.get_ref<const std::string&>())) node = kRedacted;
    return;
  }
  if (!node.is_object()) return;
  const std::string kind = str(node, {"kind"});
  // A patch carries no kind: its data may be a Secret's.
  const bool secret = kind == "Secret" || kind.empty();
  const bool named_secret = secret_name(str(node, {"name"}));
  const std::string path = str(node, {"path"});
  const bool secret_path = path.starts_with("/data") || path.starts_with("/stringData") || secret_name(path);
  for (auto it = node.begin(); it != node.end(); ++it) {
    const std::string& key = it.key();
    const bool value_of_secret = key == "value" && (named_secret || secret_path);
    if ((secret && (key == "data" || key == "stringData")) || value_of_secret) {
      redact_values(*it);
    } else if (it->is_string() && (secret_name(key) || key == "kubectl.kubernetes.io/last-applied-configuration")) {
      *it = kRedacted;
    } else {
      redact_node(*it);
    }
  }
}

}  // namespace

ToFile::ToFile(const std::string& file) : outer_(file_of_thread()) {
  if (!file.empty()) file_of_thread() = &file;
}

ToFile::~ToFile() { file_of_thread() = outer_; }

void set_verbosity(int value) { level().store(value, std::memory_order_relaxed); }
int verbosity() { return level().load(std::memory_order_relaxed); }

void error(std::string_view component, std::string_view message) { write_line('E', component, message); }
void warn(std::string_view component, std::string_view message) { write_line('W', component, message); }
void info(int at_level, std::string_view component, std::string_view message) {
  if (enabled(at_level)) write_line('I', component, message);
}

std::string escape_terminal(std::string_view text, bool keep_newlines) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Rune rune = rune_at(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (rune.length == 0) {
      out += "\\x";
      append_hex(out, byte, 2);
      ++at;
      continue;
    }
    if (rune.code == '\n') {
      out += keep_newlines ? "\n" : "\\n";
    } else if (rune.code == '\t') {
      out += keep_newlines ? "\t" : "\\t";
    } else if (rune.code < 0x20 || rune.code == 0x7F) {
      out += "\\x";
      append_hex(out, rune.code, 2);
    } else if (deceptive(rune.code)) {
      out += rune.code > 0xFFFF ? "\\U" : "\\u";
      append_hex(out, rune.code, rune.code > 0xFFFF ? 8 : 4);
    } else {
      out += text.substr(at, rune.length);
    }
    at += rune.length;
  }
  return out;
}

std::string redact(std::string_view value) { return std::string(value.empty() ? std::string_view() : kRedacted); }

std::string redact_body(std::string_view body) {
  auto parsed = parse_json(body);
  if (!parsed) return "<" + std::to_string(body.size()) + " bytes>";
  redact_node(*parsed);
  return dump_json(*parsed);
}

}  // namespace fleetadm::log
