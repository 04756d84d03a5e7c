#include "cli/suggested.h"

#include <gtest/gtest.h>

#include "cli/app.h"

namespace fleetadm::cli {
namespace {

using commands::Target;

std::string completed(const std::string& text, Target target = Target::kHub) {
  static const commands::Registry kRegistry = full_registry();
  commands::GlobalOptions globals;
  globals.config.kubeconfig = "my config";
  globals.config.context = "staging";
  globals.config.ns = "apps";
  return complete_suggestions(text, kRegistry, globals, target);
}

TEST(SuggestedTest, CommandsCarryTheConnection) {
  EXPECT_EQ(completed("it is paused: fleetadm rollout resume web lets it begin"),
            "it is paused: fleetadm rollout resume --kubeconfig 'my config' --context staging -n apps web lets it begin");
  EXPECT_EQ(completed("\"fleetadm init\""), "\"fleetadm init --kubeconfig 'my config' --context staging\"");
  EXPECT_EQ(
      completed("fleetadm get clusters; fleetadm work status web"),
      "fleetadm get clusters --kubeconfig 'my config' --context staging; fleetadm work status --kubeconfig 'my config' --context "
      "staging -n apps web");
}

TEST(SuggestedTest, WhatIsGivenStays) {
  EXPECT_EQ(completed("fleetadm rollout status web --context prod --kubeconfig k -n other -w"),
            "fleetadm rollout status web --context prod --kubeconfig k -n other -w");
}

TEST(SuggestedTest, CommandsForAnotherClusterAreLeftAlone) {
  for (const char* text : {"fleetadm join --cluster-name c1", "fleetadm sandbox list", "fleetadm help errors",
                           "fleetadm nonsense", "what fleetadm does", "fleetadm "})
    EXPECT_EQ(completed(text), text);
  EXPECT_EQ(completed("now accept it: fleetadm accept c1", Target::kCluster), "now accept it: fleetadm accept c1");
  EXPECT_EQ(completed("fleetadm get clusters", Target::kSilent), "fleetadm get clusters");
}

TEST(SuggestedTest, ALineIsTypedAsAShellTakesIt) {
  EXPECT_EQ(typed_command({"work", "create", "it's", "-l", "env in (a,b)", "-f", "web.yaml", ""}),
            "fleetadm work create 'it'\\''s' -l 'env in (a,b)' -f web.yaml ''");
  EXPECT_EQ(typed_command({"join", "--hub-token", "s3cr3t"}), "");
  EXPECT_EQ(typed_command({"join", "--hub-token=s3cr3t"}), "");
  EXPECT_EQ(typed_command({"register", "hub:6443", "--token=s3cr3t"}), "");
  EXPECT_EQ(typed_command({"join", "--hub-token-file", "t"}), "fleetadm join --hub-token-file t");
}

}  // namespace
}  // namespace fleetadm::cli
