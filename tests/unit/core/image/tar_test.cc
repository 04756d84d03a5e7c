#include "core/image/tar.h"

#include <gtest/gtest.h>

#include "core/image/file_tree.h"
#include "tests/unit/core/image/archive_reader.h"

namespace fleetadm::image {
namespace {

Sink into(std::string& out) {
  return [&out](std::string_view piece) -> Status {
    out += piece;
    return {};
  };
}

TEST(TarTest, TarReadsWhatIsWritten) {
  std::string archive;
  TarWriter tar(into(archive));
  ASSERT_TRUE(tar.add({"etc", TarEntry::Kind::kFolder, 01777, 0, {}}));
  ASSERT_TRUE(tar.add({"etc/hosts", TarEntry::Kind::kFile, 0640, 65532, {}}, std::string(513, 'x')));
  ASSERT_TRUE(tar.add({"etc/link", TarEntry::Kind::kLink, 0777, 0, "../usr"}));
  ASSERT_TRUE(tar.finish());
  EXPECT_EQ(archive.size() % 512, 0U);
  EXPECT_EQ(listing_of(archive),
            "drwxrwxrwt 0/0               0 1970-01-01 00:00 etc/\n"
            "-rw-r----- 65532/65532     513 1970-01-01 00:00 etc/hosts\n"
            "lrwxrwxrwx 0/0               0 1970-01-01 00:00 etc/link -> ../usr\n");
}

TEST(TarTest, LongPathsAreSplitAtASlash) {
  const std::string folder(120, 'd');
  const std::string path = folder + "/" + std::string(99, 'f');
  std::string archive;
  TarWriter tar(into(archive));
  ASSERT_TRUE(tar.add({path}, "content"));
  ASSERT_TRUE(tar.finish());
  EXPECT_NE(listing_of(archive).find(" " + path + "\n"), std::string::npos);
}

TEST(TarTest, APathThatDoesNotFitIsRefused) {
  std::string archive;
  TarWriter tar(into(archive));
  EXPECT_EQ(tar.add({std::string(101, 'f')}).error().category, Category::kInvalid);
  EXPECT_EQ(tar.add({std::string(160, 'd') + "/" + std::string(99, 'f')}).error().category, Category::kInvalid);
  EXPECT_EQ(tar.add({"link", TarEntry::Kind::kLink, 0777, 0, std::string(101, 't')}).error().category, Category::kInvalid);
  EXPECT_TRUE(archive.empty());
}

TEST(TarTest, AnErrorOfTheSinkEndsIt) {
  TarWriter tar([](std::string_view) -> Status { return fail(Category::kUsage, "the disk is full"); });
  EXPECT_EQ(tar.add({"file"}, "content").error().message, "the disk is full");
}

TEST(FileTreeTest, FoldersStandBeforeWhatIsInThem) {
  FileTree files;
  files.add_file("usr/lib/a/b", "1");
  files.add_file("usr-local", "2");
  files.add_folder("tmp", 01777);
  std::string archive;
  ASSERT_TRUE(files.write(into(archive)));
  const std::string listing = listing_of(archive);
  std::size_t last = 0;
  for (const char* path : {" tmp/\n", " usr/\n", " usr/lib/\n", " usr/lib/a/\n", " usr/lib/a/b\n"}) {
    const std::size_t at = listing.find(path);
    ASSERT_NE(at, std::string::npos) << path << listing;
    EXPECT_GE(at, last) << path;
    last = at;
  }
}

TEST(FileTreeTest, ACopyBringsEveryLinkOnTheWay) {
  const testkit::TemporaryFolder folder("tree");
  const auto root = std::filesystem::canonical(folder.path());
  std::filesystem::create_directories(root / "usr/lib");
  std::filesystem::create_directory_symlink("usr/lib", root / "lib");
  folder.write("usr/lib/libz.so.1.2", "code");
  std::filesystem::create_symlink("libz.so.1.2", root / "usr/lib/libz.so.1");
  std::filesystem::create_symlink((root / "lib/libz.so.1").string(), root / "usr/lib/libz.so");
  FileTree files;
  ASSERT_TRUE(files.copy((root / "lib/libz.so").string()));
  std::string archive;
  ASSERT_TRUE(files.write(into(archive)));
  const testkit::TemporaryFolder unpacked("unpacked");
  EXPECT_EQ(output_of("tar -C " + unpacked.path().string() + " -xf " + unpacked.write("a.tar", archive)), "");
  const std::string copy = unpacked.path().string() + root.string();
  EXPECT_EQ(std::filesystem::read_symlink(copy + "/lib"), "usr/lib");
  EXPECT_EQ(std::filesystem::read_symlink(copy + "/usr/lib/libz.so.1"), "libz.so.1.2");
  EXPECT_EQ(std::filesystem::read_symlink(copy + "/usr/lib/libz.so"), root / "lib/libz.so.1");
  EXPECT_EQ(content_of(copy + "/usr/lib/libz.so.1.2"), "code");
}

TEST(FileTreeTest, ALinkInACircleIsRefused) {
  const testkit::TemporaryFolder folder("tree");
  std::filesystem::create_symlink("b", folder.path() / "a");
  std::filesystem::create_symlink("a", folder.path() / "b");
  FileTree files;
  EXPECT_EQ(files.copy((folder.path() / "a").string()).error().category, Category::kUsage);
  EXPECT_EQ(files.copy((folder.path() / "none").string()).error().category, Category::kNotFound);
}

}  // namespace
}  // namespace fleetadm::image
