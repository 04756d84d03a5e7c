#include "core/sandbox/engine/write_steps.h"

#include "core/apimachinery/defaults.h"
#include "core/sandbox/convert/converter.h"
#include "core/sandbox/engine/custom.h"
#include "core/sandbox/validation/object_checks.h"

namespace fleetadm::sandbox {

void copy_metadata(const Json& from, Json& to, std::initializer_list<const char*> fields) {
  for (const char* field : fields) {
    if (const Json* value = find(from, {"metadata", field})) {
      at_or_make(to, {"metadata", field}) = *value;
    } else {
      erase_at(to, {"metadata", field});
    }
  }
}

bool counts_generation(const Kind& kind) { return kind.generation || kind.custom != nullptr; }

void fill_defaults(const Kind& kind, const Strategy& own, Json& object) {
  if (kind.custom == nullptr) apimachinery::apply_defaults(object);
  if (own.defaults) own.defaults(object);
}

void add_object_problems(const Kind& kind, const Json& object, std::vector<Cause>& problems) {
  for (auto& cause : object_problems(kind, object)) problems.push_back(std::move(cause));
}

ApiStatus collect_problems(ApiStatus answer, std::vector<Cause>& problems) {
  if (answer || problems.empty() || answer.error().code != 422) return answer;
  for (const Json& cause : list_at(answer.error().details, {"causes"}))
    problems.push_back({str(cause, {"reason"}), str(cause, {"message"}), str(cause, {"field"})});
  return {};
}

Json as_stored(const Kind& kind, const Stored& stored) {
  Json object = stored.json();
  object["apiVersion"] = kind.group + "/" + converter_of(kind)->version_of(stored);
  object["kind"] = kind.kind;
  return object;
}

}  // namespace fleetadm::sandbox
