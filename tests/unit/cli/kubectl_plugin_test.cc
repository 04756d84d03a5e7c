#include "cli/kubectl_plugin.h"

#include <gtest/gtest.h>

#include "cli/app.h"
#include "cli/help.h"

namespace fleetadm::cli {
namespace {

TEST(KubectlPluginTest, TheNameOfTheFileDecides) {
  EXPECT_EQ(called_as("fleetadm"), CalledAs::kProgram);
  EXPECT_EQ(called_as("/usr/local/bin/fleetadm"), CalledAs::kProgram);
  EXPECT_EQ(called_as("/home/a/.krew/bin/kubectl-fleetadm"), CalledAs::kKubectlPlugin);
  EXPECT_EQ(called_as("kubectl_complete-fleetadm"), CalledAs::kKubectlCompletion);
  EXPECT_EQ(called_as(""), CalledAs::kProgram);
}

TEST(KubectlPluginTest, CommandsAreNamedAsTheyAreTyped) {
  const commands::Registry registry = full_registry();
  const auto said = [&](const char* text) { return with_kubectl(text, registry); };
  EXPECT_EQ(said("Usage:\n  fleetadm get clusters [flags]\n"), "Usage:\n  kubectl fleetadm get clusters [flags]\n");
  EXPECT_EQ(said("run \"fleetadm get token\" | fleetadm join"), "run \"kubectl fleetadm get token\" | kubectl fleetadm join");
  EXPECT_EQ(said("`fleetadm hub run`, (fleetadm help TOPIC)"), "`kubectl fleetadm hub run`, (kubectl fleetadm help TOPIC)");
  EXPECT_EQ(said("fleetadm COMMAND [flags]"), "kubectl fleetadm COMMAND [flags]");
  EXPECT_EQ(said("kubectl fleetadm init"), "kubectl fleetadm init");
  for (const char* prose :
       {"fleetadm turns many clusters into one fleet", "the image fleetadm:v1", "a fleetadm binary", "my-fleetadm init"})
    EXPECT_EQ(said(prose), prose);
}

TEST(KubectlPluginTest, NoUsageLineIsLeftOut) {
  const commands::Registry registry = full_registry();
  for (const commands::Command& command : registry.commands()) {
    if (command.hidden) continue;
    EXPECT_EQ(with_kubectl(usage_line(command), registry), "kubectl " + usage_line(command));
  }
}

TEST(KubectlPluginTest, CompletionsEndInFlagsOfDirectives) {
  EXPECT_EQ(completion_for_kubectl("get\tList\n:none\n"), "get\tList\n:4\n");
  EXPECT_EQ(completion_for_kubectl("--output=\n:nospace\n"), "--output=\n:6\n");
  EXPECT_EQ(completion_for_kubectl(":files\n"), ":0\n");
  EXPECT_EQ(completion_for_kubectl(":folders\n"), ":16\n");
}

}  // namespace
}  // namespace fleetadm::cli
