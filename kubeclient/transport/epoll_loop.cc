#include "kubeclient/transport/epoll_loop.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <curl/curl.h>
#include <deque>
#include <exception>
#include <mutex>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>

#include "kubeclient/base/log.h"
#include "kubeclient/base/owned_fd.h"

namespace fleetadm::kube {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// Work of others must not end the loop: an exception here is a defect of the callee, and is told rather than spread.
void run_guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& e) {
    log::error("ioloop", std::string("unexpected exception in a callback: ") + e.what());
  }
}

}  // namespace

struct EpollLoop::Core {
  struct Watched {
    std::uint32_t generation = 0;
    std::shared_ptr<const std::function<void(std::uint32_t)>> ready;
  };

  OwnedFd epoll{::epoll_create1(EPOLL_CLOEXEC)};
  OwnedFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> stopping{false};
  std::atomic<std::thread::id> thread_id{};

  std::mutex mutex;  // guards posted, timers, timer_times, next_timer, ended
  std::deque<std::function<void()>> posted;
  std::map<std::pair<SteadyTime, std::uint64_t>, std::function<void()>> timers;
  std::unordered_map<std::uint64_t, SteadyTime> timer_times;
  std::uint64_t next_timer = 1;
  bool ended = false;  // nothing is taken on any more

  std::unordered_map<int, Watched> watched;  // I/O thread only
  std::uint32_t next_generation = 1;

  std::thread thread;

  std::mutex lane_mutex;  // guards lane, lane_work
  std::condition_variable_any lane_ready;
  std::deque<std::function<void()>> lane_work;
  std::jthread lane;

  Core() {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = 0;
    ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event);
  }

  void notify() const {
    const std::uint64_t one = 1;
    // A full counter already wakes the loop; nothing else can go wrong with an eventfd.
    [[maybe_unused]] const auto written = ::write(wake.get(), &one, sizeof one);
  }

  int wait_ms() {
    const std::scoped_lock lock(mutex);
    if (!posted.empty()) return 0;
    if (timers.empty()) return -1;
    const auto left = timers.begin()->first.first - std::chrono::steady_clock::now();
    if (left <= Duration::zero()) return 0;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
    return static_cast<int>(std::min<std::int64_t>(ms, 60'000));
  }

  void run_posted() {
    std::deque<std::function<void()>> batch;
    {
      const std::scoped_lock lock(mutex);
      batch.swap(posted);
    }
    for (auto& work : batch) {
      if (stopping) return;
      run_guarded(work);
      work = nullptr;  // what it captured is released here, not at the end of the batch
    }
  }

  void run_timers() {
    const auto now = std::chrono::steady_clock::now();
    while (!stopping) {
      std::function<void()> work;
      {
        const std::scoped_lock lock(mutex);
        if (timers.empty() || timers.begin()->first.first > now) return;
        auto node = timers.extract(timers.begin());
        timer_times.erase(node.key().second);
        work = std::move(node.mapped());
      }
      run_guarded(work);
    }
  }

  void dispatch(const epoll_event& event) {
    if (event.data.u64 == 0) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = ::read(wake.get(), &count, sizeof count);
      return;
    }
    const int fd = static_cast<int>(event.data.u64 & 0xffffffffU);
    const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32U);
    const auto found = watched.find(fd);
    // The number may have been closed and given to another socket by an earlier callback of this round.
    if (found == watched.end() || found->second.generation != generation) return;
    const auto ready = found->second.ready;
    run_guarded([&] { (*ready)(event.events); });
  }

  void run() {
    // With CURLOPT_NOSIGNAL libcurl leaves SIGPIPE to us: a peer that went away must cost an error, not the process.
    sigset_t pipe{};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    thread_id = std::this_thread::get_id();
    std::array<epoll_event, 64> events{};
    while (!stopping) {
      const int count = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), wait_ms());
      for (int i = 0; i < count && !stopping; ++i) dispatch(events[static_cast<std::size_t>(i)]);
      run_timers();
      run_posted();
    }
  }

  void run_lane(const std::stop_token& stop) {
    std::unique_lock lock(lane_mutex);
    while (lane_ready.wait(lock, stop, [&] { return !lane_work.empty(); })) {
      auto work = std::move(lane_work.front());
      lane_work.pop_front();
      lock.unlock();
      run_guarded(work);
      work = nullptr;
      lock.lock();
    }
  }
};

EpollLoop::EpollLoop() : core_(std::make_shared<Core>()) {
  core_->thread = std::thread([core = core_] { core->run(); });
}

EpollLoop::~EpollLoop() { shutdown(); }

void EpollLoop::shutdown() {
  core_->stopping = true;
  core_->notify();
  if (std::this_thread::get_id() == core_->thread.get_id()) {
    core_->thread.detach();
  } else if (core_->thread.joinable()) {
    core_->thread.join();
  }
  std::jthread lane;
  {
    const std::scoped_lock lock(core_->lane_mutex);
    lane = std::move(core_->lane);
  }
  if (lane.joinable()) {
    lane.request_stop();
    if (lane.get_id() == std::this_thread::get_id()) lane.detach();
  }
  // Dropped outside of the lock: what the work captured may call back.
  std::deque<std::function<void()>> posted;
  std::map<std::pair<SteadyTime, std::uint64_t>, std::function<void()>> timers;
  const std::scoped_lock lock(core_->mutex);
  core_->ended = true;
  posted.swap(core_->posted);
  timers.swap(core_->timers);
  core_->timer_times.clear();
}

void EpollLoop::post(std::function<void()> work) {
  {
    const std::scoped_lock lock(core_->mutex);
    if (core_->ended) return;
    core_->posted.push_back(std::move(work));
    if (core_->posted.size() > 1) return;  // the first one woke the loop already
  }
  if (!on_thread()) core_->notify();  // it looks itself before it waits
}

std::uint64_t EpollLoop::after(Duration delay, std::function<void()> work) {
  const auto at = std::chrono::steady_clock::now() + std::max(delay, Duration::zero());
  std::uint64_t id = 0;
  bool first = false;
  {
    const std::scoped_lock lock(core_->mutex);
    id = core_->next_timer++;
    if (core_->ended) return id;
    const auto [it, inserted] = core_->timers.emplace(std::pair(at, id), std::move(work));
    core_->timer_times.emplace(id, at);
    first = it == core_->timers.begin();
  }
  if (first && !on_thread()) core_->notify();
  return id;
}

void EpollLoop::cancel(std::uint64_t timer) {
  std::function<void()> dropped;
  const std::scoped_lock lock(core_->mutex);
  const auto found = core_->timer_times.find(timer);
  if (found == core_->timer_times.end()) return;
  auto node = core_->timers.extract(std::pair(found->second, timer));
  core_->timer_times.erase(found);
  if (!node.empty()) dropped = std::move(node.mapped());
}

void EpollLoop::watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> ready) {
  Core::Watched entry;
  entry.generation = core_->next_generation++;
  entry.ready = std::make_shared<const std::function<void(std::uint32_t)>>(std::move(ready));
  epoll_event event{};
  event.events = events;
  event.data.u64 = (static_cast<std::uint64_t>(entry.generation) << 32U) | static_cast<std::uint32_t>(fd);
  // A socket that was closed behind our back has left epoll by itself, so either call may be the right one.
  const bool known = core_->watched.contains(fd);
  if (::epoll_ctl(core_->epoll.get(), known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0) {
    if (errno == ENOENT) ::epoll_ctl(core_->epoll.get(), EPOLL_CTL_ADD, fd, &event);
    if (errno == EEXIST) ::epoll_ctl(core_->epoll.get(), EPOLL_CTL_MOD, fd, &event);
  }
  core_->watched.insert_or_assign(fd, std::move(entry));
}

void EpollLoop::unwatch(int fd) {
  ::epoll_ctl(core_->epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
  core_->watched.erase(fd);
}

bool EpollLoop::on_thread() const { return core_->thread_id.load() == std::this_thread::get_id(); }

void EpollLoop::offload(std::function<void()> work) {
  {
    const std::scoped_lock lock(core_->lane_mutex);
    core_->lane_work.push_back(std::move(work));
    if (!core_->lane.joinable()) {
      core_->lane = std::jthread([core = core_](const std::stop_token& stop) { core->run_lane(stop); });
    }
  }
  core_->lane_ready.notify_one();
}

std::shared_ptr<IoLoop> IoLoop::shared() {
  // libcurl (and OpenSSL in it) is set up before the loop exists, so that at exit the loop's thread ends first.
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  // Whoever else still holds the loop: its thread must not outlive the libraries that it runs in.
  struct Owner {
    std::shared_ptr<EpollLoop> loop = std::make_shared<EpollLoop>();
    ~Owner() { loop->shutdown(); }
  };
  static const Owner owner;
  static_cast<void>(ready);
  return owner.loop;
}

}  // namespace fleetadm::kube
