#include <thread>

#include "kubeclient/base/yaml.h"
#include "kubeclient/config/files.h"
#include "tests/unit/kubeclient/config/fixture.h"

namespace fleetadm::kube {
namespace {

class Write : public ConfigFixture {
 protected:
  unsigned mode(const std::string& name) const {
    struct stat info {};
    ::stat(path(name).c_str(), &info);
    return info.st_mode & 0777U;
  }
  std::size_t entries(const std::string& folder) const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path(folder)), std::filesystem::directory_iterator()));
  }
};

TEST_F(Write, NewFilesArePrivate) {
  const Json made = make_kubeconfig("https://h:1", ca().certificate, Json{{"token", "t"}}, "fleet");
  ASSERT_TRUE(modify_kubeconfig(path("deep/er/config"), [&](Json& document) {
    EXPECT_TRUE(document.is_object() && document.empty());
    document = made;
    return Status();
  }));
  EXPECT_EQ(mode("deep/er/config"), 0600U);
  EXPECT_EQ(entries("deep/er"), 1U);
  const auto rest = resolve(read("deep/er/config"));
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->server, "https://h:1");
  EXPECT_EQ(rest->ca_data, ca().certificate);
  EXPECT_EQ(rest->name, "fleet");
  EXPECT_EQ(rest->credentials->current()->token, "t");
}

TEST_F(Write, KeepsWhatItDoesNotKnowAndTheMode) {
  write("config", "current-context: a\nclusters: []\nunknown: {x: 1}\n", 0640);
  ASSERT_TRUE(modify_kubeconfig(path("config"), [](Json& document) {
    document["current-context"] = "b";
    return Status();
  }));
  EXPECT_EQ(read("config"), "clusters: []\ncurrent-context: b\nunknown:\n  x: 1\n");
  EXPECT_EQ(mode("config"), 0640U);
}

TEST_F(Write, FollowsLinks) {
  write("real", "current-context: a\n");
  std::filesystem::create_symlink(path("real"), path("config"));
  ASSERT_TRUE(modify_kubeconfig(path("config"), [](Json& document) {
    document["current-context"] = "b";
    return Status();
  }));
  EXPECT_TRUE(std::filesystem::is_symlink(path("config")));
  EXPECT_EQ(read("real"), "current-context: b\n");
}

TEST_F(Write, NothingChangesWhereItFailsOrNothingIsToChange) {
  const std::string text = "# a comment\ncurrent-context: a\n";
  write("config", text);
  EXPECT_TRUE(modify_kubeconfig(path("config"), [](Json&) { return Status(); }));
  EXPECT_EQ(read("config"), text);
  const auto failed = modify_kubeconfig(path("config"), [](Json& document) -> Status {
    document["current-context"] = "b";
    return fail(Category::kUsage, "no");
  });
  EXPECT_EQ(failed.error().message, "no");
  EXPECT_EQ(read("config"), text);
  write("broken", "a: \"x\n");
  EXPECT_EQ(modify_kubeconfig(path("broken"), [](Json&) { return Status(); }).error().category, Category::kUsage);
  EXPECT_EQ(read("broken"), "a: \"x\n");
  EXPECT_EQ(entries("."), 2U);
}

TEST_F(Write, AForeignLockIsRespected) {
  write("config", "current-context: a\n");
  write("config.lock", "");
  const auto refused = modify_kubeconfig(path("config"), [](Json& document) {
    document["current-context"] = "b";
    return Status();
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kConflict);
  EXPECT_NE(refused.error().message.find("config.lock"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(path("config.lock")));
  EXPECT_EQ(read("config"), "current-context: a\n");
}

TEST_F(Write, ManyWritersLoseNothing) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i] {
      EXPECT_TRUE(modify_kubeconfig(path("config"), [i](Json& document) {
        document["contexts"].push_back({{"name", "c" + std::to_string(i)}, {"context", Json::object()}});
        return Status();
      }));
    });
  }
  threads.clear();
  EXPECT_EQ(Kubeconfig::from_text(read("config"))->contexts().size(), 8U);
}

TEST_F(Write, ReadsAreBounded) {
  write("big", std::string(100, 'x'));
  EXPECT_EQ(read_file(path("big"), 99).error().category, Category::kUsage);
  EXPECT_TRUE(read_file(path("big"), 100));
  EXPECT_EQ(read_file(folder_).error().category, Category::kUsage);
  EXPECT_EQ(read_file(path("none")).error().category, Category::kNotFound);
}

}  // namespace
}  // namespace fleetadm::kube
