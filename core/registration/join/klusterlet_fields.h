// A Klusterlet's fields, read one by one, with what became of each. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::join {

struct FieldOutcome {
  std::string field;  // "spec.nodePlacement.tolerations"
  bool effective = true;
  std::string outcome;  // what it becomes, or why it has no effect
};

/// Takes the fields of an object one by one, and tells in the end which ones nobody knew.
class KlusterletFields {
 public:
  /// `path`: "spec.nodePlacement". `told` outlives it.
  KlusterletFields(Json rest, std::string path, std::vector<FieldOutcome>& told)
      : rest_(std::move(rest)), path_(std::move(path)), told_(told) {}

  /// Null: it is not there.
  Json take(const char* name);
  /// Null also where it has another type, which is told, or is empty.
  Json take(const char* name, Json::value_t type);
  std::string take_text(const char* name);
  /// Takes an object; without fields where it is none.
  KlusterletFields inside(const char* name);

  void becomes(const std::string& name, std::string what) const;
  void without_effect(const std::string& name, std::string why) const;
  /// Takes the field where it is there, and tells that it has no effect.
  void ignore(const char* name, const std::string& why);
  /// Tells of all that nobody took.
  void end() const;

 private:
  Json rest_;
  std::string path_;
  std::vector<FieldOutcome>& told_;
};

}  // namespace fleetadm::join
