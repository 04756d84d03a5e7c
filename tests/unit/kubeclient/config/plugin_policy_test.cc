// Which exec credential plugins run: the cases of kubectl's kuberc.
#include "kubeclient/config/plugin_policy.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace fleetadm::kube {
namespace {

using Kind = CredentialPluginPolicy::Kind;

class PluginPolicyTest : public ::testing::Test {
 protected:
  PluginPolicyTest() {
    for (const char* name : {"login", "other"}) {
      folder_.write(name, "#!/bin/sh\n");
      std::filesystem::permissions(folder_.path() / name, std::filesystem::perms::owner_all);
    }
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  Result<std::string> asked(const CredentialPluginPolicy& policy, const std::string& command) const {
    return allowed_plugin(policy, command, ".:" + folder_.path().string());
  }
  testkit::TemporaryFolder folder_{"policy"};
};

TEST_F(PluginPolicyTest, AllowAllRunsWhatIsNamed) {
  EXPECT_EQ(*asked({}, "login"), "login");
  EXPECT_EQ(*asked({}, "/nonexistent/x"), "/nonexistent/x");
}

TEST_F(PluginPolicyTest, DenyAllRunsNothing) {
  EXPECT_FALSE(asked({Kind::kDenyAll, {}}, "login"));
  EXPECT_FALSE(asked({Kind::kDenyAll, {"login"}}, "login"));
}

TEST_F(PluginPolicyTest, AnAllowlistNamesProgramsAndPaths) {
  const CredentialPluginPolicy by_name{Kind::kAllowlist, {"login"}};
  EXPECT_EQ(*asked(by_name, "login"), file("login"));
  EXPECT_EQ(*asked(by_name, file("login")), file("login")) << "the path that the name leads to";
  EXPECT_EQ(*asked(by_name, (folder_.path() / "x" / ".." / "login").string()), file("login"));
  EXPECT_FALSE(asked(by_name, "other"));
  EXPECT_FALSE(asked(by_name, "/nonexistent/login")) << "another program of the same name";
  const CredentialPluginPolicy by_path{Kind::kAllowlist, {"/nonexistent/x", file("login")}};
  EXPECT_EQ(*asked(by_path, "login"), file("login"));
  EXPECT_EQ(*asked(by_path, file("login")), file("login"));
  EXPECT_FALSE(asked(by_path, file("other")));
  EXPECT_FALSE(asked({Kind::kAllowlist, {"/usr/bin/login"}}, "login")) << "a program of that name elsewhere";
}

TEST_F(PluginPolicyTest, TheWorkingDirectoryIsNotSearched) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const auto found = allowed_plugin({Kind::kAllowlist, {"login"}}, "login", ".:");
  std::filesystem::current_path(before);
  EXPECT_FALSE(found);
}

TEST_F(PluginPolicyTest, AListThatIsNotInEffectRefuses) {
  EXPECT_FALSE(asked({Kind::kAllowAll, {"login"}}, "login")) << "someone relies on the list";
  EXPECT_FALSE(asked({Kind::kAllowlist, {}}, "login"));
}

TEST_F(PluginPolicyTest, WordsAndEntries) {
  EXPECT_EQ(*parse_plugin_policy(""), Kind::kAllowAll);
  EXPECT_EQ(*parse_plugin_policy("Allowlist"), Kind::kAllowlist);
  EXPECT_FALSE(parse_plugin_policy("denyall")) << "a misspelled policy must not be the default";
  for (const char* good : {"login", "/usr/bin/login"}) EXPECT_TRUE(check_allowlist_entry(good)) << good;
  for (const char* bad : {"", ".", "..", "./login", "bin/login", "/usr/bin/", "/usr/../login", "/usr//login"})
    EXPECT_FALSE(check_allowlist_entry(bad)) << bad;
}

TEST_F(PluginPolicyTest, TheEnvironmentCountsUntilAPolicyIsSet) {
  ::setenv("FLEETADM_CREDENTIAL_PLUGIN_POLICY", "Allowlist", 1);
  ::setenv("FLEETADM_CREDENTIAL_PLUGIN_ALLOWLIST", "login,/bin/x", 1);
  const auto policy = credential_plugin_policy();
  ::setenv("FLEETADM_CREDENTIAL_PLUGIN_POLICY", "Denyall", 1);
  const auto wrong = credential_plugin_policy();
  ::unsetenv("FLEETADM_CREDENTIAL_PLUGIN_POLICY");
  ::unsetenv("FLEETADM_CREDENTIAL_PLUGIN_ALLOWLIST");
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->kind, Kind::kAllowlist);
  EXPECT_EQ(policy->allowlist, (std::vector<std::string>{"login", "/bin/x"}));
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace fleetadm::kube
