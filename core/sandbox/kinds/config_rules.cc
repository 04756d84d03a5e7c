// ConfigMaps and Secrets.
#include <algorithm>

#include "core/sandbox/kinds/kind_rules.h"
#include "core/sandbox/kinds/kind_steps.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

ApiStatus check_immutable_data(const StrategyContext& context, const Json& object, const Json& old,
                               std::initializer_list<const char*> fields) {
  if (!flag(old, {"immutable"})) return {};
  std::vector<Cause> causes;
  if (!flag(object, {"immutable"})) causes.push_back(forbidden_field("immutable", "field is immutable when `immutable` is set"));
  for (const char* field : fields) {
    if (object_at(object, {field}) != object_at(old, {field}))
      causes.push_back(forbidden_field(field, "field is immutable when `immutable` is set"));
  }
  if (causes.empty()) return {};
  return invalid(context.kind, name_of(object), causes);
}

ApiStatus check_keys(const StrategyContext& context, const Json& object, const char* field) {
  for (const auto& [key, value] : object_at(object, {field}).items()) {
    const bool good =
        !key.empty() && key.size() <= 253 && key != "." && key != ".." && std::all_of(key.begin(), key.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        });
    if (!good) {
      return invalid(context.kind, name_of(object),
                     {bad_value(std::string(field) + "[" + key + "]", key,
                                "a valid config key must consist of alphanumeric characters, '-', '_' or '.'")});
    }
  }
  return {};
}

void default_secret(Json& secret) {
  set_default(secret, {"type"}, "Opaque");
  const auto plain = strings_at(secret, {"stringData"});
  for (const auto& [key, value] : plain) at_or_make(secret, {"data", key}) = base64_encode(value);
  secret.erase("stringData");
}

ApiStatus check_secret(const StrategyContext& context, const Json& secret) {
  FLEETADM_CHECK(check_keys(context, secret, "data"));
  for (const auto& [key, value] : object_at(secret, {"data"}).items()) {
    if (value.is_null()) continue;
    if (!value.is_string() || !base64_decode(value.get<std::string>())) {
      return bad_request("Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data in data." + key);
    }
  }
  return {};
}

}  // namespace

Strategy config_map_strategy() {
  Strategy out;
  out.create = [](const StrategyContext& context, Json& object) { return check_keys(context, object, "data"); };
  out.update = [](const StrategyContext& context, Json& object, const Json& old) -> ApiStatus {
    FLEETADM_CHECK(check_keys(context, object, "data"));
    return check_immutable_data(context, object, old, {"data", "binaryData"});
  };
  return out;
}

Strategy secret_strategy() {
  Strategy out;
  out.defaults = default_secret;
  out.create = [](const StrategyContext& context, Json& secret) { return check_secret(context, secret); };
  out.update = [](const StrategyContext& context, Json& secret, const Json& old) -> ApiStatus {
    FLEETADM_CHECK(check_secret(context, secret));
    FLEETADM_CHECK(check_immutable_data(context, secret, old, {"data"}));
    if (str(secret, {"type"}) != str(old, {"type"}))
      return invalid(context.kind, name_of(secret), {bad_value("type", str(secret, {"type"}), "field is immutable")});
    return {};
  };
  return out;
}

}  // namespace fleetadm::sandbox
