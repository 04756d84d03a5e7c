#include "core/sandbox/admission/expressions.h"

#include <algorithm>

#include "core/cel/library/libraries.h"
#include "core/sandbox/admission/authorizer.h"

namespace fleetadm::sandbox::admission {
namespace {

using cel::Struct;
using cel::Type;

const char* const kVariablesType = "kubernetes.variables";

Type strings() { return Type::list(Type::string()); }
Type string_map() { return Type::map(Type::string(), Type::string()); }

std::vector<Struct> request_structs() {
  const Type text = Type::string();
  const Type kind = Type::opaque("kubernetes.GroupVersionKind");
  const Type resource = Type::opaque("kubernetes.GroupVersionResource");
  return {
      {"kubernetes.GroupVersionKind", {{"group", text}, {"version", text}, {"kind", text}}},
      {"kubernetes.GroupVersionResource", {{"group", text}, {"version", text}, {"resource", text}}},
      {"kubernetes.UserInfo", {{"username", text}, {"uid", text}, {"groups", strings()}, {"extra", Type::map(text, strings())}}},
      {"kubernetes.AdmissionRequest",
       {{"kind", kind},
        {"resource", resource},
        {"subResource", text},
        {"requestKind", kind},
        {"requestResource", resource},
        {"requestSubResource", text},
        {"name", text},
        {"namespace", text},
        {"operation", text},
        {"userInfo", Type::opaque("kubernetes.UserInfo")},
        {"dryRun", Type::boolean()},
        {"options", Type::dyn()}}}};
}

std::vector<Struct> namespace_structs() {
  const Type text = Type::string();
  return {{"kubernetes.NamespaceSpec", {{"finalizers", strings()}}},
          {"kubernetes.NamespaceCondition",
           {{"status", text}, {"type", text}, {"lastTransitionTime", Type::timestamp()}, {"message", text}, {"reason", text}}},
          {"kubernetes.NamespaceStatus",
           {{"conditions", Type::list(Type::opaque("kubernetes.NamespaceCondition"))}, {"phase", text}}},
          {"kubernetes.NamespaceMetadata",
           {{"name", text},
            {"generateName", text},
            {"namespace", text},
            {"labels", string_map()},
            {"annotations", string_map()},
            {"UID", text},
            {"creationTimestamp", Type::timestamp()},
            {"deletionGracePeriodSeconds", Type::integer()},
            {"deletionTimestamp", Type::timestamp()},
            {"generation", Type::integer()},
            {"resourceVersion", text},
            {"finalizers", strings()}}},
          {"kubernetes.Namespace",
           {{"metadata", Type::opaque("kubernetes.NamespaceMetadata")},
            {"spec", Type::opaque("kubernetes.NamespaceSpec")},
            {"status", Type::opaque("kubernetes.NamespaceStatus")}}}};
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// Whether a text has `word` as a word of its own. More than what is truly read does no harm: variables have no effects.
bool names_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !is_word(text[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

/// Empty where a type will do.
std::string type_problem(const Type& type, Yields yields) {
  using cel::TypeKind;
  const auto is = [&](TypeKind kind) { return type.kind() == kind; };
  switch (yields) {
    case Yields::kAny: return {};
    case Yields::kBool: return is(TypeKind::kBool) ? "" : "must evaluate to bool but got " + to_string(type);
    case Yields::kString: return is(TypeKind::kString) ? "" : "must evaluate to string but got " + to_string(type);
    case Yields::kStringOrNull:
      return is(TypeKind::kString) || is(TypeKind::kNull)
                 ? ""
                 : "must evaluate to one of [string null_type] but got " + to_string(type);
  }
  return {};
}

}  // namespace

const Result<cel::Env>& Compiler::environment(bool with_authorizer, bool with_variables) {
  const std::pair key(with_authorizer, with_variables);
  if (const auto known = environments_.find(key); known != environments_.end()) return known->second;
  std::vector<cel::Library> libraries;
  for (cel::Library (*make)() : {cel::standard_library, cel::optional_library, cel::strings_library, cel::lists_library,
                                 cel::regex_library, cel::urls_library, cel::quantity_library, cel::ip_library, cel::cidr_library,
                                 cel::format_library, cel::semver_library, cel::sets_library, authorizer_library}) {
    libraries.push_back(make());
  }
  cel::Library names{.name = "admission"};
  names.structs = request_structs();
  for (Struct& one : namespace_structs()) names.structs.push_back(std::move(one));
  names.structs.insert(names.structs.end(), known_.structs.begin(), known_.structs.end());
  names.variables = {{"object", known_.object},
                     {"oldObject", known_.object},
                     {"namespaceObject", Type::opaque("kubernetes.Namespace")},
                     {"request", Type::opaque("kubernetes.AdmissionRequest")}};
  if (has_params_) names.variables.push_back({"params", known_.params.value_or(Type::dyn())});
  if (with_authorizer) {
    names.variables.push_back({"authorizer", authorizer_type()});
    names.variables.push_back({"authorizer.requestResource", resource_check_type()});
  }
  if (with_variables && composed_) {
    names.structs.push_back({kVariablesType, variables_});
    names.variables.push_back({"variables", Type::opaque(kVariablesType)});
  }
  libraries.push_back(std::move(names));
  return environments_.emplace(key, cel::Env::build(std::move(libraries))).first->second;
}

std::optional<std::string> Compiler::check(const std::string& text) {
  const auto& env = environment(true, true);
  if (!env) return "type checking error: " + env.error().message;
  const auto program = env->compile(text);
  if (program || program.error().phase == cel::CompileFailure::Phase::kPlan) return std::nullopt;
  return program.error().render();
}

Expression Compiler::compile(const std::string& text, Yields yields, bool with_authorizer, bool with_variables) {
  Expression out;
  out.text = text;
  const auto& env = environment(with_authorizer, with_variables);
  if (!env) {
    out.error = "unexpected error loading CEL environment: " + env.error().message;
    return out;
  }
  auto program = env->compile(text);
  if (!program) {
    const bool planned = program.error().phase == cel::CompileFailure::Phase::kPlan;
    out.error = (planned ? "program instantiation failed: " : "compilation failed: ") + program.error().render();
    return out;
  }
  out.error = type_problem(program->result_type(), yields);
  if (!out.error.empty()) return out;
  out.program = std::move(*program);
  if (with_variables && composed_ && names_word(text, "variables")) {
    for (const auto& variable : variables_) {
      if (names_word(text, variable.name)) out.needs.push_back(variable.name);
    }
  }
  return out;
}

Expression Compiler::add_variable(const std::string& name, const std::string& text) {
  if (!composed_) {
    composed_ = true;
    environments_.clear();
  }
  Expression out = compile(text, Yields::kAny, true);
  Type type = out.program ? out.program->result_type() : Type::dyn();
  // Of abstract types the next expressions know nothing.
  if (type.kind() == cel::TypeKind::kOpaque) type = Type::dyn();
  std::erase_if(variables_, [&](const cel::Variable& known) { return known.name == name; });
  variables_.push_back({name, std::move(type)});
  environments_.clear();
  return out;
}

void Evaluation::compute(const std::vector<std::string>& names) {
  for (const auto& name : names) {
    if (values_.contains(name)) continue;
    // Of two with one name the later is meant; expressions between them saw the former, and nobody writes that.
    const auto at = std::find_if(composed_.rbegin(), composed_.rend(), [&](const Composed& one) { return one.name == name; });
    if (at == composed_.rend()) continue;
    values_[name] = cel::Value::error("composited variable \"" + name + "\" fails to evaluate: it reads itself");
    if (!at->expression.program) {
      values_[name] = cel::Value::error("composited variable \"" + name + "\" fails to compile: " + at->expression.error);
      continue;
    }
    compute(at->expression.needs);
    const auto outcome = run(*at->expression.program);
    values_[name] =
        outcome.ok()
            ? outcome.value
            : cel::Value::error("composited variable \"" + name + "\" fails to evaluate: " + std::string(outcome.value.text()));
  }
}

cel::Outcome Evaluation::run(const cel::Program& program) {
  std::vector<cel::Binding> all = bindings_;
  std::vector<cel::Value::Entry> known;
  for (const auto& [name, value] : values_) known.emplace_back(cel::Value::string(name), value);
  all.push_back({"variables", cel::Value::map(std::move(known))});
  auto outcome = program.evaluate(all);
  if (outcome.cost > budget_) exhausted_ = true;
  budget_ -= std::min(budget_, outcome.cost);
  return outcome;
}

Evaluation::Outcome Evaluation::evaluate(const Expression& expression) {
  if (!expression.program) return {{}, "compilation error: " + expression.error, false};
  compute(expression.needs);
  const auto outcome = run(*expression.program);
  if (exhausted_)
    return {{}, "validation failed due to running out of cost budget, no further validation rules will be run", true};
  if (!outcome.ok())
    return {{}, "expression '" + expression.text + "' resulted in error: " + std::string(outcome.value.text()), false};
  return {outcome.value, {}, false};
}

}  // namespace fleetadm::sandbox::admission
