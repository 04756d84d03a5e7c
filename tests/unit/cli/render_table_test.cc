// Tables on a terminal, -o csv, -o tree, --columns and --sort-by of a column.
#include <gtest/gtest.h>

#include "cli/render/cells.h"
#include "cli/render/columns.h"
#include "cli/render/csv.h"
#include "cli/render/renderer.h"
#include "cli/render/sort.h"
#include "cli/render/table.h"
#include "cli/render/tree.h"

namespace fleetadm::cli {
namespace {

using commands::Report;
using commands::Table;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

Table fleet() {
  return {{{"NAME"}, {"AVAILABLE"}, {"MESSAGE"}},
          {{"cluster-in-frankfurt-production-17", "True", "all is well with this cluster, as far as is known"},
           {"c2", "Unknown", ""}},
          ""};
}

TEST(CellsTest, TheMiddleIsCut) {
  EXPECT_EQ(fit_cells_middle("abcdef", 6, "…"), "abcdef");
  EXPECT_EQ(fit_cells_middle("abcdefghij", 7, "…"), "abc…hij");
  EXPECT_EQ(fit_cells_middle("abcdefghij", 6, "…"), "abc…ij");
  EXPECT_EQ(fit_cells_middle("abcdefghij", 7, "..."), "ab...ij");
  EXPECT_EQ(fit_cells_middle("abcdefghij", 2, "…"), "a…");
  EXPECT_EQ(fit_cells_middle("日本語日本語", 6, "…"), "日…語");
  EXPECT_EQ(fit_cells_middle("abcde\u0301f", 3, "…"), "a…f");
  EXPECT_EQ(text_width("日本e\u0301"), 5U);
}

TEST(TableWidthTest, ALineIsNeverWiderThanItsRoom) {
  for (std::size_t room = 1; room <= 100; ++room) {
    const std::vector<std::string> lines = lines_of(TablePrinter(false, true).print(fleet(), room, "…"));
    ASSERT_EQ(lines.size(), 3U) << room;
    for (const std::string& line : lines) EXPECT_LE(text_width(line), room) << line;
  }
}

TEST(TableWidthTest, NamesAreCutInTheMiddleAndSentencesAtTheEnd) {
  EXPECT_EQ(TablePrinter(false, true).print(fleet(), 60, "…"),
            "NAME                     AVAILABLE   MESSAGE\n"
            "cluster-in-…duction-17   True        all is well with this …\n"
            "c2                       Unknown     \n")
      << "the widest columns are made equal";
}

TEST(TableWidthTest, WithoutARoomNothingIsCut) {
  const std::string text = TablePrinter(false, true).print(fleet());
  EXPECT_NE(text.find("cluster-in-frankfurt-production-17   True"), std::string::npos) << text;
  EXPECT_NE(text.find("as far as is known\n"), std::string::npos) << text;
  EXPECT_EQ(TablePrinter(false, true).print(fleet(), 300), text);
}

TEST(TableWidthTest, WideCharactersTakeTwoCells) {
  const Table table{{{"NAME"}, {"B"}}, {{"日本語", "x"}, {"abcdef", "y"}}, ""};
  EXPECT_EQ(TablePrinter(false, true).print(table), "NAME     B\n日本語   x\nabcdef   y\n");
}

TEST(ColumnsTest, AreChosenAndOrdered) {
  Table table{{{"NAME"}, {"BOUND NAMESPACES"}, {"NODE", true}}, {{"a", "b", "c"}, {"d"}}, ""};
  ASSERT_TRUE(choose_columns(table, {"node", "bound-namespaces"}));
  EXPECT_EQ(TablePrinter(false, true).print(table), "NODE   BOUND NAMESPACES\nc      b\n       \n");
  const Status unknown = choose_columns(table, {"nod"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().category, Category::kUsage);
  EXPECT_EQ(unknown.error().hint, "did you mean node?");
  EXPECT_EQ(choose_columns(table, {"xyzzy"}).error().hint, "the columns are node,bound-namespaces");
}

TEST(CsvTest, FieldsAreQuotedWhereTheyMustBe) {
  const Table table{{{"NAME"}, {"NOTE", true}}, {{"a,b", "say \"x\""}, {"line\nbreak", "=1+1"}, {"c"}}, ""};
  EXPECT_EQ(csv_of(table, true), "NAME,NOTE\n\"a,b\",\"say \"\"x\"\"\"\n\"line\nbreak\",=1+1\nc,\n");
  EXPECT_EQ(csv_of({{{"A"}}, {{"x"}}, ""}, false), "x\n");
}

TEST(CsvTest, HasOneHeaderAWatch) {
  std::string out;
  Renderer renderer(
      *parse_format("csv"), {}, [&](std::string_view text) { out += text; }, [](std::string_view) {});
  Report report;
  report.table = Table{{{"A"}}, {{"x"}}, ""};
  report.event = Report::Event::kAdded;
  ASSERT_TRUE(renderer.print(report));
  ASSERT_TRUE(renderer.print(report));
  EXPECT_EQ(out, "A,EVENT\nx,ADDED\nx,ADDED\n");
  EXPECT_FALSE(renderer.prints_objects());
}

TEST(CsvTest, ItIsSaidThatThereIsNoTable) {
  std::string out;
  std::string err;
  Renderer renderer(
      *parse_format("csv"), {}, [&](std::string_view text) { out += text; }, [&](std::string_view text) { err += text; });
  Report report;
  report.lines = {"cluster c1 accepted"};
  ASSERT_TRUE(renderer.print(report));
  EXPECT_EQ(out, "");
  EXPECT_EQ(err, "This command has no table, and -o csv prints nothing else.\n");
}

TEST(TreeTest, PathsThatBeginAlikeShareBranches) {
  const std::vector<std::vector<std::string>> paths = {{"s1", "c1"}, {"s2", "c2", "w"}, {"s1", "c3\x1b[2J"}, {"s2", "c4"}};
  EXPECT_EQ(tree_of(paths, true), "s1\n├── c1\n└── c3\\x1b[2J\ns2\n├── c2\n│   └── w\n└── c4\n");
  EXPECT_EQ(tree_of(paths, false), "s1\n|-- c1\n`-- c3\\x1b[2J\ns2\n|-- c2\n|   `-- w\n`-- c4\n");
}

std::string sorted_by(std::string_view column, Table table) {
  Report report;
  report.table = std::move(table);
  if (!sort_by_column(report, column)) return "no column";
  std::string order;
  for (const auto& row : report.table->rows) order += row.front() + " ";
  return order;
}

TEST(SortByColumnTest, AgesNumbersAndNames) {
  const Table table{{{"NAME"}, {"AGE"}, {"MEMORY"}}, {{"c10", "3d", "2Gi"}, {"c2", "5m", "500Mi"}, {"c1", "2h5m", "<none>"}}, ""};
  EXPECT_EQ(sorted_by("name", table), "c1 c2 c10 ");
  EXPECT_EQ(sorted_by("AGE", table), "c2 c1 c10 ");
  EXPECT_EQ(sorted_by("memory", table), "c1 c2 c10 ");
  EXPECT_EQ(sorted_by("nope", table), "no column");
}

}  // namespace
}  // namespace fleetadm::cli
