// What join refuses before it asks anybody: each mistake is named, with the next step.
#include <gtest/gtest.h>
#include <map>

#include "commands/fleet/fleet.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

const std::string kPin = "sha256:" + std::string(64, 'a');

class JoinTest : public ::testing::Test {
 protected:
  JoinTest() { register_join(registry_); }
  /// join with good flags, some of them changed; an empty value takes a flag away.
  Result<Report> join(const Flags& changes) {
    std::map<std::string, std::string> flags{
        {"cluster-name", "c1"}, {"hub-apiserver", "https://hub.example:6443"}, {"hub-token", "t"}, {"ca-cert-hash", kPin}};
    for (const auto& [name, value] : changes) flags[name] = value;
    std::erase_if(flags, [](const auto& flag) { return flag.second.empty(); });
    return testkit::run_command(registry_, "join", context_, Flags(flags.begin(), flags.end()), {});
  }
  void refused(const Flags& changes, const std::string& names) {
    const auto report = join(changes);
    ASSERT_FALSE(report) << names;
    EXPECT_EQ(report.error().category, Category::kUsage) << report.error().message;
    EXPECT_NE(report.error().message.find(names), std::string::npos) << report.error().message;
    EXPECT_FALSE(report.error().hint.empty()) << report.error().message;
    EXPECT_TRUE(api_->calls().empty()) << "nobody was asked";
  }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
  testkit::FakeContext context_{api_->client()};
  testkit::TemporaryFolder folder_{"join"};
  Registry registry_;
};

TEST_F(JoinTest, ThePinIsLookedAtBeforeTheHub) {
  for (const std::string& pin : {std::string("sha256:00"), std::string("md5:") + std::string(64, 'a'), std::string(64, 'a'),
                                 "sha256:" + std::string(63, 'a') + "g", kPin + "a"}) {
    refused({{"ca-cert-hash", pin}}, "is not a valid CA hash");
  }
}

TEST_F(JoinTest, TheAddressIsThatOfAServer) {
  for (const char* url : {"https://", "https:///x", "https://:6443", "http://hub", "hub:6443", "https://user:pass@hub",
                          "https://hub?x", "https://hub#x", "https://hub x", "https://hub\nx"}) {
    refused({{"hub-apiserver", url}}, "is not an https URL");
  }
}

TEST_F(JoinTest, OneThingTellsTheCa) {
  refused({{"ca-cert-hash", ""}}, "CA is not specified");
  refused({{"system-roots", "true"}}, "--system-roots cannot be combined");
  refused({{"ca-cert-hash", ""}, {"ca-file", "x"}, {"system-roots", "true"}}, "--system-roots cannot be combined");
}

TEST_F(JoinTest, FilesAreNamed) {
  const std::string ca = folder_.write("ca.crt", "");
  refused({{"ca-cert-hash", ""}, {"ca-file", ca}}, "--ca-file \"" + ca + "\"");
  const std::string token = folder_.write("token", " \n");
  refused({{"hub-token", ""}, {"hub-token-file", token}}, token);
  refused({{"hub-token", ""}, {"hub-token-file", "-"}}, "standard input holds no token");
  refused({{"hub-token", " "}}, "--hub-token is blank");
}

TEST_F(JoinTest, WhatTheAgentWouldFailOnIsRefusedHere) {
  refused({{"proxy-url", "ftp://proxy"}}, "--proxy-url");
  refused({{"proxy-url", "socks5://"}}, "--proxy-url");
  refused({{"agent-arg", "leader-elect"}}, "--agent-arg");
  refused({{"cluster-name", "C_1"}}, "C_1");
}

TEST_F(JoinTest, WhatTheClusterSaysOfItselfIsChecked) {
  refused({{"labels", "env"}}, "--labels \"env\"");
  refused({{"labels", "env=a b"}}, "--labels");
  refused({{"annotation", "owner"}}, "--annotation \"owner\"");
  refused({{"claim", "region"}}, "--claim \"region\" is not NAME=VALUE");
  refused({{"claim", "agentversion.fleetadm.io=v9"}}, "is the agent's own");
  refused({{"external-server-urls", "http://c1"}}, "--external-server-urls");
  refused({{"resource-limits", "memory=much"}}, "--resource-limits");
}

TEST_F(JoinTest, AFurtherHubHasATokenAndIsAnotherOne) {
  const auto hub = [&](const std::string& name, const std::string& server, const std::string& user) {
    return folder_.write(name,
                         "current-context: h\ncontexts: [{name: h, context: {cluster: h, user: h}}]\nclusters: [{name: h, "
                         "cluster: {server: '" +
                             server + "'}}]\nusers: [{name: h, user: " + user + "}]\n");
  };
  refused({{"fallback-hub", hub("admin", "https://other", "{client-certificate-data: YQ==, client-key-data: YQ==}")}},
          "its user has no token");
  refused({{"fallback-hub", hub("program", "https://other", "{exec: {command: sh}}")}}, "must not name programs or files");
  refused({{"fallback-hub", hub("same", "https://hub.example:6443", "{token: t}")}}, "is the hub https://hub.example:6443 again");
}

TEST_F(JoinTest, WhatBelongsToHostedModeNeedsIt) {
  refused({{"mode", "hosted"}}, "--mode hosted requires --managed-cluster-kubeconfig or --managed-cluster-context");
  const Flags hosted{{"mode", "hosted"}, {"managed-cluster-context", "c1"}};
  const auto with = [&](Flags more) {
    more.insert(more.begin(), hosted.begin(), hosted.end());
    return more;
  };
  refused(with({{"hosted-namespace", "A"}}), "--hosted-namespace \"A\"");
  refused(with({{"managed-cluster-apiserver", "c1:6443"}}), "--managed-cluster-apiserver \"c1:6443\" is not an https URL");
  refused(with({{"agent-arg", "--work-eviction-grace=1h"}}), "cannot be set for one hosted member");
  for (const char* flag : {"managed-cluster-kubeconfig", "managed-cluster-context", "hosted-namespace"}) {
    const auto report = join({{flag, "x"}});
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().message, "--" + std::string(flag) + " requires --mode hosted");
  }
}

TEST_F(JoinTest, AFileMaySayWhatNoFlagDoes) {
  const std::string spec = "apiVersion: operator.open-cluster-management.io/v1\nkind: Klusterlet\nmetadata: {name: k}\nspec: ";
  const std::string file = folder_.write("klusterlet.yaml", spec + "{clusterName: C_1}\n");
  refused({{"cluster-name", ""}, {"filename", file}}, "\"C_1\"");
  refused({{"cluster-name", ""}, {"hub-apiserver", ""}}, "missing required flags: --cluster-name, --hub-apiserver");
  refused({{"hub-apiserver", ""}, {"filename", file}}, "missing required flag: --hub-apiserver");
  const std::string none = folder_.write("none.yaml", "kind: ConfigMap\n");
  refused({{"filename", none}}, "there is no Klusterlet");
  refused({{"filename", "-"}, {"hub-token", ""}, {"hub-token-file", "-"}}, "cannot both read standard input");
}

}  // namespace
}  // namespace fleetadm::commands
