#include "commands/framework/write_report.h"

#include <algorithm>
#include <sstream>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {

std::string full_name(const kube::Resource& resource, std::string_view name) {
  return lower_case(resource.kind) + (resource.group.empty() ? "" : "." + resource.group) + "/" + std::string(name);
}

std::string told(const Context& context, const kube::Resource& resource, std::string_view name, std::string_view what) {
  return lower_case(resource.kind) + " " + std::string(name) + " " + std::string(what) + dry_run_mark(context);
}

bool holds(const Json& stored, const Json& asked) {
  if (asked.is_array() && stored.is_array()) {
    return asked.size() == stored.size() &&
           std::equal(asked.begin(), asked.end(), stored.begin(), [](const Json& a, const Json& s) { return holds(s, a); });
  }
  if (!asked.is_object() || !stored.is_object()) return stored == asked;
  for (const auto& [key, value] : asked.items()) {
    const auto at = stored.find(key);
    const bool absent = at == stored.end() || at->is_null();
    // Members that the server leaves out when they are empty count as there.
    const bool nothing = value.is_null() || (value.is_structured() && value.empty()) || value == Json("") || value == Json(false);
    if (absent ? !nothing : !holds(*at, value)) return false;
  }
  return true;
}

Result<Json> read_back(Context& context, const kube::Client& client, const kube::Resource& resource, std::string_view ns,
                       std::string_view name, const Json& asked, Json written) {
  if (is_dry(context)) return written;
  const std::string what = lower_case(resource.kind) + " \"" + std::string(name) + "\"";
  FLEETADM_TRY(auto found, client.find(resource, ns, name));
  if (!found)
    return fail(Category::kConflict, what + " was created but has since been deleted",
                "someone else deleted it; run the command again");
  for (const std::string_view part : {"spec", "labels"}) {
    const Json& wanted = part == "spec" ? object_at(asked, {"spec"}) : object_at(asked, {"metadata", "labels"});
    const Json& stored = part == "spec" ? object_at(*found, {"spec"}) : object_at(*found, {"metadata", "labels"});
    if (!holds(stored, wanted)) {
      return fail(Category::kConflict, what + " was written but now has a different " + std::string(part),
                  "someone else changed it, or the server does not know a field; compare with -o yaml");
    }
  }
  return std::move(*found);
}

Report written_report(const Context& context, const kube::Resource& resource, Json object, std::string_view what) {
  Report report;
  const std::string name = name_of(object);
  report.lines.push_back(told(context, resource, name, what));
  report.names.push_back(full_name(resource, name));
  report.data = std::move(object);
  return report;
}

Status check_name(std::string_view what, std::string_view name) {
  if (is_dns_subdomain(name)) return {};
  return fail(Category::kUsage, std::string(what) + " \"" + std::string(name) + "\" is not a valid name",
              "use lowercase letters, digits, '-' and '.', starting and ending with a letter or digit");
}

}  // namespace fleetadm::commands
