// A watch that is read on the caller's thread, event by event.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <variant>

#include "kubeclient/rest/client.h"

namespace fleetadm::kube {

class BlockingWatch {
 public:
  struct Event {
    std::string type;  // ADDED, MODIFIED, DELETED, BOOKMARK
    Json object;
  };
  struct Ended {
    std::optional<Error> error;  // none: the server ended it in order
  };
  struct Waiting {};  // the time was over, or `stop` was set
  using Next = std::variant<Event, Ended, Waiting>;

  /// Opens the watch; `version` empty: it begins with an ADDED for each object there is.
  BlockingWatch(const Client& client, const Resource& resource, std::string_view ns, const ListOptions& options,
                const std::string& version, Duration timeout);
  ~BlockingWatch();
  BlockingWatch(const BlockingWatch&) = delete;
  BlockingWatch& operator=(const BlockingWatch&) = delete;

  Next next(Duration timeout, const std::stop_token& stop);

 private:
  class Sink;
  std::shared_ptr<Sink> sink_;
  std::unique_ptr<StreamHandle> stream_;
};

}  // namespace fleetadm::kube
