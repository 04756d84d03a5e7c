#include "commands/proxy/line_editor.h"

#include <gtest/gtest.h>

namespace fleetadm::commands {
namespace {

class LineEditing : public testing::Test {
 protected:
  /// The line after these keys.
  std::string type(const std::string& keys) {
    for (const char key : keys) last = editor.key(key);
    return editor.line();
  }
  std::string enter(const std::string& keys) {
    type(keys + "\r");
    EXPECT_EQ(last, LineEditor::Outcome::kLine);
    return editor.take();
  }
  std::vector<std::string> history;
  std::vector<std::string> words;
  LineEditor editor{history, [this](const std::string&) { return words; }};
  LineEditor::Outcome last = LineEditor::Outcome::kMore;
};

TEST_F(LineEditing, KeysMoveAndErase) {
  EXPECT_EQ(type("get pods"), "get pods");
  EXPECT_EQ(type("\x7f\x7f"), "get po");
  EXPECT_EQ(type("\x1b[D\x1b[DX"), "get Xpo");
  EXPECT_EQ(editor.behind_cursor(), 2U);
  EXPECT_EQ(type("\x01<\x05>"), "<get Xpo>");
  EXPECT_EQ(type("\x17"), "<get ");
  EXPECT_EQ(type("\x1b[H\x1b[3~"), "get ");
  EXPECT_EQ(type("\x05\x15"), "");
  EXPECT_EQ(type("abc\x01\x0b"), "");
}

TEST_F(LineEditing, CharactersAreErasedAsAWhole) {
  EXPECT_EQ(type("a\xc3\xa4\x7f"), "a");
  EXPECT_EQ(type("\xe2\x82\xac\x1b[D"), "a\xe2\x82\xac");
  EXPECT_EQ(editor.behind_cursor(), 1U);
  EXPECT_EQ(type("b"), "ab\xe2\x82\xac");
}

TEST_F(LineEditing, HistoryKeepsEachLineOnceAndTheOneThatIsTyped) {
  EXPECT_EQ(enter("one"), "one");
  EXPECT_EQ(enter("two"), "two");
  EXPECT_EQ(enter("two"), "two");
  EXPECT_EQ(enter(""), "");
  EXPECT_EQ(history, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(type("new\x1b[A"), "two");
  EXPECT_EQ(type("\x1b[A\x1b[A\x1b[A"), "one");
  EXPECT_EQ(type("\x1b[B\x1b[B\x1b[B"), "new");
}

TEST_F(LineEditing, CompletesAsFarAsItIsClear) {
  words = {"get", "describe", "delete"};
  EXPECT_EQ(type("g\t"), "get ");
  EXPECT_TRUE(editor.take_candidates().empty());
  type("\x15");
  EXPECT_EQ(type("d\t"), "de");
  EXPECT_EQ(editor.take_candidates(), (std::vector<std::string>{"describe", "delete"}));
  EXPECT_TRUE(editor.take_candidates().empty()) << "they are shown once";
  type("\x15");
  EXPECT_EQ(type("x\t"), "x");
}

TEST_F(LineEditing, EndsOnAnEmptyLineAlone) {
  type("a\x04");
  EXPECT_EQ(last, LineEditor::Outcome::kMore);
  type("\x03\x04");
  EXPECT_EQ(last, LineEditor::Outcome::kEnd);
}

TEST_F(LineEditing, UnknownSequencesAndControlsAreNotText) { EXPECT_EQ(type("\x1b[1;5Ca\x1b[200~b\x02\x1f"), "ab"); }

}  // namespace
}  // namespace fleetadm::commands
