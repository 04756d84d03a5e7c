#include "core/sandbox/admission/authorizer.h"

#include "kubeclient/base/names.h"

namespace fleetadm::sandbox::admission {
namespace {

using Args = std::span<const cel::Value>;
using cel::Type;
using cel::Value;

/// Whom a check is about. Shared by all that a chain of calls makes of one authorizer.
struct Subject {
  serve::User user;
  std::shared_ptr<const Ask> ask;
};
using SubjectPtr = std::shared_ptr<const Subject>;

/// None of these is equal to anything: the server's have no equality either.
struct AuthorizerValue final : cel::OpaqueOf<AuthorizerValue> {
  explicit AuthorizerValue(SubjectPtr of) : subject(std::move(of)) {}
  Type type() const override { return authorizer_type(); }
  bool equals(const Opaque&) const override { return false; }
  SubjectPtr subject;
};

Type path_check_type() { return Type::opaque("kubernetes.authorization.PathCheck"); }
Type group_check_type() { return Type::opaque("kubernetes.authorization.GroupCheck"); }
Type decision_type() { return Type::opaque("kubernetes.authorization.Decision"); }

struct PathCheckValue final : cel::OpaqueOf<PathCheckValue> {
  PathCheckValue(SubjectPtr of, std::string at) : subject(std::move(of)), path(std::move(at)) {}
  Type type() const override { return path_check_type(); }
  bool equals(const Opaque&) const override { return false; }
  SubjectPtr subject;
  std::string path;
};

struct GroupCheckValue final : cel::OpaqueOf<GroupCheckValue> {
  GroupCheckValue(SubjectPtr of, std::string name) : subject(std::move(of)), group(std::move(name)) {}
  Type type() const override { return group_check_type(); }
  bool equals(const Opaque&) const override { return false; }
  SubjectPtr subject;
  std::string group;
};

struct ResourceCheckValue final : cel::OpaqueOf<ResourceCheckValue> {
  ResourceCheckValue(SubjectPtr of, serve::Attributes about) : subject(std::move(of)), what(std::move(about)) {}
  Type type() const override { return resource_check_type(); }
  bool equals(const Opaque&) const override { return false; }
  SubjectPtr subject;
  serve::Attributes what;
};

struct DecisionValue final : cel::OpaqueOf<DecisionValue> {
  explicit DecisionValue(Decision made) : decision(std::move(made)) {}
  Type type() const override { return decision_type(); }
  bool equals(const Opaque&) const override { return false; }
  Decision decision;
};

template <class T, class... A>
Value make(A&&... args) {
  return Value::opaque(std::make_unique<const T>(std::forward<A>(args)...));
}

bool names_nothing(std::string_view text) { return text.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos; }

std::string text_of(const Value& value) { return std::string(value.text()); }

Value path_of(cel::CallContext&, Args args) {
  const auto* from = args[0].as<AuthorizerValue>();
  if (from == nullptr) return Value::no_such_overload();
  if (names_nothing(args[1].text())) return Value::error("path must not be empty");
  return make<PathCheckValue>(from->subject, text_of(args[1]));
}

Value group_of(cel::CallContext&, Args args) {
  const auto* from = args[0].as<AuthorizerValue>();
  return from == nullptr ? Value::no_such_overload() : make<GroupCheckValue>(from->subject, text_of(args[1]));
}

Value account_of(cel::CallContext&, Args args) {
  const auto* from = args[0].as<AuthorizerValue>();
  if (from == nullptr) return Value::no_such_overload();
  const std::string ns = text_of(args[1]);
  const std::string name = text_of(args[2]);
  if (!is_dns_subdomain(name)) return Value::error("Invalid service account name");
  if (!is_dns_label(ns)) return Value::error("Invalid service account namespace");
  serve::User account;
  account.name = "system:serviceaccount:" + ns + ":" + name;
  account.groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns};
  return make<AuthorizerValue>(std::make_shared<const Subject>(Subject{std::move(account), from->subject->ask}));
}

Value resource_of(cel::CallContext&, Args args) {
  const auto* from = args[0].as<GroupCheckValue>();
  if (from == nullptr) return Value::no_such_overload();
  if (names_nothing(args[1].text())) return Value::error("resource must not be empty");
  serve::Attributes what;
  what.resource_request = true;
  what.version = "*";
  what.group = from->group;
  what.resource = text_of(args[1]);
  return make<ResourceCheckValue>(from->subject, std::move(what));
}

/// A check that differs from its receiver in one attribute.
cel::Implementation with(std::string serve::Attributes::*field) {
  return [field](cel::CallContext&, Args args) {
    const auto* from = args[0].as<ResourceCheckValue>();
    if (from == nullptr) return Value::no_such_overload();
    serve::Attributes what = from->what;
    what.*field = text_of(args[1]);
    return make<ResourceCheckValue>(from->subject, std::move(what));
  };
}

Value unchanged(cel::CallContext&, Args args) { return args[0]; }

Value check_path(cel::CallContext&, Args args) {
  const auto* from = args[0].as<PathCheckValue>();
  if (from == nullptr) return Value::no_such_overload();
  serve::Attributes what;
  what.path = from->path;
  what.verb = text_of(args[1]);
  return make<DecisionValue>((*from->subject->ask)(from->subject->user, what));
}

Value check_resource(cel::CallContext&, Args args) {
  const auto* from = args[0].as<ResourceCheckValue>();
  if (from == nullptr) return Value::no_such_overload();
  serve::Attributes what = from->what;
  what.verb = text_of(args[1]);
  return make<DecisionValue>((*from->subject->ask)(from->subject->user, what));
}

template <class Read>
cel::Implementation of_decision(Read read) {
  return [read](cel::CallContext&, Args args) {
    const auto* made = args[0].as<DecisionValue>();
    return made == nullptr ? Value::no_such_overload() : Value(read(made->decision));
  };
}

}  // namespace

Type authorizer_type() { return Type::opaque("kubernetes.authorization.Authorizer"); }
Type resource_check_type() { return Type::opaque("kubernetes.authorization.ResourceCheck"); }

cel::Library authorizer_library() {
  using cel::member;
  const Type text = Type::string();
  const Type resource = resource_check_type();
  const Type decision = decision_type();
  cel::Library library{.name = "kubernetes.authz"};
  library.functions = {
      {"path", {member("authorizer_path", {authorizer_type(), text}, path_check_type(), path_of)}},
      {"group", {member("authorizer_group", {authorizer_type(), text}, group_check_type(), group_of)}},
      {"serviceAccount", {member("authorizer_serviceaccount", {authorizer_type(), text, text}, authorizer_type(), account_of)}},
      {"resource", {member("groupcheck_resource", {group_check_type(), text}, resource, resource_of)}},
      {"subresource", {member("resourcecheck_subresource", {resource, text}, resource, with(&serve::Attributes::subresource))}},
      {"namespace", {member("resourcecheck_namespace", {resource, text}, resource, with(&serve::Attributes::ns))}},
      {"name", {member("resourcecheck_name", {resource, text}, resource, with(&serve::Attributes::name))}},
      {"fieldSelector", {member("authorizer_fieldselector", {resource, text}, resource, unchanged)}},
      {"labelSelector", {member("authorizer_labelselector", {resource, text}, resource, unchanged)}},
      {"check",
       {member("pathcheck_check", {path_check_type(), text}, decision, check_path),
        member("resourcecheck_check", {resource, text}, decision, check_resource)}},
      {"allowed", {member("decision_allowed", {decision}, Type::boolean(), of_decision([](const Decision& made) {
                            return Value::boolean(made.allowed);
                          }))}},
      {"reason", {member("decision_reason", {decision}, text, of_decision([](const Decision& made) {
                           return Value::string(made.reason);
                         }))}},
      {"errored", {member("decision_errored", {decision}, Type::boolean(), of_decision([](const Decision&) {
                            return Value::boolean(false);
                          }))}},
      {"error", {member("decision_error", {decision}, text, of_decision([](const Decision&) { return Value::string(""); }))}},
  };
  return library;
}

Value authorizer_value(serve::User user, std::shared_ptr<const Ask> ask) {
  return make<AuthorizerValue>(std::make_shared<const Subject>(Subject{std::move(user), std::move(ask)}));
}

Value resource_check_value(serve::User user, std::shared_ptr<const Ask> ask, const serve::Attributes& what) {
  serve::Attributes about;
  about.resource_request = true;
  about.version = "*";
  about.group = what.group;
  about.resource = what.resource;
  about.subresource = what.subresource;
  about.ns = what.ns;
  about.name = what.name;
  return make<ResourceCheckValue>(std::make_shared<const Subject>(Subject{std::move(user), std::move(ask)}), std::move(about));
}

}  // namespace fleetadm::sandbox::admission
