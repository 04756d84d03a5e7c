#include "core/image/image.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/image/archive.h"
#include "core/image/digest.h"
#include "core/image/elf.h"
#include "core/image/program_image.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/core/image/archive_reader.h"

namespace fleetadm::image {
namespace {

using testkit::TemporaryFolder;

PlatformImage small_image(const std::string& architecture, const std::string& content = "binary") {
  auto image = make_program_image({content, architecture, {}, "-----BEGIN CERTIFICATE-----\n"});
  EXPECT_TRUE(image) << image.error().message;
  return std::move(*image);
}

std::string archive_of(const Image& image, const std::string& name, ArchiveFormat format) {
  std::string out;
  EXPECT_TRUE(write_archive(image, *parse_reference(name), format, [&](std::string_view piece) -> Status {
    out += piece;
    return {};
  }));
  return out;
}

Json parsed(const std::string& text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Json();
}

TEST(DigestTest, AreSha256) {
  EXPECT_EQ(digest_of(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_TRUE(is_digest(digest_of("x")));
  EXPECT_FALSE(is_digest("sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"));
  EXPECT_FALSE(is_digest("sha256:00"));
}

TEST(ImageTest, TheSameFilesGiveTheSameDigest) {
  EXPECT_EQ(small_image("amd64").manifest.digest, small_image("amd64").manifest.digest);
  EXPECT_NE(small_image("amd64").manifest.digest, small_image("amd64", "another").manifest.digest);
  // The lower layer does not change with the binary.
  EXPECT_EQ(small_image("amd64").layers[0].blob.digest, small_image("amd64", "another").layers[0].blob.digest);
}

TEST(ImageTest, DescriptorsSayWhatBlobsAre) {
  const PlatformImage image = small_image("arm64");
  const Json manifest = parsed(image.manifest.content);
  EXPECT_EQ(image.manifest.digest, digest_of(image.manifest.content));
  EXPECT_EQ(str(manifest, {"config", "digest"}), digest_of(image.config.content));
  EXPECT_EQ(num(manifest, {"config", "size"}), static_cast<std::int64_t>(image.config.content.size()));
  const Json config = parsed(image.config.content);
  EXPECT_EQ(str(config, {"architecture"}), "arm64");
  EXPECT_EQ(str(config, {"config", "User"}), "65532:65532");
  ASSERT_EQ(list_at(manifest, {"layers"}).size(), 2U);
  for (std::size_t at = 0; at < 2; ++at) {
    const TemporaryFolder folder("layer");
    const std::string archive = output_of("gzip -dc " + folder.write("layer.gz", image.layers[at].blob.content));
    EXPECT_EQ(str(list_at(manifest, {"layers"})[at], {"digest"}), digest_of(image.layers[at].blob.content));
    EXPECT_EQ(list_at(config, {"rootfs", "diff_ids"})[at], digest_of(archive));
  }
}

TEST(ImageTest, SeveralPlatformsHaveAnIndex) {
  const Image one = make_image({small_image("amd64")});
  EXPECT_EQ(one.top().media_type, "application/vnd.oci.image.manifest.v1+json");
  const Image both = make_image({small_image("arm64"), small_image("amd64")});
  ASSERT_TRUE(both.index);
  const Json index = parsed(both.index->content);
  const Json& manifests = list_at(index, {"manifests"});
  ASSERT_EQ(manifests.size(), 2U);
  EXPECT_EQ(str(manifests[0], {"platform", "architecture"}), "amd64");
  EXPECT_EQ(str(manifests[0], {"digest"}), one.top().digest);
  EXPECT_EQ(str(manifests[1], {"platform", "architecture"}), "arm64");
}

TEST(ArchiveTest, ALayoutHoldsEveryBlobUnderItsDigest) {
  const Image image = make_image({small_image("amd64"), small_image("arm64")});
  const TemporaryFolder folder("layout");
  const std::string at = folder.path().string();
  EXPECT_EQ(
      output_of("tar -C " + at + " -xf " + folder.write("a.tar", archive_of(image, "r.example.com/f:1", ArchiveFormat::kOci))),
      "");
  EXPECT_EQ(
      output_of("cd " + at +
                "/blobs/sha256 && for f in *; do echo $f' '$f; done | sed 's/ /  /' >../sums && sha256sum --quiet -c ../sums"),
      "");
  EXPECT_EQ(content_of(at + "/oci-layout"), R"({"imageLayoutVersion":"1.0.0"})");
  const Json index = parsed(content_of(at + "/index.json"));
  const Json& top = list_at(index, {"manifests"}).front();
  EXPECT_EQ(str(top, {"digest"}), image.top().digest);
  EXPECT_EQ(str(top, {"annotations", "io.containerd.image.name"}), "r.example.com/f:1");
  EXPECT_FALSE(std::filesystem::exists(at + "/manifest.json"));
}

TEST(ArchiveTest, DockersListNamesConfigurationAndLayers) {
  const Image image = make_image({small_image("amd64")});
  const TemporaryFolder folder("docker");
  const std::string at = folder.path().string();
  EXPECT_EQ(output_of("tar -C " + at + " -xf " + folder.write("a.tar", archive_of(image, "fleetadm:1", ArchiveFormat::kDocker))),
            "");
  const Json list = parsed(content_of(at + "/manifest.json"));
  EXPECT_EQ(list[0]["RepoTags"], Json::array({"fleetadm:1"}));
  EXPECT_EQ(digest_of(content_of(at + "/" + str(list[0], {"Config"}))), image.platforms[0].config.digest);
  ASSERT_EQ(list_at(list[0], {"Layers"}).size(), 2U);
  EXPECT_EQ(digest_of(content_of(at + "/" + list[0]["Layers"][1].get<std::string>())), image.platforms[0].layers[1].blob.digest);
}

TEST(ArchiveTest, DockersFormatHoldsOnePlatform) {
  const Image image = make_image({small_image("amd64"), small_image("arm64")});
  const auto written =
      write_archive(image, *parse_reference("f:1"), ArchiveFormat::kDocker, [](std::string_view) -> Status { return {}; });
  EXPECT_EQ(written.error().category, Category::kUsage);
}

TEST(ElfTest, ThisProgramIsOneForThisProcessor) {
  const std::string self = content_of("/proc/self/exe");
  const auto executable = read_executable(self);
  ASSERT_TRUE(executable) << executable.error().message;
  EXPECT_EQ(executable->architecture, own_architecture());
  // Tests for another processor are linked statically (tests/release/arm64).
  EXPECT_EQ(executable->interpreter.find("ld-linux") != std::string::npos, !loaded_libraries().empty());
  // However much of it is there, nothing is read beyond.
  for (std::size_t size : {0U, 3U, 4U, 63U, 64U, 65U, 119U, 500U}) {
    const auto part = read_executable(std::string_view(self).substr(0, size));
    EXPECT_FALSE(part) << size;
  }
  std::string odd = self.substr(0, 4096);
  for (std::size_t at = 0; at < 512; ++at) {
    std::string broken = odd;
    broken[at] = static_cast<char>(~broken[at]);
    (void)read_executable(broken);
  }
}

TEST(ElfTest, WhatIsNoExecutableIsRefused) {
  EXPECT_EQ(read_executable("#!/bin/sh\n").error().category, Category::kInvalid);
  EXPECT_EQ(read_executable(content_of("/bin/true").substr(0, 16) + std::string(200, '\0')).error().category, Category::kInvalid);
}

// The image of this very test runs in a root folder of its own: nothing that it needs is left out.
TEST(ProgramImageTest, TheImageOfThisProgramRuns) {
  FLEETADM_NEEDS_NO_SANITIZER();  // they need /proc, which that folder does not have
  const auto image = make_program_image({content_of("/proc/self/exe"), own_architecture(), loaded_libraries(), {}});
  ASSERT_TRUE(image) << image.error().message;
  const TemporaryFolder folder("root");
  const std::string root = folder.path().string() + "/root";
  std::filesystem::create_directory(root);
  std::string entries;
  for (const Layer& layer : image->layers) {
    const std::string file = folder.write("layer", layer.blob.content);
    entries += output_of("tar --numeric-owner -tvzf " + file + " | awk '{ print $1, $2, $6 }'");
    ASSERT_EQ(output_of("tar -C " + root + " -xzf " + file), "");
  }
  for (const char* entry :
       {"drwxrwxrwt 0/0 tmp/\n", "drwxr-x--- 65532/65532 home/fleetadm/\n", "-rwxr-xr-x 0/0 usr/bin/fleetadm\n"})
    EXPECT_NE(entries.find(entry), std::string::npos) << entry << entries;
  // Whoever is not root is so in a namespace of their own.
  const std::string enter =
      ::geteuid() == 0 ? "/usr/sbin/chroot --userspec=65532:65532 " : "/usr/bin/unshare --map-root-user /usr/sbin/chroot ";
  const std::string listed =
      output_of("env -i " + enter + root + " /usr/bin/fleetadm --gtest_list_tests --gtest_filter='ElfTest.*'");
  EXPECT_NE(listed.find("WhatIsNoExecutableIsRefused"), std::string::npos) << listed;
}

}  // namespace
}  // namespace fleetadm::image
