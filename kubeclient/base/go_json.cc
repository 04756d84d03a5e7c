#include "kubeclient/base/go_json.h"

namespace fleetadm {

std::string dump_go_json(const Json& value) {
  const std::string plain = dump_json(value);
  std::string text;
  text.reserve(plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::string_view rest = std::string_view(plain).substr(i);
    // All of these can only be inside of strings.
    if (rest.starts_with('&')) {
      text += "\\u0026";
    } else if (rest.starts_with('<')) {
      text += "\\u003c";
    } else if (rest.starts_with('>')) {
      text += "\\u003e";
    } else if (rest.starts_with("\xe2\x80\xa8") || rest.starts_with("\xe2\x80\xa9")) {  // line and paragraph separator
      text += rest[2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += plain[i];
    }
  }
  return text;
}

}  // namespace fleetadm
