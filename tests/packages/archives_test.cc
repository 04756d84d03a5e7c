// The tarball, the Debian package, krew's manifest and the script that installs, of the binary under test.
#include <gtest/gtest.h>

#include "tests/packages/shell.h"

namespace fleetadm::packages_suite {
namespace {

using testkit::Ran;

const std::string kVersion = std::string(FLEETADM_VERSION).substr(1);
const std::string kName = "fleetadm_" + kVersion + "_linux_amd64";

class ArchivesTest : public ::testing::Test {
 protected:
  Ran run(const std::string& line) { return shell(folder_, line); }
  void expect(const std::string& line, const std::string& said = {}) {
    const Ran ran = run(line);
    EXPECT_EQ(ran.code, 0) << line << "\n" << ran.both();
    EXPECT_NE(ran.out.find(said), std::string::npos) << line << "\n" << ran.both();
  }
  /// A small program in the place of the binary, and its release in the folder `out`.
  void small_release() {
    folder_.write("fleetadm", "#!/bin/sh\necho fleetadm v" + kVersion + "\n");
    folder_.write("notices", "notices of libraries\n");
    expect("chmod +x fleetadm; " + script("packaging/archives") +
           " amd64 fleetadm out notices; cd out; sha256sum -- * >SHA256SUMS; sed 's/@VERSION@/" + kVersion + "/; s/@URL@//' " +
           script("packaging/install.sh") + " >install.sh");
  }
  testkit::TemporaryFolder folder_{"archives"};
};

// By the names under which the package and the script link it.
TEST_F(ArchivesTest, TheBinaryIsKubectlsPluginToo) {
  expect("for name in fleetadm kubectl-fleetadm kubectl_complete-fleetadm; do ln -s '" + testkit::Fleet::binary() +
         "' $name; done");
  expect("./kubectl-fleetadm get clusters --help", "\n  kubectl fleetadm get clusters");
  expect("./kubectl-fleetadm help placement", "kubectl fleetadm placement COMMAND [flags]");
  expect("! ./kubectl-fleetadm get nonsense 2>&1", "kubectl fleetadm");
  expect("./kubectl_complete-fleetadm imag", "image");
  expect("./kubectl_complete-fleetadm imag | tail -n 1", ":4\n");
  expect("./fleetadm get clusters --help", "\n  fleetadm get clusters");
}

TEST_F(ArchivesTest, HoldManPagesCompletionsAndNotices) {
  small_release();
  expect("tar -tzvf out/" + kName + ".tar.gz", "man/man1/fleetadm.1");
  expect("tar -tzvf out/" + kName + ".tar.gz | grep -v '^[-d][-rwx]* 0/0 ' | wc -l", "0\n");
  expect("tar -xzOf out/" + kName + ".tar.gz " + kName + "/THIRD-PARTY-NOTICES", "notices of libraries");
  expect("dpkg-deb -I out/*.deb", "Architecture: amd64");
  const Ran listed = run("dpkg-deb -c out/*.deb");
  for (const char* path :
       {"./usr/bin/fleetadm\n", "./usr/bin/kubectl-fleetadm -> fleetadm", "./usr/share/man/man1/fleetadm-init.1.gz",
        "./usr/share/bash-completion/completions/fleetadm", "./usr/share/zsh/vendor-completions/_fleetadm",
        "./usr/share/fish/vendor_completions.d/fleetadm.fish", "./usr/share/doc/fleetadm/copyright"})
    EXPECT_NE(listed.out.find(path), std::string::npos) << path << "\n" << listed.out;
  expect("dpkg-deb -x out/*.deb root; cd root; mkdir c; dpkg-deb -e ../out/*.deb c; md5sum -c --quiet c/md5sums");
}

TEST_F(ArchivesTest, AreTheSameForTheSameBinary) {
  small_release();
  expect("sleep 1; touch fleetadm; umask 077; SOURCE_DATE_EPOCH=$(git -C " + script("") + " log -1 --format=%ct) " +
         script("packaging/archives") +
         " amd64 fleetadm again notices; cmp out/*.deb again/*.deb; cmp out/*.tar.gz again/*.tar.gz");
}

TEST_F(ArchivesTest, TheScriptInstallsWhatTheChecksumsName) {
  small_release();
  const std::string install = "sh out/install.sh --from out --prefix \"$PWD/to\" --kubectl";
  expect(install, "fleetadm v" + kVersion + " installed in ");
  expect("to/bin/kubectl-fleetadm; test -s to/share/man/man1/fleetadm.1 -a -s to/share/bash-completion/completions/fleetadm");
  expect(install);  // over itself
}

TEST_F(ArchivesTest, TheScriptInstallsNothingElse) {
  small_release();
  const auto refuses = [&](const std::string& spoil, const std::string& said) {
    const Ran ran = run("rm -rf bad to; cp -r out bad; " + spoil + "; sh bad/install.sh --from bad --prefix \"$PWD/to\"");
    EXPECT_EQ(ran.code, 1) << ran.both();
    EXPECT_NE(ran.err.find(said), std::string::npos) << ran.both();
    EXPECT_EQ(run("ls to").code, 2) << spoil;
  };
  refuses("echo >>bad/" + kName + ".tar.gz", "is not what SHA256SUMS says; nothing was installed");
  refuses("sed -i /tar.gz/d bad/SHA256SUMS", "does not name");
  refuses("cat bad/SHA256SUMS >>bad/SHA256SUMS.2; cat bad/SHA256SUMS.2 >>bad/SHA256SUMS", "once");
  refuses("rm bad/SHA256SUMS", "cannot fetch SHA256SUMS");
  const Ran plain = run("sh out/install.sh --from http://127.0.0.1:1 --prefix \"$PWD/to\"");
  EXPECT_NE(plain.err.find("https only"), std::string::npos) << plain.both();
}

TEST_F(ArchivesTest, KrewsManifestNamesTheTarball) {
  small_release();
  expect(script("packaging/krew") +
         " https://example.com/v1/ out >krew.yaml; "
         "grep -qx '    uri: https://example.com/v1/" +
         kName +
         ".tar.gz' krew.yaml; "
         "grep -qx \"    sha256: $(sha256sum out/" +
         kName +
         ".tar.gz | cut -d' ' -f1)\" krew.yaml; "
         "tar -tzf out/" +
         kName + ".tar.gz \"$(sed -n 's/.*from: //p' krew.yaml)\"");
}

}  // namespace
}  // namespace fleetadm::packages_suite
