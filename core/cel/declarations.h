// What an Env holds: the merged libraries, looked up by name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/cel/env.h"
#include "core/cel/library.h"

namespace fleetadm::cel {

struct Env::Declarations {
  std::map<std::string, Function, std::less<>> functions;
  std::map<std::string, Constant, std::less<>> constants;
  std::vector<Variable> variables;
  std::map<std::string, Struct, std::less<>> structs;
  std::vector<Macro> macros;
  std::vector<Validator> validators;
  bool optional_syntax = false;

  const Function* function(std::string_view name) const;
  const Constant* constant(std::string_view name) const;
  /// The index of a variable, or −1.
  int variable(std::string_view name) const;
};

}  // namespace fleetadm::cel
