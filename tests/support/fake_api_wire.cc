// What goes to and from the fake server: requests as it understands them, its answers, and the streams of watches.
#include "kubeclient/transport/epoll_loop.h"
#include "tests/support/fake_api_internal.h"

namespace fleetadm::testkit {

using kube::Method;
using kube::Response;

namespace {

std::string decode_segment(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    if (path.front() == '/') {
      path.remove_prefix(1);
      continue;
    }
    const auto end = path.find('/');
    out.push_back(decode_segment(path.substr(0, end)));
    path = end == std::string_view::npos ? std::string_view{} : path.substr(end);
  }
  return out;
}

}  // namespace

ApiCall call_of(const kube::Request& request) {
  ApiCall call;
  call.method = request.method;
  call.path = request.path;
  call.query = request.query;
  call.content_type = request.content_type;
  if (!request.body.empty()) {
    if (auto body = parse_json(request.body)) call.body = std::move(*body);
  }
  auto parts = segments_of(request.path);
  std::size_t at = 0;
  if (parts.size() >= 2 && parts[0] == "api") {
    call.version = parts[1];
    at = 2;
  } else if (parts.size() >= 3 && parts[0] == "apis") {
    call.group = parts[1];
    call.version = parts[2];
    at = 3;
  }
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(at));
  const bool of_namespace_object = parts.size() == 3 && (parts[2] == "status" || parts[2] == "finalize");
  if (parts.size() >= 3 && parts[0] == "namespaces" && !of_namespace_object) {
    call.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  if (at != 0) {
    if (!parts.empty()) call.plural = parts[0];
    if (parts.size() > 1) call.name = parts[1];
    for (std::size_t i = 2; i < parts.size(); ++i) call.subresource += (i > 2 ? "/" : "") + parts[i];
  }
  const std::string watch = call.param("watch");
  switch (request.method) {
    case Method::kPost: call.verb = "create"; break;
    case Method::kPut: call.verb = "update"; break;
    case Method::kPatch: call.verb = "patch"; break;
    case Method::kDelete: call.verb = call.name.empty() ? "deletecollection" : "delete"; break;
    case Method::kGet:
    case Method::kHead:
      call.verb = !call.name.empty() || call.plural.empty() ? "get" : watch == "true" || watch == "1" ? "watch" : "list";
      break;
  }
  return call;
}

Response json_response(int code, const Json& body) {
  Response response;
  response.status = code;
  response.headers["content-type"] = "application/json";
  response.body = dump_json(body);
  return response;
}

Response open_response() {
  Response response;
  response.status = kStreamOpen;
  return response;
}

Response status_response(int code, std::string_view reason, std::string_view message, const Json& details) {
  return json_response(code, Json{{"kind", "Status"},
                                  {"apiVersion", "v1"},
                                  {"metadata", Json::object()},
                                  {"status", code < 400 ? "Success" : "Failure"},
                                  {"message", message},
                                  {"reason", reason},
                                  {"details", details},
                                  {"code", code}});
}

std::string event_line(std::string_view type, const Json& object) {
  return dump_json(Json{{"type", type}, {"object", object}}) + "\n";
}

Json bookmark_of(const ApiCall& call, std::int64_t revision) {
  const std::string api_version = call.group.empty() ? call.version : call.group + "/" + call.version;
  return Json{{"apiVersion", api_version}, {"kind", "Bookmark"}, {"metadata", {{"resourceVersion", std::to_string(revision)}}}};
}

Json expired_status(std::int64_t asked, std::int64_t oldest) {
  return Json{{"kind", "Status"},
              {"apiVersion", "v1"},
              {"status", "Failure"},
              {"reason", "Expired"},
              {"code", 410},
              {"message", "too old resource version: " + std::to_string(asked) + " (" + std::to_string(oldest) + ")"}};
}

void FakeApi::Stream::post(std::function<void(kube::StreamSink&)> call) {
  kube::IoLoop::shared()->post([self = shared_from_this(), call = std::move(call)] {
    const std::scoped_lock lock(self->mutex);
    if (self->cancelled) return;
    const auto keep = self->sink;
    call(*keep);
  });
}

void FakeApi::Stream::head(int status, std::map<std::string, std::string> headers) {
  post([status, headers = std::move(headers)](kube::StreamSink& to) { to.on_response(status, headers); });
}

void FakeApi::Stream::data(std::string text) {
  if (ended) return;
  post([text = std::move(text)](kube::StreamSink& to) { to.on_data(text); });
}

void FakeApi::Stream::end(std::optional<Error> error) {
  if (ended.exchange(true)) return;
  post([error = std::move(error)](kube::StreamSink& to) { to.on_end(error); });
}

void FakeApi::Stream::cancel() {
  const std::scoped_lock lock(mutex);
  cancelled = true;
}

}  // namespace fleetadm::testkit
