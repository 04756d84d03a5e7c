// What the listeners of an HttpRuntime share.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "core/serve/http/server.h"
#include "core/serve/http/workers.h"

namespace fleetadm::serve {

struct HttpRuntime::Inner {
  explicit Inner(std::size_t threads);
  /// On a worker, or where there is none, on the I/O thread. False where too many wait.
  bool work(std::function<void()> task);
  /// On the I/O thread, and waits for it; where that has stopped, or is the caller, here.
  void on_io_thread(const std::function<void()>& task);

  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard;
  const bool has_workers;
  Workers workers;
  std::thread thread;  // the I/O thread
};

}  // namespace fleetadm::serve
