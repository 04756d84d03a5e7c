// The comparison itself: it hides what must differ, and nothing else.
#include "tests/kubectl/normal_form.h"

#include <gtest/gtest.h>

namespace fleetadm::kubectl {
namespace {

TEST(KubectlNormalForm, HidesWhatTwoServersCannotShare) {
  EXPECT_EQ(normal_form("web-5d4f8c7b9d-x2x4z   1/1   Running   0   13s\n", ""), "web-HASH-RANDOM  1/1  Running  0  AGE\n");
  EXPECT_EQ(normal_form("web-xxxxxxxxx   2   119s", ""), normal_form("web-6d4cf56db6        2   2m3s", ""));
  EXPECT_EQ(normal_form("  uid: 0f4a9a2e-9d3c-4f5b-8a5e-5f1f0f4c0d11\n  resourceVersion: \"42\"\n", ""),
            "  uid: UID\n  resourceVersion: \"VERSION\"\n");
  EXPECT_EQ(normal_form("at 2026-01-02T03:04:05Z from https://127.0.0.1:31337/api", ""), "at TIME from https://SERVER/api");
  EXPECT_EQ(normal_form("Fri, 02 Jan 2026 03:04:05 +0000", ""), "TIME");
  EXPECT_EQ(normal_form("--- /tmp/a/LIVE-12/v1.ConfigMap.x.y\t2026-01-02 03:04:05.123456789 +0000", "/tmp/a"),
            "--- FOLDER/LIVE-N/v1.ConfigMap.x.y\tTIME");
  EXPECT_EQ(normal_form("80:31234/TCP on 10.0.0.17", ""), "80:PORT/TCP on ADDRESS");
  EXPECT_EQ(normal_form("30000/TCP 32767/UDP 32700/TCP 32699/TCP", ""), "PORT/TCP PORT/UDP PORT/TCP PORT/TCP");
  // A server's own port, of those that a system gives away.
  EXPECT_EQ(normal_form("TargetPort: 32768/TCP, nodePort: 32768", ""), "TargetPort: 32768/TCP, nodePort: 32768");
  EXPECT_EQ(normal_form("TargetPort: 29999/TCP", ""), "TargetPort: 29999/TCP");
  EXPECT_EQ(normal_form("eyJhbGciOi.eyJhdWQi.c2lnbmF0dXJl", ""), "TOKEN");
}

TEST(KubectlNormalForm, KeepsEverythingElse) {
  for (const char* text : {"web-frontend 3/3 Running", "replicas: 10", "  cpu: 100m\n    memory: 64Mi",
                           "Error from server (NotFound): pods \"a\" not found", "generation: 2", "image: example.com/web:1",
                           "containerPort: 8080", "10h", "rolebinding.rbac.authorization.k8s.io/reader"})
    EXPECT_EQ(normal_form(text, "/nowhere"), text);
}

TEST(KubectlNormalForm, TellsWhereTextsDiffer) {
  EXPECT_EQ(differences("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\nx\nf\n"), "  …\n  c\n  d\n- e\n+ x\n  f\n");
  EXPECT_EQ(differences("same\n", "same\n"), "");
  EXPECT_EQ(without("a\n  note: x\nb\n", {"notes", {"(?m)^  note: .*\n"}, "why"}), "a\nb\n");
  EXPECT_EQ(without("a b c", {"word", {"(a) b"}, "why"}), "a c");
  EXPECT_EQ(sorted_lines("b\na\n"), "a\nb\n");
}

TEST(KubectlScripts, AreReadAsTheyAreWritten) {
  std::string problem;
  const auto groups = parse_groups(
      "GROUP one alone\nFILE x.yaml\na: 1\n\nb: 2\nEND\n# why\nRUN kubectl get x \\\n  -o name\n  EXIT 1\n  UNTIL y z\n  "
      "SORTED\n  BUT q\n"
      "GROUP two\nRUN true\n",
      "x.case", problem);
  EXPECT_EQ(problem, "");
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_TRUE(groups[0].alone && !groups[1].alone);
  ASSERT_EQ(groups[0].files.size(), 1U);
  EXPECT_EQ(groups[0].files[0].second, "a: 1\n\nb: 2\n");
  ASSERT_EQ(groups[0].steps.size(), 1U);
  const auto& step = groups[0].steps[0];
  EXPECT_EQ(step.run, "kubectl get x \\\n  -o name");
  EXPECT_EQ(step.exit_code, 1);
  EXPECT_EQ(step.shows, "y z");
  EXPECT_TRUE(step.until && step.sorted);
  EXPECT_EQ(step.but, std::vector<std::string>{"q"});
  EXPECT_EQ(step.source, "x.case:8");
}

TEST(KubectlScripts, AreRefusedWhereTheyAreWrong) {
  std::string problem;
  parse_groups("GROUP a\nRUNN x\n", "x.case", problem);
  EXPECT_NE(problem.find("x.case:2: unknown word RUNN"), std::string::npos) << problem;
  EXPECT_NE(problem.find("no steps"), std::string::npos) << problem;
  problem.clear();
  parse_deviations("NAME a\nDROPS x\n", problem);
  EXPECT_NE(problem.find("needs DROPS and REASON"), std::string::npos) << problem;
}

}  // namespace
}  // namespace fleetadm::kubectl
