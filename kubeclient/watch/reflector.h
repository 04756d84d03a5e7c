// The reflector behind an Informer: brings a Store into step with the server and keeps it there. What it asks for, and what it
// does about failures, is in reflector.cc; what it takes of the answers in reflector_objects.cc.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "kubeclient/base/backoff.h"
#include "kubeclient/watch/informer.h"
#include "kubeclient/watch/json_lines.h"
#include "kubeclient/watch/list_scanner.h"
#include "kubeclient/watch/store.h"

namespace fleetadm::kube {

class Reflector final : public Informer, public std::enable_shared_from_this<Reflector> {
 public:
  Reflector(Client client, Resource resource, InformerOptions options, std::shared_ptr<IoLoop> loop);
  ~Reflector() override;
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void on_event(EventHandler handler) override;
  void on_synced(std::function<void()> handler) override;
  void start() override;
  void stop() override;
  bool synced() const override;
  bool wait_synced(Duration timeout, std::stop_token stop) const override;
  std::optional<Error> last_error() const override;
  CachedPtr get(std::string_view key) const override { return store_.get(key); }
  std::vector<CachedPtr> list() const override { return store_.list(); }
  std::vector<CachedPtr> by_index(std::string_view index, std::string_view value) const override {
    return store_.by_index(index, value);
  }
  const Resource& resource() const override { return resource_; }

 private:
  class Sink;
  enum class Phase { kList, kStreamingList, kWatch };

  // All of these on the I/O thread.
  void step();  // opens what comes next: a list, a streaming list or a watch
  void open(Phase phase, const Request& request);
  Request watch_request(bool initial_events);
  Request list_page(const std::string& token);
  void head(int status);
  void data(std::string_view chunk);
  void end(std::optional<Error> error);
  void end_list();
  void end_watch();
  void watch_line(std::string_view line);
  Status take_object(Json object, Store::Entries& into);
  /// An object that is nested too deeply: what is cached of it stays, also in a list that replaces the cache.
  void leave_out(const Json& object, Store::Entries* list);
  void commit(std::string version);
  void apply(std::string_view type, Json object);
  void failed(Error error, bool list_again);
  void again_after(Duration delay);
  void arm_watchdog();
  void recovered();
  template <class Call>
  void tell(const Call& call);

  const Client client_;
  const Resource resource_;
  const InformerOptions options_;
  const std::shared_ptr<IoLoop> loop_;
  Store store_;
  std::vector<EventHandler> handlers_;
  std::vector<std::function<void()>> synced_handlers_;

  std::atomic<bool> started_{false};
  std::atomic<bool> stopped_{false};
  std::mutex handler_mutex_;  // held while handlers run
  std::atomic<std::thread::id> handler_thread_{};

  mutable std::mutex state_mutex_;  // guards synced_, last_error_
  mutable std::condition_variable_any synced_changed_;
  bool synced_ = false;
  std::unique_ptr<Error> last_error_;  // rare, and large

  // I/O thread only.
  Phase phase_ = Phase::kList;
  std::unique_ptr<StreamHandle> stream_;
  std::uint64_t generation_ = 0;  // of stream_: late calls of an earlier one are dropped
  std::uint64_t timer_ = 0;
  std::uint64_t watchdog_ = 0;
  bool streaming_lists_ = true;  // until the server shows that it has none
  bool need_list_ = true;
  bool version_unavailable_ = false;
  std::string last_version_;
  int status_ = 0;
  std::string error_body_;
  std::unique_ptr<Error> stream_error_;  // of an ERROR event or of unreadable data
  JsonLines lines_;
  std::unique_ptr<ListScanner> scanner_;
  Store::Entries staged_;
  std::map<std::string, std::string> left_out_;  // key → version
  std::string list_version_;
  std::chrono::steady_clock::time_point opened_;
  std::size_t events_seen_ = 0;
  int watch_failures_ = 0;
  Backoff backoff_{std::chrono::milliseconds(200), std::chrono::seconds(30), 0.5};
};

}  // namespace fleetadm::kube
