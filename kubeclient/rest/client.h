// kube::Client: every verb of the Kubernetes API on JSON objects. Reads go straight to the transport; every write passes the
// one write gate (WriteGate), which carries the field manager, the preconditions, the dry-run mode and the audit line.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/resource.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::kube {

enum class DryRun { kNone, kClient, kServer };
enum class PatchType { kJson, kMerge, kStrategic, kApply };
enum class Propagation { kDefault, kBackground, kForeground, kOrphan };

struct ListOptions {
  std::string label_selector;
  std::string field_selector;
  /// The size of a page; 0: one page of everything. list(), which parses a page as a whole, asks for 500 where nothing is said;
  /// list_each() for everything, because a server answers that from its cache as a stream, and each further page from storage.
  std::optional<std::int64_t> limit;
  std::string resource_version;
  std::string resource_version_match;
};

struct WriteOptions {
  std::string field_manager;     // empty: the client's default
  std::string field_validation;  // Strict, Warn, Ignore; empty: the server's default (Warn)
  std::string subresource;       // "status", "scale", "approval", "token", …
  bool force = false;            // apply only
};

struct DeleteOptions {
  Propagation propagation = Propagation::kDefault;
  std::string uid;               // precondition; empty: none
  std::string resource_version;  // precondition; empty: none
  std::optional<std::int64_t> grace_period_seconds;
};

/// What a client may write, and what is told of it. Shared by the clients of one command or program.
struct WriteGate {
  DryRun dry_run = DryRun::kNone;  // kClient: no mutating request is ever sent; the object that would be sent is the answer
  std::string field_manager = "fleetadm";
  /// Called before each mutating request that is really sent (verb, path). An error stops the write. Used by audit lines.
  std::function<Status(Method, std::string_view path)> before;
  /// Called when the server answered one (any HTTP status). Used by audit lines and by the kill tests (kill_hook.h).
  std::function<void(Method, std::string_view path, int status)> after;
};

class Client {
 public:
  Client(std::shared_ptr<Transport> transport, std::shared_ptr<WriteGate> gate, std::string cluster_name = {});
  /// A transport for `config`, and a gate of its own where none is given.
  static Client connect(const RestConfig& config, std::shared_ptr<WriteGate> gate = nullptr);

  // Reads. Errors carry the server's Status (reason, message, details). 429 and 503 with Retry-After, and cut connections of
  // idempotent requests, are retried with back-off within the request's timeout (at most 10 times).
  Result<Json> get(const Resource& resource, std::string_view ns, std::string_view name, std::string_view subresource = {}) const;
  /// get(), where 404 of the object is an empty optional. (404 of an unknown path or type is an error.)
  Result<std::optional<Json>> find(const Resource& resource, std::string_view ns, std::string_view name) const;
  /// All pages (bounded, within one timeout), as one list object (metadata.resourceVersion of the first). 410 in between starts
  /// again once; a page that is too long is asked for in smaller ones.
  Result<Json> list(const Resource& resource, std::string_view ns, const ListOptions& options = {}) const;
  /// A list's objects one after the other, while the answer arrives: memory is one object. They come without managedFields.
  /// `on_item` runs on this thread and may end it with an error. Not from the I/O thread.
  Status list_each(const Resource& resource, std::string_view ns, const ListOptions& options,
                   const std::function<Status(Json&& object)>& on_item) const;
  /// list(), page by page (500 where nothing is said); `page` gets a page's items together. list_each() costs the server less.
  Status list_pages(const Resource& resource, std::string_view ns, const ListOptions& options,
                    const std::function<Status(const Json& page)>& page) const;
  /// Any GET: path with an Accept header; the body as text.
  Result<Response> raw(const Request& request) const;

  // Writes. Each returns the object as the server stored it (dry run: as it would).
  Result<Json> create(const Resource& resource, std::string_view ns, const Json& object, const WriteOptions& options = {}) const;
  /// PUT; the object's resourceVersion is the precondition.
  Result<Json> update(const Resource& resource, const Json& object, const WriteOptions& options = {}) const;
  Result<Json> patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType type, const Json& body,
                     const WriteOptions& options = {}) const;
  /// Server-side apply of a complete intent (apiVersion, kind, metadata.name needed).
  Result<Json> apply(const Resource& resource, const Json& object, const WriteOptions& options = {}) const;
  /// DELETE. The answer is the object (with a deletionTimestamp where finalizers remain) or a Status. 404 is Category::kNotFound.
  Result<Json> remove(const Resource& resource, std::string_view ns, std::string_view name,
                      const DeleteOptions& options = {}) const;
  Result<Json> remove_collection(const Resource& resource, std::string_view ns, const ListOptions& which,
                                 const DeleteOptions& options = {}) const;
  /// POST to a review or a subresource (TokenRequest, SubjectAccessReview, …). Sent in every dry-run mode when `read_only`.
  Result<Json> post(std::string_view path, const Json& body, bool read_only) const;

  // Convenience on top of the verbs.
  /// Creates; when it already exists, answers the existing object.
  Result<Json> create_or_get(const Resource& resource, std::string_view ns, const Json& object,
                             const WriteOptions& options = {}) const;
  /// Reads, lets `change` edit a copy, and sends a merge patch of the difference with uid and resourceVersion as preconditions;
  /// a conflict reads again (five times). No difference: nothing is written. `status`: only the status subresource is compared
  /// and sent.
  Result<Json> modify(const Resource& resource, std::string_view ns, std::string_view name,
                      const std::function<Status(Json&)>& change, std::string_view subresource = {}) const;

  Client with_timeout(Duration timeout) const;  // of each call
  Client with_stop(std::stop_token stop) const;
  const std::string& cluster_name() const { return cluster_name_; }
  const std::shared_ptr<Transport>& transport() const { return transport_; }
  const WriteGate& gate() const { return *gate_; }

 private:
  Result<Response> read(Request request) const;
  Result<Response> write(Request request) const;  // the gate
  using Call = std::function<Result<Response>(const Request&)>;
  Result<Response> send(const Request& request, const Call& call = {}) const;  // with retries; non-2xx is an Error
  /// One try of list_each(): `list` is the parsed list without its items. Not tried again once an item was handed over.
  Result<Response> stream_list(const Request& request, const std::function<Status(Json&&)>& on_item, Result<Json>& list) const;
  Result<Json> dry_patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType type,
                         const Json& body) const;
  Error located(Error error) const;

  std::shared_ptr<Transport> transport_;
  std::shared_ptr<WriteGate> gate_;
  std::string cluster_name_;
  Duration timeout_ = std::chrono::seconds(32);
  std::stop_token stop_;
};

/// The Error for a non-2xx response: Kubernetes' Status where the body is one, else the HTTP facts. A 404 that is not about one
/// object (an unknown path or type) has the reason kUnknownPath.
inline constexpr std::string_view kUnknownPath = "UnknownPath";
Error error_of(const Response& response, const Request& request);
/// RFC 7386 difference: what turns `before` into `after`; an empty object where they are equal.
Json merge_diff(const Json& before, const Json& after);

}  // namespace fleetadm::kube
