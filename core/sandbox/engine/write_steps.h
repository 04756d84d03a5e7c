// Steps that creates, updates and deletions share; the engine's own.
#pragma once

#include <initializer_list>
#include <vector>

#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

/// Writes lose against others this often before the client is told.
inline constexpr int kMaxRaces = 32;

/// The metadata's fields of `from`, where it has them; otherwise `to` loses them.
void copy_metadata(const Json& from, Json& to, std::initializer_list<const char*> fields);
bool counts_generation(const Kind& kind);
/// Defaults of the type, then those of the kind.
void fill_defaults(const Kind& kind, const Strategy& own, Json& object);
void add_object_problems(const Kind& kind, const Json& object, std::vector<Cause>& problems);
/// A strategy's answer; where it complains of fields as the metadata's check did before it, one answer tells of all.
ApiStatus collect_problems(ApiStatus answer, std::vector<Cause>& problems);
/// The very text of the store, with what it leaves out. Of a kind that has a converter.
Json as_stored(const Kind& kind, const Stored& stored);

}  // namespace fleetadm::sandbox
