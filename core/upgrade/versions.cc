#include "core/upgrade/versions.h"

#include <charconv>

namespace fleetadm::upgrade {
namespace {

/// The number that `text` begins with, which is taken from it.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || text.starts_with('-')) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take_dot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

/// Where the tag begins, with its colon; npos where there is none.
std::size_t tag_at(std::string_view image) {
  const std::size_t slash = image.rfind('/');
  return image.find(':', slash == std::string_view::npos ? 0 : slash);
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto major = take_number(text);
  if (!major || !take_dot(text)) return std::nullopt;
  const auto minor = take_number(text);
  if (!minor || !take_dot(text)) return std::nullopt;
  const auto patch = take_number(text);
  if (!patch || !(text.empty() || text.front() == '-' || text.front() == '+')) return std::nullopt;
  return Version{*major, *minor, *patch};
}

std::string version_of(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t colon = tag_at(image);
  if (colon == std::string_view::npos) return {};
  const std::string_view tag = image.substr(colon + 1);
  return parse_version(tag) ? std::string(tag) : std::string();
}

Result<std::string> with_tag(const std::string& image, const std::string& tag) {
  const std::string name = image.substr(0, image.find('@'));
  const std::size_t colon = tag_at(name);
  if (colon == std::string::npos && name.size() != image.size()) {
    return fail(Category::kUsage, "the installed image " + image + " is named by its digest, which tells no version",
                "name the new one with --image");
  }
  return name.substr(0, colon) + ":" + tag;
}

Skew skew_of(std::string_view hub, std::string_view agent) {
  const auto ours = parse_version(hub);
  const auto theirs = parse_version(agent);
  if (!ours || !theirs) return Skew::kUnknown;
  if (*ours == *theirs) return Skew::kSame;
  if (*theirs > *ours) return Skew::kNewer;
  return ours->major == theirs->major && ours->minor - theirs->minor <= 1 ? Skew::kSupported : Skew::kTooOld;
}

std::string_view to_string(Skew skew) {
  switch (skew) {
    case Skew::kSame: return "same";
    case Skew::kSupported: return "supported";
    case Skew::kTooOld: return "too old";
    case Skew::kNewer: return "newer than the hub";
    case Skew::kUnknown: return "unknown";
  }
  return "";
}

}  // namespace fleetadm::upgrade
