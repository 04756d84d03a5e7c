// What a server counts of itself, and how it compresses what is large.
#include <gtest/gtest.h>
#include <zlib.h>

#include "core/sandbox/api/api_server.h"
#include "core/serve/http/gzip.h"
#include "kubeclient/base/json.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {
namespace {

std::string gunzipped(const std::string& bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return "no zlib";
  std::string text(4 * 1024 * 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return whole ? text : "no gzip";
}

std::string header_in(const serve::HttpResponse& answer, const std::string& name) {
  for (const auto& [key, value] : answer.headers) {
    if (key == name) return value;
  }
  return {};
}

class Metrics : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = ApiServer::open({.ca_pem = "ca", .token_key = *pki::generate_key()});
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
  }
  serve::HttpResponse ask(const std::string& method, const std::string& path, const std::string& user,
                          const std::string& body = {}, const std::string& encoding = {}) {
    auto peer = std::make_shared<serve::Peer>();
    peer->certificate = serve::Peer::Certificate::kValid;
    peer->common_name = user;
    if (user == "admin") peer->organizations = {"system:masters"};
    if (user == "prometheus") peer->organizations = {"system:monitoring"};
    serve::HttpRequest request;
    request.method = method;
    const auto mark = path.find('?');
    request.path = path.substr(0, mark);
    if (mark != std::string::npos) request.query = path.substr(mark + 1);
    request.body = body;
    request.headers = {{"content-type", "application/json"}};
    if (!encoding.empty()) request.headers.emplace_back("accept-encoding", encoding);
    request.peer = peer;
    return server_->handle(request);
  }
  std::unique_ptr<ApiServer> server_;
};

constexpr const char* kCountedMaps = "/api/v1/namespaces/default/configmaps";

TEST_F(Metrics, CountRequestsByWhatTheyAreFor) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask("GET", kCountedMaps, "admin").status, 200);
  EXPECT_EQ(ask("POST", std::string(kCountedMaps) + "?dryRun=All", "admin", R"({"metadata":{"name":"a"}})").status, 201);
  EXPECT_EQ(ask("GET", std::string(kCountedMaps) + "/none", "admin").status, 404);
  EXPECT_EQ(ask("GET", kCountedMaps, "nobody").status, 403);
  EXPECT_EQ(ask("GET", "/apis/any.thing\"/v1/whatever", "admin").status, 404);
  const auto answer = ask("GET", "/metrics", "admin");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(header_in(answer, "content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const auto has = [&](const std::string& line) {
    EXPECT_NE(answer.body.find("\n" + line + "\n"), std::string::npos) << line << "\n" << answer.body;
  };
  const std::string maps = R"(group="",resource="configmaps",scope=)";
  has(R"(apiserver_request_total{code="200",component="apiserver",dry_run="",)" + maps +
      R"("namespace",subresource="",verb="LIST",version="v1"} 2)");
  has(R"(apiserver_request_total{code="403",component="apiserver",dry_run="",)" + maps +
      R"("namespace",subresource="",verb="LIST",version="v1"} 1)");
  has(R"(apiserver_request_total{code="404",component="apiserver",dry_run="",)" + maps +
      R"("resource",subresource="",verb="GET",version="v1"} 1)");
  has(R"(apiserver_request_total{code="201",component="apiserver",dry_run="All",)" + maps +
      R"("resource",subresource="",verb="POST",version="v1"} 1)");
  has(R"(apiserver_current_inflight_requests{request_kind="readOnly"} 1)");
  has(R"(apiserver_current_inflight_requests{request_kind="mutating"} 0)");
  has(R"(apiserver_resource_objects{group="",resource="namespaces"} 4)");
  EXPECT_EQ(answer.body.find("any.thing"), std::string::npos);
  EXPECT_NE(answer.body.find("\nprocess_resident_memory_bytes "), std::string::npos);
}

TEST_F(Metrics, AreForThoseWhoMay) {
  EXPECT_EQ(ask("GET", "/metrics", "nobody").status, 403);
  EXPECT_EQ(ask("GET", "/metrics", "prometheus").status, 200);
  EXPECT_EQ(ask("POST", "/metrics", "admin").status, 405);
}

TEST_F(Metrics, LargeAnswersAreCompressedForThoseWhoTakeThemSo) {
  Json map = {{"metadata", {{"name", "large"}}}, {"data", {{"text", std::string(200'000, 'x')}}}};
  ASSERT_EQ(ask("POST", kCountedMaps, "admin", dump_json(map)).status, 201);
  const std::string path = std::string(kCountedMaps) + "/large";
  const auto plain = ask("GET", path, "admin");
  EXPECT_EQ(header_in(plain, "content-encoding"), "");
  for (const char* encoding : {"gzip", "deflate, gzip", "br,gzip ,x"}) {
    const auto small = ask("GET", path, "admin", {}, encoding);
    EXPECT_EQ(header_in(small, "content-encoding"), "gzip") << encoding;
    EXPECT_EQ(header_in(small, "vary"), "Accept-Encoding");
    EXPECT_LT(small.body.size(), plain.body.size() / 10);
    EXPECT_EQ(gunzipped(small.body), plain.body);
  }
  for (const char* encoding : {"identity", "gzip;q=1", "x-gzip"})
    EXPECT_EQ(header_in(ask("GET", path, "admin", {}, encoding), "content-encoding"), "") << encoding;
  EXPECT_EQ(header_in(ask("GET", std::string(kCountedMaps) + "/kube-root-ca.crt", "admin", {}, "gzip"), "content-encoding"), "")
      << "small ones stay as they are";
}

TEST(Gzip, BeginsBeyondItsThreshold) {
  serve::HttpRequest request;
  request.headers = {{"accept-encoding", "gzip"}};
  serve::HttpResponse answer;
  answer.body = std::string(serve::kGzipFrom, 'x');
  serve::compress_answer(request, answer);
  EXPECT_EQ(answer.body.size(), serve::kGzipFrom);
  answer.body += 'x';
  serve::compress_answer(request, answer);
  EXPECT_EQ(gunzipped(answer.body), std::string(serve::kGzipFrom + 1, 'x'));
}

}  // namespace
}  // namespace fleetadm::sandbox
