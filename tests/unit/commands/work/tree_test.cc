#include "commands/work/tree.h"

#include <gtest/gtest.h>

namespace fleetadm::commands {
namespace {

using Paths = std::vector<std::vector<std::string>>;

work::ManifestProgress manifest(const std::string& name, std::string state) {
  work::ManifestProgress one;
  one.meta = {{"kind", "Deployment"}, {"namespace", "default"}, {"name", name}};
  one.state = std::move(state);
  return one;
}

TEST(WorkTree, ReasonsAreAtTheManifestsThatHaveThem) {
  work::WorkProgress progress;
  progress.cluster = "c1";
  progress.name = "web";
  progress.state = "NotAvailable";
  progress.blocking = work::Blocking{"Available", "False", "SomeNotAvailable", "", {}};
  progress.manifests = {manifest("a", "Available"), manifest("b", "NotAvailable")};
  progress.manifests.back().blocking = work::Blocking{"Available", "False", "ImagePullBackOff", "", {}};
  EXPECT_EQ(work_branches(progress),
            (Paths{{"c1", "web: NotAvailable", "Deployment default/a: Available"},
                   {"c1", "web: NotAvailable", "Deployment default/b: NotAvailable (ImagePullBackOff)"}}));
}

TEST(WorkTree, AWorkWithoutManifestsIsALeaf) {
  EXPECT_EQ(work_branches(work::missing_work("c1", "web", "why", std::nullopt)).size(), 1U);
  work::WorkProgress progress;
  progress.cluster = "c1";
  progress.name = "web";
  progress.state = "Pending";
  progress.blocking = work::Blocking{"Applied", "Unknown", "NotReported", "", {}};
  EXPECT_EQ(work_branches(progress), (Paths{{"c1", "web: Pending (NotReported)"}}));
}

}  // namespace
}  // namespace fleetadm::commands
