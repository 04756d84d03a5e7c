#include "core/sandbox/node/probe.h"

#include <algorithm>
#include <curl/curl.h>
#include <memory>

namespace fleetadm::sandbox {
namespace {

// A port is a number or the name of one of the container's ports.
int port_of(const Json& action, const Json& container, const std::map<int, int>& ports) {
  std::int64_t port = num(action, {"port"});
  if (const std::string name = str(action, {"port"}); !name.empty()) {
    for (const Json& each : list_at(container, {"ports"})) {
      if (str(each, {"name"}) == name) port = num(each, {"containerPort"});
    }
  }
  const auto moved = ports.find(static_cast<int>(port));
  return moved == ports.end() ? static_cast<int>(port) : moved->second;
}

std::size_t discard(char* /*data*/, std::size_t size, std::size_t count, void* /*to*/) { return size * count; }

}  // namespace

bool probe_once(const Json& probe, const Json& container, const std::map<int, int>& ports) {
  const Json* http = find(probe, {"httpGet"});
  const Json* tcp = find(probe, {"tcpSocket"});
  if (http == nullptr && tcp == nullptr) return true;
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(), curl_easy_cleanup);
  if (!handle) return false;
  CURL* curl = handle.get();
  const Json& action = http != nullptr ? *http : *tcp;
  const bool tls = http != nullptr && str(action, {"scheme"}) == "HTTPS";
  const std::string path = http != nullptr ? str(action, {"path"}, "/") : "/";
  const std::string url =
      std::string(tls ? "https" : "http") + "://127.0.0.1:" + std::to_string(port_of(action, container, ports)) + path;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, std::clamp<long>(static_cast<long>(num(probe, {"timeoutSeconds"}, 1)), 1L, 5L));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard);
  curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, http == nullptr ? 1L : 0L);
  // As a kubelet's probe: it asks whether the process answers, and sends it no secret.
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
  if (curl_easy_perform(curl) != CURLE_OK) return false;
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return http == nullptr || (status >= 200 && status < 400);
}

void Probe::count(bool ok, Instant now) {
  in_a_row_ = ok ? std::max<std::int64_t>(in_a_row_, 0) + 1 : std::min<std::int64_t>(in_a_row_, 0) - 1;
  if (in_a_row_ >= num(*spec_, {"successThreshold"}, 1)) passed_ = true;
  if (-in_a_row_ >= num(*spec_, {"failureThreshold"}, 3)) {
    passed_ = false;
    failed_ = true;
  } else if (ok) {
    failed_ = false;
  }
  const std::int64_t period = std::max<std::int64_t>(1, num(*spec_, {"periodSeconds"}, 10));
  next_ = now + std::chrono::seconds(passed_ || failed_ ? period : 1);  // a pod that comes up is looked at often
}

}  // namespace fleetadm::sandbox
