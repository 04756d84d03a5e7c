#include "kubeclient/transport/curl_wire.h"

#include <algorithm>
#include <utility>

#include "kubeclient/base/ascii.h"
#include "kubeclient/transport/trust_store.h"

namespace fleetadm::kube {

CurlWire::CurlWire(const ExchangeContext& context, const Outgoing& request, WireEvents& events)
    : context_(context), request_(request), events_(events) {}

CurlWire::~CurlWire() {
  if (easy_) context_.multi->remove(easy_.get());
}

Status CurlWire::start() {
  easy_.reset(curl_easy_init());
  if (!easy_) return fail(Category::kInternal, "out of memory");
  FLEETADM_CHECK(add_headers());
  set_options();
  context_.multi->add(easy_.get(), [this](CURLcode code) { on_done(code); });
  return {};
}

Status CurlWire::add_headers() {
  const auto add = [this](const std::string& line) -> Status {
    curl_slist* grown = curl_slist_append(headers_.get(), line.c_str());
    if (grown == nullptr) return fail(Category::kInternal, "out of memory");
    static_cast<void>(headers_.release());
    headers_.reset(grown);
    return {};
  };
  for (const auto& [name, value] : request_.headers) {
    // "Name;" is libcurl's spelling of a header without a value.
    FLEETADM_CHECK(add(value.empty() ? name + ";" : name + ": " + value));
  }
  // No "Expect: 100-continue" round trip for large bodies.
  return add("Expect:");
}

void CurlWire::set_options() {
  CURL* const easy = easy_.get();
  const Credentials& credentials = request_.credentials;
  curl_easy_setopt(easy, CURLOPT_URL, (server_url(context_.config, context_.endpoint) + std::string(request_.path)).c_str());
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, std::string(request_.user_agent).c_str());
  if (request_.compress) curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  // libcurl 7.88 pauses an HTTP/2 connection where a frame does not fit into its transfer's buffer, and forgets that the frame
  // was the stream's last until the server sends something else. Pages that are not used cost nothing, so the buffer is large.
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, static_cast<long>(CURL_MAX_READ_SIZE));
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail_.data());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &CurlWire::on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &CurlWire::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.get());

  trusted_ = context_.trusted ? context_.trusted : trust_store(context_.config.ca_data);
  set_connection_options(easy, context_.config, context_.endpoint, credentials, trusted_.get(), connect_to_);
  if (request_.deadline != std::chrono::steady_clock::time_point::max()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(request_.deadline - std::chrono::steady_clock::now()).count();
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(left, 1)));
  }
  if (credentials.token.empty() && !credentials.username.empty()) {
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    curl_easy_setopt(easy, CURLOPT_USERNAME, credentials.username.c_str());
    curl_easy_setopt(easy, CURLOPT_PASSWORD, credentials.password.c_str());
  }

  if (request_.method == Method::kHead) {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request_.method != Method::kGet || !request_.body->empty()) {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, std::string(to_string(request_.method)).c_str());
    if (request_.method != Method::kDelete || !request_.body->empty()) {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body->size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body->data());
    }
  }
}

std::size_t CurlWire::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  auto* const wire = static_cast<CurlWire*>(self);
  wire->context_.multi->delivered();
  return wire->take_line({data, size * count}) ? size * count : size * count + 1;  // not what it gave: it ends the transfer
}

bool CurlWire::take_line(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    answer_.clear();  // of a 1xx before
    return true;
  }
  if (line.empty()) return head_complete();
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  auto value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  return answer_.add(lower_case(line.substr(0, colon)), value);
}

bool CurlWire::head_complete() {
  long status = 0;
  long version = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_VERSION, &version);
  if (status < 200 || head_told_) return true;  // 1xx, or trailers
  status_ = static_cast<int>(status);
  context_.multi->learned_version(version);
  head_told_ = true;
  return events_.take_head(status_, answer_.take());
}

std::size_t CurlWire::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto* const wire = static_cast<CurlWire*>(self);
  wire->context_.multi->delivered();
  return wire->events_.take_body({data, size * count}) ? size * count : size * count + 1;
}

void CurlWire::on_done(CURLcode code) {
  if (code == CURLE_OK) return events_.take_end(std::nullopt);
  if (code == CURLE_OPERATION_TIMEDOUT && status_ == 0) context_.multi->unanswered();
  events_.take_end(failure_of(easy_.get(), code, detail_.data()));
}

}  // namespace fleetadm::kube
