#include "core/image/reference.h"

#include <algorithm>
#include <cctype>

#include "core/image/digest.h"

namespace fleetadm::image {
namespace {

constexpr std::string_view kDockerHub = "docker.io";
constexpr std::string_view kLibrary = "library/";
constexpr std::size_t kMaxTag = 128;
constexpr std::size_t kMaxReference = 255;

bool lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool word(char c) { return lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Lower-case letters and digits, in between single dots, one or two underscores, or hyphens.
bool is_component(std::string_view text) {
  if (text.empty() || !lower_or_digit(text.front()) || !lower_or_digit(text.back())) return false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end =
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), [](char c) { return lower_or_digit(c); }) -
        text.begin();
    const std::string_view between = text.substr(at, end - at);
    const bool hyphens = std::all_of(between.begin(), between.end(), [](char c) { return c == '-'; });
    if (!hyphens && between != "." && between != "_" && between != "__") return false;
    at = end + 1;
  }
  return true;
}

bool is_tag(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTag && word(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return word(c) || c == '.' || c == '-'; });
}

bool is_registry(std::string_view text) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  const std::size_t colon = text.find(':', bracket);
  const std::string_view host = text.substr(0, colon);
  if (host.empty() || host.front() == '-' || host.front() == '.') return false;
  if (colon != std::string_view::npos) {
    const std::string_view port = text.substr(colon + 1);
    if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return false;
  }
  return std::all_of(host.begin(), host.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ||
           (bracket != 0 && (c == ':' || c == '[' || c == ']'));
  });
}

}  // namespace

std::string Reference::full() const { return name() + (tag.empty() && !digest.empty() ? "@" + digest : ":" + tag_or_latest()); }

std::string Reference::familiar() const {
  std::string text = full();
  if (registry != kDockerHub) return text;
  text.erase(0, kDockerHub.size() + 1);
  return text.starts_with(kLibrary) ? text.substr(kLibrary.size()) : text;
}

Result<Reference> parse_reference(std::string_view text) {
  const auto refused = [&](const std::string& why) {
    return fail(Category::kUsage, "\"" + std::string(text.substr(0, kMaxReference)) + "\" is not the name of an image: " + why,
                "for example: registry.example.com/team/fleetadm:" FLEETADM_VERSION);
  };
  if (text.size() > 2 * kMaxReference) return refused("it is too long");
  Reference reference;
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    reference.digest = rest.substr(at + 1);
    if (!is_digest(reference.digest)) return refused("after @ belongs sha256: and 64 hex digits");
    rest = rest.substr(0, at);
  }
  const std::size_t slash = rest.rfind('/');
  const std::size_t colon = rest.find(':', slash == std::string_view::npos ? 0 : slash);
  if (colon != std::string_view::npos) {
    reference.tag = rest.substr(colon + 1);
    if (!is_tag(reference.tag)) return refused("the tag may have letters, digits, '_', '.' and '-'");
    rest = rest.substr(0, colon);
  }
  // The first part is a registry where it looks like a host.
  const std::size_t first = rest.find('/');
  const std::string_view host = first == std::string_view::npos ? std::string_view() : rest.substr(0, first);
  if (host == "localhost" || host.find_first_of(".:") != std::string_view::npos) {
    if (!is_registry(host)) return refused("\"" + std::string(host) + "\" is not HOST[:PORT]");
    reference.registry = host;
    rest = rest.substr(first + 1);
  } else {
    reference.registry = kDockerHub;
  }
  if (reference.registry == "index.docker.io") reference.registry = kDockerHub;
  reference.repository = rest;
  if (reference.registry == kDockerHub && rest.find('/') == std::string_view::npos)
    reference.repository = std::string(kLibrary) + reference.repository;
  if (reference.name().size() > kMaxReference) return refused("it is too long");
  for (std::string_view left = reference.repository;;) {
    const std::size_t end = left.find('/');
    if (!is_component(left.substr(0, end)))
      return refused("a repository may have lower-case letters and digits, with '.', '_' and '-' between them");
    if (end == std::string_view::npos) return reference;
    left = left.substr(end + 1);
  }
}

}  // namespace fleetadm::image
