#include "commands/framework/description.h"

#include <algorithm>

namespace fleetadm::commands {

std::string described(std::string_view name, std::string_view text, std::size_t width) {
  std::string line(name);
  line += ":";
  line.resize(std::max<std::size_t>(line.size() + 1, width), ' ');
  return line + std::string(text);
}

Json told_conditions(const Json& conditions) {
  Json list = Json::array();
  for (const Json& one : conditions) {
    list.push_back({{"type", str(one, {"type"})},
                    {"status", str(one, {"status"})},
                    {"reason", str(one, {"reason"})},
                    {"message", str(one, {"message"})},
                    {"since", str(one, {"lastTransitionTime"})}});
  }
  return list;
}

std::string condition_text(const Json& told, Instant now) {
  const auto since = parse_time(str(told, {"since"}));
  const std::string message = str(told, {"message"});
  return str(told, {"type"}) + " is " + str(told, {"status"}) + " since " + (since ? format_age(*since, now) : "<unknown>") +
         ": " + str(told, {"reason"}) + (message.empty() ? "" : ", " + message);
}

}  // namespace fleetadm::commands
