// The bench of the conformance suite: one API server under test (the sandbox's or a real one) and raw requests to it, with
// libcurl alone. Every check gets a namespace of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::conformance {

struct Request {
  std::string method = "GET";
  std::string path;
  std::string body = {};
  std::string content_type = "application/json";
  std::string accept = {};
  std::string token = {};                 // instead of the administrator's certificate
  bool anonymous = false;                 // no credentials at all
  std::vector<std::string> headers = {};  // "name: value"
};

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case; of several the last
  std::string body;
  Json json() const;                 // null where it is none
  std::vector<Json> events() const;  // of a watch
  std::string reason() const;
  std::string message() const;
};

/// The value of a header; empty where there is none.
inline std::string header(const Answer& answer, const std::string& name) {
  const auto at = answer.headers.find(name);
  return at == answer.headers.end() ? std::string() : at->second;
}

/// An API server that is up for as long as this lives.
class Server {
 public:
  virtual ~Server() = default;
  virtual std::string name() const = 0;
  virtual std::string url() const = 0;
  virtual const pki::KeyPair& ca() const = 0;
  /// Checks that this server is known not to pass, with the reason.
  virtual const std::map<std::string, std::string>& deviations() const = 0;
  /// Why there is no server; empty where there is one.
  virtual std::string absent() const { return {}; }
};
std::unique_ptr<Server> start_sandbox();
std::unique_ptr<Server> start_real();

class Lab {
 public:
  explicit Lab(const Server& server);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  Answer send(const Request& request) const;
  Answer get(const std::string& path, const std::string& accept = {}) const { return send({.path = path, .accept = accept}); }
  Answer post(const std::string& path, const Json& body) const {
    return send({.method = "POST", .path = path, .body = dump_json(body)});
  }
  Answer put(const std::string& path, const Json& body) const {
    return send({.method = "PUT", .path = path, .body = dump_json(body)});
  }
  Answer patch(const std::string& path, const std::string& type, const std::string& body) const {
    return send({.method = "PATCH", .path = path, .body = body, .content_type = type});
  }
  Answer merge(const std::string& path, const Json& body) const {
    return patch(path, "application/merge-patch+json", dump_json(body));
  }
  Answer strategic(const std::string& path, const Json& body) const {
    return patch(path, "application/strategic-merge-patch+json", dump_json(body));
  }
  Answer apply(const std::string& path, const Json& body, const std::string& manager, bool force = false) const {
    return patch(path + "?fieldManager=" + manager + (force ? "&force=true" : ""), "application/apply-patch+yaml",
                 dump_json(body));
  }
  Answer remove(const std::string& path, const Json& options = nullptr) const {
    return send({.method = "DELETE", .path = path, .body = options.is_null() ? std::string() : dump_json(options)});
  }

  const std::string& ns() const { return ns_; }
  /// /api/v1/namespaces/<ns>/<plural>
  std::string core(const std::string& plural) const { return "/api/v1/namespaces/" + ns_ + "/" + plural; }
  std::string maps() const { return core("configmaps"); }
  std::string apps(const std::string& plural) const { return "/apis/apps/v1/namespaces/" + ns_ + "/" + plural; }
  std::string widgets(const std::string& version = "v1") const {
    return "/apis/conf.example.com/" + version + "/namespaces/" + ns_ + "/widgets";
  }
  /// Makes sure that the suite's CRD is served.
  void need_widgets() const;
  Json config_map(const std::string& name, const Json& data = {{"a", "1"}}) const;
  Json deployment(const std::string& name) const;
  Json widget(const std::string& name, const Json& spec = Json::object()) const;
  /// Asks again until it is so, for at most this long.
  bool eventually(const std::function<bool()>& done, int seconds = 20) const;
  /// Expects that the pod can be created; its service account comes soon after its namespace.
  void create_pod(const Json& pod) const;
  /// The token of a new service account.
  std::string account_token(const std::string& name) const;

 private:
  const Server& server_;
  std::string ns_;
  pki::KeyPair admin_;
};

Json widget_definition();

struct Check {
  const char* id;
  const char* what;
  void (*run)(Lab&);
};
std::vector<Check> all_checks();
std::vector<Check> discovery_checks();
std::vector<Check> object_checks();
std::vector<Check> patch_checks();
std::vector<Check> deletion_checks();
std::vector<Check> list_checks();
std::vector<Check> connect_checks();
std::vector<Check> custom_checks();
std::vector<Check> conversion_checks();
std::vector<Check> access_checks();
std::vector<Check> admission_checks();
std::vector<Check> protobuf_checks();
std::vector<Check> immutable_checks();
std::vector<Check> edge_checks();
std::vector<Check> write_checks();
std::vector<Check> kind_checks();

/// Status and reason of an answer; tells the body where it is another.
void expect(const Answer& answer, int status, const std::string& reason = {});
/// The field (or reason) of a cause is there.
bool has_cause(const Answer& answer, const std::string& field_or_reason);
/// The message of the cause at a field; empty where there is none.
std::string complaint(const Answer& answer, std::string_view field);

inline constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

}  // namespace fleetadm::conformance
