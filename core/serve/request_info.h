// A request as authorization and the handlers see it: URL decoded into verb, resource and name
// (docs/reference/kubernetes-api.md#requests).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::serve {

/// Query parameters, decoded; the first value of a name counts.
class Query {
 public:
  static Query parse(std::string_view text);
  std::string get(std::string_view name) const;
  bool has(std::string_view name) const { return values_.contains(name); }
  std::vector<std::string> all(std::string_view name) const;
  /// "true", "1", "": true (as Go's bool parameters of this API read them).
  bool flag(std::string_view name) const;
  /// 0 where absent; kInvalid with code 400, in the words of the wire, where it is no integer.
  Result<std::int64_t> integer(std::string_view name) const;

 private:
  std::multimap<std::string, std::string, std::less<>> values_;
};

std::string percent_decode(std::string_view text, bool plus_is_space);

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  bool in(std::string_view group) const;
};

/// What authorization decides about.
struct Attributes {
  bool resource_request = false;
  std::string verb;
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
  std::string path;  // of non-resource requests
};

struct ApiRequest {
  const HttpRequest* http = nullptr;
  std::string path;  // decoded
  Query query;
  Attributes what;
  User user;
};

/// Fills path, query and attributes. `watch` in the query makes a list a watch; a field selector on metadata.name names the
/// object.
ApiRequest read_request(const HttpRequest& http);

}  // namespace fleetadm::serve
