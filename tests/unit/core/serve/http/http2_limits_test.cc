// HTTP/2 without sockets: bodies that never end, answers that nobody takes, and the memory that bodies take together.
#include <algorithm>
#include <array>
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <nghttp2/nghttp2.h>
#include <thread>

#include "core/serve/http/protocol.h"

namespace fleetadm::serve {
namespace {

using namespace std::chrono_literals;

nghttp2_nv frugal_header(std::string_view name, std::string_view value) {
  nghttp2_nv out{};
  out.name = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(name.data()));
  out.value = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(value.data()));
  out.namelen = name.size();
  out.valuelen = value.size();
  return out;
}

/// A client that sends so much of each body and no end of it, and takes as much of an answer as its window lets through.
class FrugalClient {
 public:
  FrugalClient() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* self) {
          if (std::string_view(reinterpret_cast<const char*>(name), name_size) == ":status")
            static_cast<FrugalClient*>(self)->statuses[frame->hd.stream_id] =
                std::stoi(std::string(reinterpret_cast<const char*>(value), value_size));
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
      if (frame->hd.type == NGHTTP2_RST_STREAM) static_cast<FrugalClient*>(self)->resets.push_back(frame->hd.stream_id);
      return 0;
    });
    nghttp2_option* options = nullptr;
    nghttp2_option_new(&options);
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_session_client_new2(&session_, callbacks, this, options);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~FrugalClient() { nghttp2_session_del(session_); }
  FrugalClient(const FrugalClient&) = delete;
  FrugalClient& operator=(const FrugalClient&) = delete;

  /// Its stream. Without a body the request is whole.
  std::int32_t ask(std::size_t body) {
    const std::array fields = {frugal_header(":method", body > 0 ? "POST" : "GET"), frugal_header(":scheme", "https"),
                               frugal_header(":path", "/x"), frugal_header(":authority", "a")};
    left_ = body;
    nghttp2_data_provider provider{};
    provider.source.ptr = &left_;
    provider.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t size, std::uint32_t*,
                                nghttp2_data_source* source, void*) -> ssize_t {
      auto& left = *static_cast<std::size_t*>(source->ptr);
      const auto count = std::min(size, left);
      if (count == 0) return NGHTTP2_ERR_DEFERRED;
      std::fill_n(buffer, count, std::uint8_t{'x'});
      left -= count;
      return static_cast<ssize_t>(count);
    };
    return nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), body > 0 ? &provider : nullptr, nullptr);
  }
  void talk_to(Protocol& server) {
    for (int round = 0; round < 10; ++round) {
      const std::uint8_t* data = nullptr;
      while (true) {
        const auto size = nghttp2_session_mem_send(session_, &data);
        if (size <= 0) break;
        EXPECT_TRUE(server.feed({reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)}));
      }
      std::string answer;
      server.output(answer, 1024 * 1024);
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(answer.data()), answer.size());
    }
  }

  std::map<std::int32_t, int> statuses;
  std::vector<std::int32_t> resets;

 private:
  nghttp2_session* session_ = nullptr;
  std::size_t left_ = 0;
};

class Http2Limits : public ::testing::Test {
 protected:
  std::shared_ptr<Protocol> server(const HttpLimits& limits) {
    ProtocolHost host;
    host.limits = limits;
    host.room = std::make_shared<MemoryBudget>(limits.bodies);
    host.handle = [this](HttpRequest request, const Reply& reply) {
      HttpResponse response;
      response.body = body_;
      if (answers_) {
        reply(std::move(response));
      } else {
        kept_.push_back(std::move(request));
      }
    };
    host.flush = [] {};
    host.post = [](const std::function<void()>& task) { task(); };
    return make_http2(std::move(host));
  }
  bool answers_ = true;
  std::string body_ = "hello";
  std::vector<HttpRequest> kept_;
};

TEST_F(Http2Limits, RequestsThatDoNotArriveAreGivenUpBesideOnesThatAreAnswered) {
  HttpLimits limits;
  limits.request = 1s;
  answers_ = false;
  const auto protocol = server(limits);
  FrugalClient client;
  const auto whole = client.ask(0);
  client.talk_to(*protocol);
  ASSERT_EQ(kept_.size(), 1U);
  const auto slow = client.ask(1000);
  client.talk_to(*protocol);
  EXPECT_TRUE(protocol->busy());
  EXPECT_TRUE(protocol->receiving());
  EXPECT_TRUE(client.resets.empty());
  std::this_thread::sleep_for(1100ms);
  client.talk_to(*protocol);
  EXPECT_EQ(client.resets, std::vector<std::int32_t>{slow});
  EXPECT_FALSE(protocol->receiving());
  EXPECT_TRUE(protocol->busy()) << "the stream " << whole << " goes on";
}

TEST_F(Http2Limits, AnswersThatNobodyTakesAreGivenUp) {
  HttpLimits limits;
  limits.stuck = 1s;
  body_ = std::string(200'000, 'x');  // more than the client's window
  const auto protocol = server(limits);
  FrugalClient client;
  const auto stream = client.ask(0);
  client.talk_to(*protocol);
  EXPECT_EQ(client.statuses[stream], 200);
  EXPECT_TRUE(protocol->busy());
  std::this_thread::sleep_for(1100ms);
  client.talk_to(*protocol);
  EXPECT_EQ(client.resets, std::vector<std::int32_t>{stream});
  EXPECT_FALSE(protocol->busy());
}

TEST_F(Http2Limits, BodiesTogetherAreLimited) {
  HttpLimits limits;
  limits.bodies = 10'000;
  answers_ = false;
  const auto protocol = server(limits);
  FrugalClient client;
  const auto first = client.ask(6'000);
  client.talk_to(*protocol);
  const auto second = client.ask(6'000);
  client.talk_to(*protocol);
  EXPECT_FALSE(client.statuses.contains(first));
  EXPECT_EQ(client.statuses[second], 429);
  const auto third = client.ask(4'000);
  client.talk_to(*protocol);
  EXPECT_FALSE(client.statuses.contains(third)) << "there is room for what is small";
}

TEST(BodyRooms, AreGivenBack) {
  const auto room = std::make_shared<MemoryBudget>(100);
  auto share = std::make_unique<MemoryReservation>(room);
  EXPECT_TRUE(share->grow_to(60));
  EXPECT_TRUE(share->grow_to(50));
  MemoryReservation other(room);
  EXPECT_FALSE(other.grow_to(41));
  EXPECT_TRUE(other.grow_to(40));
  share.reset();
  EXPECT_TRUE(other.grow_to(100));
  EXPECT_TRUE(MemoryReservation(nullptr).grow_to(1000));
}

}  // namespace
}  // namespace fleetadm::serve
