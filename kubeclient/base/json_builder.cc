#include "kubeclient/base/json_builder.h"

namespace fleetadm {

std::string JsonBuilder::reason() const {
  std::size_t from = message_.find(" - ");
  from = from == std::string::npos ? message_.find("] ") : from + 1;
  std::string text = from == std::string::npos ? message_ : message_.substr(from + 2);
  if (const std::size_t read = text.find("; last read: "); read != std::string::npos) {
    const std::size_t expected = text.rfind("; expected ");
    const std::string tail = expected != std::string::npos && expected > read ? text.substr(expected) : std::string();
    text = text.substr(0, read) + tail;
  }
  if (text.starts_with("number overflow")) text = "number out of range";
  return text;
}

}  // namespace fleetadm
