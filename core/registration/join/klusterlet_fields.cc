#include "core/registration/join/klusterlet_fields.h"

#include <utility>

namespace fleetadm::join {

Json KlusterletFields::take(const char* name) {
  const auto at = rest_.find(name);
  if (at == rest_.end()) return {};
  Json value = std::move(*at);
  rest_.erase(at);
  return value;
}

Json KlusterletFields::take(const char* name, Json::value_t type) {
  Json value = take(name);
  if (value.type() == type && (!value.empty() && value != "")) return value;
  if (!value.is_null() && value.type() != type) without_effect(name, "it has another type than Klusterlets give it");
  return {};
}

std::string KlusterletFields::take_text(const char* name) {
  const Json value = take(name, Json::value_t::string);
  return value.is_null() ? std::string() : value.get<std::string>();
}

KlusterletFields KlusterletFields::inside(const char* name) {
  Json value = take(name, Json::value_t::object);
  return {value.is_null() ? Json::object() : std::move(value), path_ + "." + name, told_};
}

void KlusterletFields::becomes(const std::string& name, std::string what) const {
  told_.push_back({path_ + "." + name, true, std::move(what)});
}

void KlusterletFields::without_effect(const std::string& name, std::string why) const {
  told_.push_back({path_ + "." + name, false, std::move(why)});
}

void KlusterletFields::ignore(const char* name, const std::string& why) {
  if (!take(name).is_null()) without_effect(name, why);
}

void KlusterletFields::end() const {
  for (const auto& item : rest_.items()) without_effect(item.key(), "Klusterlets have no such field");
}

}  // namespace fleetadm::join
