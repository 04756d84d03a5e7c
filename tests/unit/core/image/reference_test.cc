#include "core/image/reference.h"

#include <gtest/gtest.h>

namespace fleetadm::image {
namespace {

const std::string kSomeDigest = "sha256:" + std::string(64, 'a');

struct Row {
  std::string text;
  std::string registry;
  std::string repository;
  std::string tag;
  std::string familiar;
};

TEST(ReferenceTest, NamesAreReadAsContainerRuntimesReadThem) {
  for (const Row& row :
       {Row{"fleetadm:v1", "docker.io", "library/fleetadm", "v1", "fleetadm:v1"},
        Row{"team/fleetadm", "docker.io", "team/fleetadm", "", "team/fleetadm:latest"},
        Row{"docker.io/fleetadm", "docker.io", "library/fleetadm", "", "fleetadm:latest"},
        Row{"index.docker.io/a/b:2", "docker.io", "a/b", "2", "a/b:2"},
        Row{"localhost/fleetadm", "localhost", "fleetadm", "", "localhost/fleetadm:latest"},
        Row{"r.example.com:5000/a/b-c/d__e:1.0", "r.example.com:5000", "a/b-c/d__e", "1.0", "r.example.com:5000/a/b-c/d__e:1.0"},
        Row{"[::1]:5000/a:x", "[::1]:5000", "a", "x", "[::1]:5000/a:x"},
        Row{"r.example.com/a@" + kSomeDigest, "r.example.com", "a", "", "r.example.com/a@" + kSomeDigest},
        Row{"r.example.com/a:1@" + kSomeDigest, "r.example.com", "a", "1", "r.example.com/a:1"}}) {
    const auto reference = parse_reference(row.text);
    ASSERT_TRUE(reference) << row.text << ": " << reference.error().message;
    EXPECT_EQ(reference->registry, row.registry) << row.text;
    EXPECT_EQ(reference->repository, row.repository) << row.text;
    EXPECT_EQ(reference->tag, row.tag) << row.text;
    EXPECT_EQ(reference->familiar(), row.familiar) << row.text;
  }
}

TEST(ReferenceTest, WhatIsNoNameIsRefused) {
  const std::vector<std::string> wrong = {"",
                                          "/a",
                                          "a/",
                                          "A/b",
                                          "r.example.com/",
                                          "a//b",
                                          "a:",
                                          "a:b c",
                                          "-a",
                                          "a..b",
                                          "a___b",
                                          "a:-x",
                                          "a@sha256:1",
                                          "a@md5:" + std::string(64, 'a'),
                                          "r.ex:x/a",
                                          "r.ex:/a",
                                          "u@r.ex/a",
                                          "https://r.ex/a",
                                          "r.ex/a?b",
                                          "r.ex/../a",
                                          "a\nb",
                                          std::string(300, 'a')};
  for (const std::string& text : wrong) {
    const auto reference = parse_reference(text);
    ASSERT_FALSE(reference) << text;
    EXPECT_EQ(reference.error().category, Category::kUsage) << text;
  }
}

}  // namespace
}  // namespace fleetadm::image
