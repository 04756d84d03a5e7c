#include "commands/in_pod/pod_command.h"

#include <gtest/gtest.h>

namespace fleetadm::commands {
namespace {

class PodCommandTest : public testing::Test {
 protected:
  PodCommandTest() { register_all(registry); }
  PodCommand given(const std::vector<std::string>& args) {
    auto command = pod_command(registry, args);
    EXPECT_TRUE(command) << command.error().message;
    return command.value_or(PodCommand{});
  }
  std::string refused(const std::vector<std::string>& args) {
    const auto command = pod_command(registry, args);
    EXPECT_FALSE(command);
    return command ? std::string() : command.error().message;
  }
  using Words = std::vector<std::string>;
  using Files = std::map<std::string, std::string>;

  Registry registry;
};

TEST_F(PodCommandTest, WordsAreWhatTheyWere) {
  const PodCommand command = given({"get", "clusters", "-l", "a=$(HOME)", "-o", "json"});
  EXPECT_EQ(command.path, "get clusters");
  EXPECT_EQ(command.args, (Words{"get", "clusters", "-l", "a=$$(HOME)", "-o", "json"})) << "the kubelet makes $ of $$";
  EXPECT_TRUE(command.files.empty());
  EXPECT_TRUE(command.variables.empty());
}

TEST_F(PodCommandTest, FilesThatFlagsNameAreSentAlong) {
  const std::string there(kPodFiles);
  for (const Words& words : {Words{"-f", "dir/app 1.yaml"}, Words{"-fdir/app 1.yaml"}, Words{"-f=dir/app 1.yaml"},
                             Words{"--filename", "dir/app 1.yaml"}, Words{"--filename=dir/app 1.yaml"}}) {
    Words args = {"work", "create", "web"};
    args.insert(args.end(), words.begin(), words.end());
    const PodCommand command = given(args);
    EXPECT_EQ(command.files, (Files{{"0-app_1.yaml", "dir/app 1.yaml"}})) << words.front();
    EXPECT_TRUE(command.args.back().ends_with(there + "/0-app_1.yaml")) << command.args.back();
    EXPECT_EQ(command.args.size(), args.size());
  }
  const PodCommand input = given({"work", "create", "web", "-f", "-", "--kubeconfig", "c1.kubeconfig"});
  EXPECT_EQ(input.files, (Files{{"0-stdin", "-"}, {"1-c1.kubeconfig", "c1.kubeconfig"}}));
  EXPECT_EQ(given({"work", "create", "web", "-f", "https://example.com/a.yaml"}).files, Files()) << "the pod reads it itself";
  EXPECT_EQ(refused({"cel", "eval", "x", "-f", "-", "-f", "-"}), "standard input can be read only once");
}

TEST_F(PodCommandTest, AKubeconfigHasToStandAlone) {
  EXPECT_EQ(given({"get", "clusters", "--kubeconfig=c1.kubeconfig"}).kubeconfigs, (std::set<std::string>{"0-c1.kubeconfig"}));
  EXPECT_TRUE(
      stands_alone("users: [{name: u, user: {token: t, client-key-data: x}}]\n"
                   "clusters: [{name: c, cluster: {certificate-authority-data: x}}]\n",
                   "k"));
  for (const char* field : {"client-certificate: /a", "client-key: /a", "tokenFile: /a", "exec: {command: aws}"}) {
    const Status alone = stands_alone("users: [{name: u, user: {" + std::string(field) + "}}]\n", "k");
    ASSERT_FALSE(alone) << field;
    EXPECT_EQ(alone.error().category, Category::kUsage);
    EXPECT_NE(alone.error().message.find("k: user \"u\" has "), std::string::npos) << alone.error().message;
    EXPECT_NE(alone.error().hint.find("--flatten"), std::string::npos);
  }
  EXPECT_FALSE(stands_alone("clusters: [{name: c, cluster: {certificate-authority: /ca}}]\n", "k"));
  EXPECT_FALSE(stands_alone("{", "k"));
}

TEST_F(PodCommandTest, TheSameLetterMeansSomethingElseElsewhere) {
  const PodCommand command = given({"logs", "web-0", "-f", "--cluster", "c1"});
  EXPECT_TRUE(command.files.empty()) << "there it is --follow";
  EXPECT_EQ(given({"exec", "web-0", "--cluster", "c1", "--", "cat", "--kubeconfig", "x"}).files, Files())
      << "after -- nothing is a flag";
}

TEST_F(PodCommandTest, TokensAreInNoArgument) {
  const PodCommand command = given({"join", "--hub-token", "s3cret", "--cluster-name=c1", "--hub-token=again"});
  EXPECT_EQ(command.args, (Words{"join", "--hub-token", "$(IN_POD_0)", "--cluster-name=c1", "--hub-token=$(IN_POD_1)"}));
  EXPECT_EQ(command.variables, (Files{{"IN_POD_0", "s3cret"}, {"IN_POD_1", "again"}}));
}

TEST_F(PodCommandTest, WhatIsNoCommandIsSaidHere) {
  EXPECT_NE(refused({"gett", "clusters"}).find("\"gett\" does not begin a command"), std::string::npos);
  EXPECT_NE(refused({"--context", "x", "get", "clusters"}).find("does not begin a command"), std::string::npos);
  EXPECT_NE(refused({}).find("no command"), std::string::npos);
  EXPECT_EQ(refused({"in-pod", "--", "version"}), "in-pod does not run in a pod");
  EXPECT_EQ(refused({"sandbox", "up"}), "sandbox up does not run in a pod");
}

}  // namespace
}  // namespace fleetadm::commands
