#include "core/work/rules/config_hash.h"

#include <utility>

#include "core/cel/convert.h"
#include "kubeclient/base/md5.h"

namespace fleetadm::work {
namespace {

/// %v of what Go's decoder makes of the JSON: maps with sorted keys, which nlohmann's are already.
void print(const Json& value, std::string& out) {
  switch (value.type()) {
    case Json::value_t::object: {
      out += "map[";
      bool first = true;
      for (const auto& [key, member] : value.items()) {
        if (!std::exchange(first, false)) out += ' ';
        out += key;
        out += ':';
        print(member, out);
      }
      out += ']';
      break;
    }
    case Json::value_t::array: {
      out += '[';
      bool first = true;
      for (const Json& element : value) {
        if (!std::exchange(first, false)) out += ' ';
        print(element, out);
      }
      out += ']';
      break;
    }
    case Json::value_t::string: out += value.get_ref<const std::string&>(); break;
    case Json::value_t::boolean: out += value.get<bool>() ? "true" : "false"; break;
    case Json::value_t::number_float: out += cel::format_double(value.get<double>()); break;
    case Json::value_t::number_integer: out += std::to_string(value.get<std::int64_t>()); break;
    case Json::value_t::number_unsigned: out += std::to_string(value.get<std::uint64_t>()); break;
    default: out += "<nil>";
  }
}

/// A creationTimestamp of null is what Go's encoder leaves where there is none.
Json without_null_times(const Json& value) {
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& element : value) out.push_back(without_null_times(element));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [key, member] : value.items()) {
    Json& kept = out[key] = without_null_times(member);
    if (key != "metadata" || !kept.is_object()) continue;
    const auto time = kept.find("creationTimestamp");
    if (time != kept.end() && time->is_null()) kept.erase(time);
  }
  return out;
}

}  // namespace

std::string config_spec_hash(const Json& object) {
  std::string text = "&{";
  print(without_null_times(object), text);
  text += '}';
  return md5_hex(text);
}

}  // namespace fleetadm::work
