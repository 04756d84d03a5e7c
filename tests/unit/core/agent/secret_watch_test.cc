#include "core/agent/secret_watch.h"

#include <atomic>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

#include "tests/support/fake_api.h"

namespace fleetadm::agent {
namespace {

using testkit::FakeApi;

/// What one of those who are told has heard.
struct Heard {
  std::atomic<int> changed = 0;
  std::atomic<int> watched = 0;
  SecretWatch::Told told() {
    return {[this] { ++changed; }, [this] { ++watched; }};
  }
};

class SecretWatchTest : public testing::Test {
 protected:
  ~SecretWatchTest() override { informer_->stop(); }
  void put(const std::string& name, const std::string& ns = "home") {
    api_->put(kube::resources::secrets(),
              {{"metadata", {{"name", name}, {"namespace", ns}}}, {"data", {{"at", std::to_string(++put_)}}}});
  }
  static bool soon(const std::function<bool()>& done) {
    for (int i = 0; i < 500 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return done();
  }

  std::shared_ptr<FakeApi> api_ = FakeApi::make();
  std::shared_ptr<kube::Informer> informer_ = kube::Informer::make(api_->client(), kube::resources::secrets(), {.ns = "home"});
  SecretWatch watch_{informer_};
  int put_ = 0;
};

TEST_F(SecretWatchTest, EachHearsOfItsOwnSecretThroughOneWatch) {
  put("there");
  Heard there;
  Heard other;
  const auto one = watch_.on("there", there.told());
  const auto two = watch_.on("other", other.told());
  const auto both = watch_.on("other", there.told());
  EXPECT_EQ(there.watched, 0);
  EXPECT_FALSE(watch_.tells());
  informer_->start();
  ASSERT_TRUE(soon([&] { return other.watched == 1 && there.watched == 2; }));
  EXPECT_TRUE(soon([&] { return watch_.tells(); }));
  EXPECT_EQ(there.changed, 1) << "it came with the list";
  EXPECT_EQ(other.changed, 0);

  put("other");
  put("other", "elsewhere");
  ASSERT_TRUE(soon([&] { return other.changed == 1 && there.changed == 2; }));
  api_->erase(kube::resources::secrets(), "home", "other");
  ASSERT_TRUE(soon([&] { return other.changed == 2 && there.changed == 3; }));
  put("third");
  put("there");
  ASSERT_TRUE(soon([&] { return there.changed == 4; }));
  EXPECT_EQ(other.changed, 2);
  EXPECT_EQ(api_->count("watch"), 1);
}

TEST_F(SecretWatchTest, WhoComesLaterIsToldAtOnceThatItIsWatched) {
  put("there");
  informer_->start();
  ASSERT_TRUE(informer_->wait_synced(std::chrono::seconds(5)));
  Heard late;
  ASSERT_TRUE(soon([&] {
    const auto one = watch_.on("there", late.told());
    return late.watched > 0;
  }));
  EXPECT_EQ(late.changed, 0) << "what is there already is read by whoever wants it";
}

TEST_F(SecretWatchTest, NothingIsToldAfterTheEnd) {
  Heard heard;
  Heard witness;
  std::optional<SecretWatch::Subscription> one = watch_.on("a", heard.told());
  const auto two = watch_.on("a", witness.told());
  informer_->start();
  ASSERT_TRUE(soon([&] { return witness.watched == 1; }));
  one.reset();
  put("a");
  ASSERT_TRUE(soon([&] { return witness.changed == 1; }));
  EXPECT_EQ(heard.changed, 0);
}

}  // namespace
}  // namespace fleetadm::agent
