// FakeApi: an API server in memory, behind the Transport seam. It keeps JSON objects and behaves as kube-apiserver does where
// controllers can tell: resourceVersions and conflicts, generateName, generation, the status subresource, finalizers and
// preconditions, selectors, pages, watches with bookmarks and streaming lists. It knows no schemas: any type works. Add-ons are
// answered in the version that was asked for, whichever they were written in.
//
//   auto api = FakeApi::make();
//   api->put(Json{...});                      // the test's own hand: not counted
//   controller.run(api->client());
//   EXPECT_EQ(api->count("update"), 1);
//
// Thread-safe. Streams are delivered on IoLoop::shared().
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::testkit {

/// One request as the server understood it.
struct ApiCall {
  std::string verb;  // get, list, watch, create, update, patch, delete, deletecollection
  kube::Method method = kube::Method::kGet;
  std::string path;
  kube::Query query;
  std::string group;
  std::string version;
  std::string plural;
  std::string ns;
  std::string name;
  std::string subresource;
  std::string content_type;
  Json body;       // null where none
  int status = 0;  // of the answer; 0 while it is not answered, or where the answer was lost

  bool is_write() const { return verb != "get" && verb != "list" && verb != "watch"; }
  std::string param(std::string_view key) const;
};

class FakeApi final : public kube::Transport, public std::enable_shared_from_this<FakeApi> {
  struct Private {};

 public:
  FakeApi(Private, std::shared_ptr<Clock> clock);
  ~FakeApi() override;
  FakeApi(const FakeApi&) = delete;
  FakeApi& operator=(const FakeApi&) = delete;
  static std::shared_ptr<FakeApi> make(std::shared_ptr<Clock> clock = Clock::system());

  /// Another server with the objects of this one, of which nobody has asked anything yet.
  std::shared_ptr<FakeApi> copy() const;

  /// A client whose transport this is.
  kube::Client client(std::shared_ptr<kube::WriteGate> gate = nullptr, std::string cluster_name = "fake");

  // The test's own hand: no counting, no failures, no hooks; watches see it.
  /// Creates or replaces as it is, status included; apiVersion and kind decide the type. The stored object is the answer.
  Json put(const kube::Resource& resource, Json object);
  std::optional<Json> get(const kube::Resource& resource, std::string_view ns, std::string_view name) const;
  std::vector<Json> all(const kube::Resource& resource) const;
  /// Removes at once, finalizers or not. False where it did not exist.
  bool erase(const kube::Resource& resource, std::string_view ns, std::string_view name);
  /// Another one after every change, whoever made it.
  std::int64_t revision() const;

  // What was asked.
  std::vector<ApiCall> calls() const;
  std::vector<ApiCall> writes() const;
  /// How many requests of a verb (and type, where `plural` is not empty) were answered or lost.
  int count(std::string_view verb, std::string_view plural = {}) const;
  int write_count() const;
  void forget_calls();

  // Faults. An empty verb or plural matches every one; the first failure that matches is used up first.
  /// The next `times` matching requests get this HTTP status, and nothing is done.
  void fail_next(std::string_view verb, std::string_view plural, int status, std::string_view reason, int times = 1,
                 std::map<std::string, std::string> headers = {});
  /// The next matching requests find no server (nothing is done).
  void refuse_next(std::string_view verb, std::string_view plural, int times = 1);
  /// The next matching requests are done, but their answer is lost.
  void lose_answer_of_next(std::string_view verb, std::string_view plural, int times = 1);
  /// Runs before each request is done, without locks held: may change the store (races), or answer instead of it.
  using Hook = std::function<std::optional<kube::Response>(const ApiCall&)>;
  void on_request(Hook hook);
  /// Answers a path that is no object's ("/version", "/apis").
  void route(std::string path, kube::Response response);
  /// The answer to access reviews (default: allowed).
  void on_review(std::function<bool(const Json& spec)> allowed);

  // Watches.
  /// Ends all open watches without an error.
  void cut_watches();
  /// Breaks all open watches as a lost connection would.
  void break_watches();
  /// Forgets history: open watches get an ERROR event with 410, and no earlier version can be resumed from.
  void expire_history();
  /// Sends a bookmark to all open watches that asked for them.
  void bookmark();
  /// Servers before 1.32 (or with the gate off) answer 422 to sendInitialEvents. On by default.
  void allow_streaming_lists(bool allowed);
  int open_watches() const;

  // Transport.
  Result<kube::Response> call(const kube::Request& request) override;
  std::unique_ptr<kube::StreamHandle> stream(const kube::Request& request, std::shared_ptr<kube::StreamSink> sink) override;

 private:
  struct Stream;
  struct Watch;
  struct Fault;
  struct Event;
  struct StreamOwner;
  using TypeKey = std::pair<std::string, std::string>;  // group, plural
  using Objects = std::map<std::string, Json>;

  Result<kube::Response> answer(ApiCall call, const std::shared_ptr<Stream>& stream);
  /// In the version that was asked for, where the type has several.
  static Json in_version(const ApiCall& call, Json object);
  // All of these with mutex_ held.
  kube::Response handle(const ApiCall& call);
  kube::Response do_get(const ApiCall& call);
  kube::Response do_list(const ApiCall& call);
  kube::Response do_create(const ApiCall& call);
  kube::Response do_update(const ApiCall& call);
  kube::Response do_patch(const ApiCall& call);
  kube::Response do_delete(const ApiCall& call);
  kube::Response do_delete_collection(const ApiCall& call);
  kube::Response do_watch(const ApiCall& call, const std::shared_ptr<Stream>& stream);
  kube::Response store_changed(const ApiCall& call, const Json& before, Json after);
  Json store(const TypeKey& type, const std::string& key, Json object, std::string_view event, bool dry);
  void remove(const TypeKey& type, const std::string& key, bool dry);
  void publish(const TypeKey& type, std::string_view event, const Json& before, const Json& object);
  bool send_event(Watch& watch, std::string_view type, const Json& before, const Json& object);
  std::optional<Fault> take_fault(const ApiCall& call);
  void record(const ApiCall& call, int status);

  const std::shared_ptr<Clock> clock_;
  mutable std::mutex mutex_;
  std::map<TypeKey, Objects> objects_;
  std::vector<Event> history_;
  std::int64_t revision_ = 1;
  std::int64_t compacted_ = 0;
  std::int64_t next_uid_ = 1;
  std::int64_t next_suffix_ = 1;
  std::vector<ApiCall> calls_;
  std::list<Fault> faults_;
  Hook hook_;
  std::map<std::string, kube::Response> routes_;
  std::function<bool(const Json&)> review_;
  std::list<std::shared_ptr<Watch>> watches_;
  bool streaming_lists_ = true;
};

}  // namespace fleetadm::testkit
