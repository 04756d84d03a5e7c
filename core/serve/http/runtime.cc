#include "core/serve/http/runtime.h"

#include <boost/asio/post.hpp>
#include <future>

namespace fleetadm::serve {

HttpRuntime::Inner::Inner(std::size_t threads)
    : guard(boost::asio::make_work_guard(context)), has_workers(threads > 0), workers(threads) {
  thread = std::thread([this] { context.run(); });
}

bool HttpRuntime::Inner::work(std::function<void()> task) {
  if (has_workers) return workers.add(std::move(task));
  boost::asio::post(context, std::move(task));  // as many as connections have requests
  return true;
}

void HttpRuntime::Inner::on_io_thread(const std::function<void()>& task) {
  if (context.stopped() || std::this_thread::get_id() == thread.get_id()) return task();
  std::promise<void> done;
  boost::asio::post(context, [&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

HttpRuntime::HttpRuntime(std::size_t workers) : inner_(std::make_shared<Inner>(workers)) {}

HttpRuntime::~HttpRuntime() { stop(); }

bool HttpRuntime::work(std::function<void()> task) { return inner_->work(std::move(task)); }

void HttpRuntime::wait_outside(const std::function<void()>& wait) { inner_->workers.wait_outside(wait); }

boost::asio::any_io_executor HttpRuntime::executor() const { return inner_->context.get_executor(); }

void HttpRuntime::on_io_thread(const std::function<void()>& task) const { inner_->on_io_thread(task); }

void HttpRuntime::stop() {
  inner_->workers.stop();
  inner_->guard.reset();
  inner_->context.stop();
  if (inner_->thread.joinable()) inner_->thread.join();
  // What was cancelled last waits to be told so, and holds its listener, which holds this context: told, it lets go.
  inner_->context.restart();
  inner_->context.poll();
}

}  // namespace fleetadm::serve
