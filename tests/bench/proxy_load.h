// Clients of an API server, directly or through a gateway: libcurl, with connections that are kept.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <curl/curl.h>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kubeclient/pki/pki.h"
#include "tests/bench/work_process.h"

namespace fleetadm::bench {

struct Way {
  std::string base;  // https://host:port[/prefix]
  std::string ca;
  pki::KeyPair who;
  std::string token{};  // instead, where it is not empty
};

/// One connection. One thread at a time.
class WayClient {
 public:
  explicit WayClient(const Way& way) : base_(way.base), curl_(curl_easy_init()) {
    const auto blob = [](const std::string& text) {
      return curl_blob{.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_COPY};
    };
    const curl_blob trusted = blob(way.ca);
    const curl_blob certificate = blob(way.who.certificate);
    const curl_blob key = blob(way.who.key);
    curl_easy_setopt(curl_, CURLOPT_PROXY, "");
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_CAINFO_BLOB, &trusted);
    if (way.token.empty()) {
      curl_easy_setopt(curl_, CURLOPT_SSLCERT_BLOB, &certificate);
      curl_easy_setopt(curl_, CURLOPT_SSLKEY_BLOB, &key);
    } else {
      curl_easy_setopt(curl_, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
      curl_easy_setopt(curl_, CURLOPT_XOAUTH2_BEARER, way.token.c_str());
    }
    curl_easy_setopt(curl_, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &WayClient::hear);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, this);
  }
  ~WayClient() { curl_easy_cleanup(curl_); }
  WayClient(const WayClient&) = delete;
  WayClient& operator=(const WayClient&) = delete;

  void fresh() { curl_easy_setopt(curl_, CURLOPT_FRESH_CONNECT, 1L); }
  /// What comes, as it comes; false ends the request.
  std::function<bool(std::string_view)> on_data;

  /// The bytes of the answer's body; below zero: no answer of 200.
  long get(const std::string& path) {
    curl_easy_setopt(curl_, CURLOPT_HTTPGET, 1L);
    return ask(path, 200);
  }
  /// Makes an object.
  bool create(const std::string& path, const std::string& object) {
    curl_slist* const headers = curl_slist_append(nullptr, "Content-Type: application/json");
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl_, CURLOPT_COPYPOSTFIELDS, object.c_str());
    const bool made = ask(path, 201) >= 0;
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, nullptr);
    curl_slist_free_all(headers);
    return made;
  }

 private:
  long ask(const std::string& path, long expected) {
    heard_ = 0;
    curl_easy_setopt(curl_, CURLOPT_URL, (base_ + path).c_str());
    if (curl_easy_perform(curl_) != CURLE_OK) return -1;
    long status = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
    return status == expected ? heard_ : -status;
  }
  static std::size_t hear(char* data, std::size_t size, std::size_t count, void* self_pointer) {
    auto& self = *static_cast<WayClient*>(self_pointer);
    self.heard_ += static_cast<long>(size * count);
    return self.on_data && !self.on_data({data, size * count}) ? 0 : size * count;
  }

  std::string base_;
  CURL* curl_;
  long heard_ = 0;
};

/// Milliseconds of each of so many GETs, one after the other.
inline Result<std::vector<double>> one_by_one(WayClient& client, const std::string& path, int count) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i) {
    const auto begin = Timer::now();
    if (const long bytes = client.get(path); bytes < 0)
      return fail(Category::kInternal, "GET " + path + " was answered with " + std::to_string(-bytes));
    out.push_back(milliseconds_since(begin));
  }
  return out;
}

struct Together {
  double answers = 0;
  double bytes = 0;
  double seconds = 0;

  double mebibytes() const { return bytes / (1024.0 * 1024.0); }
};

/// As many as they can in a while, each client on a connection of its own.
inline Result<Together> all_together(const Way& way, const std::string& path, int clients, double seconds) {
  std::atomic<long> answers{0};
  std::atomic<long> bytes{0};
  std::atomic<bool> failed{false};
  const auto begin = Timer::now();
  std::vector<std::jthread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      WayClient client(way);
      while (seconds_since(begin) < seconds && !failed) {
        const long heard = client.get(path);
        if (heard < 0) failed = true;
        ++answers;
        bytes += heard;
      }
    });
  }
  threads.clear();
  if (failed) return fail(Category::kInternal, "GET " + path + " was refused");
  return Together{static_cast<double>(answers), static_cast<double>(bytes), seconds_since(begin)};
}

/// One watch, and when the event of a name came on it.
class EventListener {
 public:
  EventListener(const Way& way, std::string path)
      : watcher_([this, way, path = std::move(path)] {
          WayClient client(way);
          client.on_data = [this](std::string_view piece) { return take(piece); };
          client.get(path);
        }) {}

  /// When the event of this object came; nullopt: not within 10 s.
  std::optional<Timer::time_point> arrival(const std::string& object) {
    const std::string name = "\"name\":\"" + object + "\"";
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(10), [&] { return text_.find(name) != std::string::npos; }))
      return std::nullopt;
    text_.clear();
    return came_;
  }
  /// The watch ends with the next event.
  void end() {
    const std::lock_guard lock(mutex_);
    enough_ = true;
  }

 private:
  bool take(std::string_view piece) {
    const std::lock_guard lock(mutex_);
    came_ = Timer::now();
    text_ += piece;
    changed_.notify_all();
    return !enough_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  Timer::time_point came_;
  bool enough_ = false;
  std::jthread watcher_;
};

/// What events take, in milliseconds.
struct EventTimes {
  std::vector<double> direct;  // from the beginning of the write to the event on the direct way
  std::vector<double> added;   // from there to the same event on the other way
};

/// Both ways hear of the same writes, so that what the API server does is in neither's difference. `write` makes the i-th
/// object, whose name is "prefix-i".
template <class Write>
Result<EventTimes> events(const Way& direct, const Way& through, const std::string& path, const std::string& prefix, int count,
                          const Write& write) {
  const auto milliseconds = [](Timer::duration took) { return std::chrono::duration<double, std::milli>(took).count(); };
  EventListener near(direct, path);
  EventListener far(through, path);
  EventTimes out;
  for (int i = 0; i < count; ++i) {
    const auto begin = Timer::now();
    if (!write(i)) return fail(Category::kInternal, "an object could not be written");
    const std::string name = prefix + "-" + std::to_string(i);
    const auto nearby = near.arrival(name);
    const auto afar = far.arrival(name);
    if (!nearby || !afar) return fail(Category::kInternal, "an event did not come");
    out.direct.push_back(milliseconds(*nearby - begin));
    out.added.push_back(milliseconds(*afar - *nearby));
  }
  near.end();
  far.end();
  write(count);
  return out;
}

}  // namespace fleetadm::bench
