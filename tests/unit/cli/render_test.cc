#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>

#include "cli/render/errors.h"
#include "cli/render/renderer.h"
#include "cli/render/sort.h"

namespace fleetadm::cli {
namespace {

using commands::Report;
using commands::Table;

Report table_sample() {
  Report report;
  report.table =
      Table{{{"NAME"}, {"READY"}, {"NODE", true}}, {{"c1", "true", "n1"}, {"cluster-10", "false", "n2"}}, "nothing found"};
  report.data = *parse_json(R"({"apiVersion":"v1","kind":"List","items":[
    {"metadata":{"name":"c1"},"cpu":"500m","n":10},{"metadata":{"name":"cluster-10"},"cpu":"2","n":9}]})");
  report.names = {"cluster/c1", "cluster/cluster-10"};
  report.notes = {"a note"};
  return report;
}

struct Printed {
  std::string out;
  std::string err;
};

Printed print(const std::string& format, Report report, RenderOptions options = {}) {
  Printed printed;
  Result<Format> parsed = parse_format(format);
  EXPECT_TRUE(parsed) << format;
  if (!parsed) return printed;
  Renderer renderer(
      std::move(*parsed), std::move(options), [&](std::string_view text) { printed.out += text; },
      [&](std::string_view text) { printed.err += text; });
  const Status ok = renderer.print(std::move(report));
  if (!ok) printed.err += "FAILED " + ok.error().message;
  return printed;
}

TEST(RenderTest, TablesAlignLikeKubectls) {
  EXPECT_EQ(print("", table_sample()).out, "NAME         READY\nc1           true\ncluster-10   false\n");
  EXPECT_EQ(print("wide", table_sample()).out, "NAME         READY   NODE\nc1           true    n1\ncluster-10   false   n2\n");
  RenderOptions bare;
  bare.headers = false;
  EXPECT_EQ(print("table", table_sample(), bare).out, "c1           true\ncluster-10   false\n");
}

TEST(RenderTest, ShortColumnsAreSixWide) {
  Report report;
  report.table = Table{{{"A"}, {"B"}}, {{"x", "y"}}, ""};
  EXPECT_EQ(print("", report).out, "A     B\nx     y\n");
}

TEST(RenderTest, WidthsCountCharactersNotBytes) {
  Report report;
  report.table = Table{{{"NAME"}, {"B"}}, {{"\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", "y"}, {"abcd", "z"}}, ""};
  EXPECT_EQ(print("", report).out, "NAME   B\n\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9   y\nabcd   z\n");
}

TEST(RenderTest, CellsCannotSteerTheTerminal) {
  Report report;
  report.table = Table{{{"NAME"}}, {{"a\x1b[2Jb\nc"}}, ""};
  const std::string out = print("", report).out;
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2);
}

TEST(RenderTest, OneLineStaysOne) {
  Report report;
  report.lines = {"    reports phase=x\n    Applied is True", "last"};
  EXPECT_EQ(print("", report).out, "    reports phase=x\\n    Applied is True\nlast\n");
}

TEST(RenderTest, DataCannotSteerTheTerminalEither) {
  Report report;
  report.data = Json::object({{"a",
                               "x\x1b[2J\xC2\x9B"
                               "31my\nz"}});
  RenderOptions terminal;
  terminal.terminal = true;
  EXPECT_EQ(print("jsonpath={.a}", report, terminal).out, "x\\x1b[2J\\u009b31my\nz");
  EXPECT_EQ(print("jsonpath={.a}", report).out,
            "x\x1b[2J\xC2\x9B"
            "31my\nz")
      << "a program gets it as it is";
  for (const char* format : {"json", "yaml", "custom-columns=A:.a"}) {
    const std::string out = print(format, report, terminal).out;
    EXPECT_EQ(out.find('\x1b'), std::string::npos) << format;
    EXPECT_EQ(out.find("\xC2\x9B"), std::string::npos) << format;
  }
}

TEST(RenderTest, NothingFoundIsSaidOnStderrOnly) {
  Report report = table_sample();
  report.table->rows.clear();
  const Printed printed = print("", report);
  EXPECT_EQ(printed.out, "");
  EXPECT_EQ(printed.err, "nothing found\na note\n");
  RenderOptions quiet;
  quiet.quiet = true;
  EXPECT_EQ(print("", report, quiet).err, "");
  EXPECT_EQ(print("json", report).err, "a note\n");
}

TEST(RenderTest, DataFormats) {
  EXPECT_EQ(print("name", table_sample()).out, "cluster/c1\ncluster/cluster-10\n");
  EXPECT_EQ(print("jsonpath={.items[*].cpu}", table_sample()).out, "500m 2");
  EXPECT_EQ(print("custom-columns=N:.metadata.name,CPU:cpu,X:.x", table_sample()).out,
            "N            CPU    X\nc1           500m   <none>\ncluster-10   2      <none>\n");
  EXPECT_EQ(print("custom-columns=ALL:{.items[*].n}", table_sample()).out, "ALL\n<none>\n<none>\n");
  Report small;
  small.data = *parse_json(R"({"a":"<b>"})");
  EXPECT_EQ(print("json", small).out, "{\n    \"a\": \"\\u003cb\\u003e\"\n}\n");
  EXPECT_EQ(print("yaml", small).out, "a: <b>\n");
  EXPECT_EQ(print("json", Report{}).out, "");
}

TEST(RenderTest, FailuresComeAfterTheData) {
  Report report = table_sample();
  Error failure;
  failure.cluster = "c7";
  failure.category = Category::kTimeout;
  failure.message = "no answer within 5s";
  report.failures.push_back(failure);
  const Printed printed = print("", report);
  EXPECT_NE(printed.out.find("cluster-10"), std::string::npos);
  EXPECT_EQ(printed.err, "a note\nerror: c7: no answer within 5s\nhint: try again, or use a longer --request-timeout\n");
}

TEST(RenderTest, AFailureOfSeveralClustersAndAHintAreToldOnce) {
  Report report;
  for (const char* cluster : {"c1", "c2", "c1", "c3", "c4", "c5", "c6", "c7"}) {
    Error failure;
    failure.cluster = cluster;
    failure.category = Category::kInvalid;
    failure.message = "refused";
    failure.hint = "look";
    report.failures.push_back(failure);
  }
  Error other = report.failures.front();
  other.message = "late";
  report.failures.push_back(other);
  EXPECT_EQ(print("", report).err, "error: c1, c2, c3, c4, c5 and 2 more clusters: refused\nerror: c1: late\nhint: look\n");
  const std::string documents = print("json", report).err;
  EXPECT_EQ(std::count(documents.begin(), documents.end(), '\n'), 9) << "a program gets each: " << documents;
}

TEST(RenderTest, SortBySortsRowsObjectsAndNames) {
  auto sorted = [](const char* path, const char* format) {
    RenderOptions options;
    options.sort_by = *JsonPath::parse_path(path);
    options.headers = false;
    return print(format, table_sample(), options);
  };
  EXPECT_EQ(sorted(".n", "").out, "cluster-10   false\nc1           true\n");
  EXPECT_EQ(sorted(".cpu", "name").out, "cluster/c1\ncluster/cluster-10\n");  // 500m < 2
  EXPECT_EQ(sorted("{.n}", "jsonpath={.items[*].metadata.name}").out, "cluster-10 c1");
  EXPECT_EQ(sorted(".nope", "").err, "FAILED --sort-by: no object has this field");
  Report one;
  one.data = *parse_json(R"({"items":[{"a":1}]})");
  EXPECT_FALSE(sort_report(one, *JsonPath::parse_path(".nope"))) << "a wrong path is one with a single object, too";
  EXPECT_TRUE(sort_report(one, *JsonPath::parse_path(".a")));
  one.data = *parse_json(R"({"items":[]})");
  EXPECT_TRUE(sort_report(one, *JsonPath::parse_path(".nope"))) << "nothing to sort";
}

TEST(RenderTest, SortIsNaturalStableAndTakesMissingFirst) {
  Report report;
  report.data = Json::object();
  Json items = Json::array();
  for (const char* name : {"c10", "c2", "", "c1", "c02"}) {
    Json item = Json::object();
    if (*name != '\0') at_or_make(item, {"name"}) = name;
    items.push_back(item);
  }
  at_or_make(report.data, {"items"}) = items;
  ASSERT_TRUE(sort_report(report, *JsonPath::parse_path(".name")));
  std::string order;
  for (const Json& item : list_at(report.data, {"items"})) order += str(item, {"name"}, "-") + " ";
  EXPECT_EQ(order, "- c1 c2 c02 c10 ");
}

TEST(RenderTest, AStreamOfReportsHasOneHeader) {
  std::string out;
  Renderer renderer(
      *parse_format(""), {}, [&](std::string_view text) { out += text; }, [](std::string_view) {});
  Report one;
  one.table = Table{{{"NAME"}, {"B"}}, {{"longer-name", "1"}}, ""};
  ASSERT_TRUE(renderer.print(one));
  one.table->rows = {{"x", "2"}};
  ASSERT_TRUE(renderer.print(one));
  EXPECT_EQ(out, "NAME          B\nlonger-name   1\nx             2\n");
}

TEST(FormatTest, WrongFormatsAreUsageErrors) {
  for (const char* text :
       {"jsonn", "xml", "jsonpath", "custom-columns", "jsonpath={", "custom-columns=", "custom-columns=A", "custom-columns=:x",
        "custom-columns-file=/nonexistent", "jsonpath-file=/nonexistent", "go-template=x", "jsonpath=", "jsonpath-file=/",
        "jsonpath-file=/dev/null", "jsonpath-file=/dev/zero", "custom-columns-file=/"}) {
    const Result<Format> format = parse_format(text);
    ASSERT_FALSE(format) << text;
    EXPECT_EQ(format.error().category, Category::kUsage) << text;
  }
  EXPECT_EQ(parse_format("jsno").error().hint, "did you mean json?");
}

TEST(FormatTest, ColumnsFromAFile) {
  const auto columns = parse_columns_file("NAME   CPU\n.metadata.name {.cpu}\n");
  ASSERT_TRUE(columns);
  ASSERT_EQ(columns->size(), 2U);
  EXPECT_EQ((*columns)[1].header, "CPU");
  EXPECT_FALSE(parse_columns_file("A B\n.a\n"));
  EXPECT_FALSE(parse_columns_file(""));
  EXPECT_EQ(parse_columns("A:.x[0,1],B:.y")->size(), 2U);
}

TEST(ErrorsTest, ExitCodes) {
  EXPECT_EQ(exit_code(Category::kInternal), 1);
  EXPECT_EQ(exit_code(Category::kCancelled), 2);
  EXPECT_EQ(exit_code(Category::kPartial), 3);
  EXPECT_EQ(exit_code(Category::kAuth), 4);
  EXPECT_EQ(exit_code(Category::kNotFound), 5);
  EXPECT_EQ(exit_code(Category::kTimeout), 6);
  EXPECT_EQ(exit_code(Category::kUsage), 64);
  for (const Category category :
       {Category::kConflict, Category::kInvalid, Category::kUnavailable, Category::kTls, Category::kGone, Category::kUnsupported})
    EXPECT_EQ(exit_code(category), 1);
}

Error error_of(Category category) { return fail(category, "m").value(); }

TEST(ErrorsTest, ExitCodesOfReports) {
  Report report;
  EXPECT_EQ(exit_code(report), 0);
  report.failures = {error_of(Category::kInvalid), error_of(Category::kNotFound)};
  EXPECT_EQ(exit_code(report), 1) << "all failed, for different reasons";
  report.failures = {error_of(Category::kNotFound), error_of(Category::kNotFound)};
  EXPECT_EQ(exit_code(report), 5) << "all failed, for one reason";
  report.lines = {"c1 accepted"};
  EXPECT_EQ(exit_code(report), 3) << "some failed";
  report.failures.push_back(error_of(Category::kCancelled));
  EXPECT_EQ(exit_code(report), 2);
  report.exit_code = 7;
  EXPECT_EQ(exit_code(report), 7) << "the command's own";
}

TEST(ErrorsTest, AHintNeverRepeatsTheCause) {
  Error error = error_of(Category::kTimeout);
  error.message = "not ready: no cluster matches";
  error.hint = "no cluster matches";
  EXPECT_EQ(render_error(error, false), "error: not ready: no cluster matches\n");
}

TEST(ErrorsTest, DocumentsForPrograms) {
  Error error = error_of(Category::kNotFound);
  error.code = 404;
  error.reason = "NotFound";
  error.cluster = "c1";
  EXPECT_EQ(error_document(error, "look"), *parse_json(R"({"apiVersion":"fleetadm.io/v1alpha1","kind":"Error","code":5,
    "reason":"NotFound","message":"m","hint":"look","status":404,"cluster":"c1"})"));
}

TEST(RenderTest, OwnKindsAreVersioned) {
  Report report;
  report.data = {{"kind", "FaultList"}, {"items", {{{"kind", "Fault"}}, {{"name", "x"}}}}};
  EXPECT_EQ(*parse_json(print("json", report).out), *parse_json(R"({"apiVersion":"fleetadm.io/v1alpha1","kind":"FaultList",
    "items":[{"apiVersion":"fleetadm.io/v1alpha1","kind":"Fault"},{"name":"x"}]})"));
}

TEST(RenderTest, ReportsTellWhereWasWritten) {
  RenderOptions options;
  options.written = [] { return Json{{"hub", {{"context", "a"}}}}; };
  options.written_lines = [] { return std::vector<std::string>{"hub: a"}; };
  Report own;
  own.data = {{"kind", "AcceptReport"}};
  EXPECT_EQ(str(*parse_json(print("json", own, options).out), {"hub", "context"}), "a");
  EXPECT_EQ(print("json", own, options).err, "");
  Report object;
  object.data = {{"apiVersion", "v1"}, {"kind", "Namespace"}};
  const Printed printed = print("json", object, options);
  EXPECT_EQ(*parse_json(printed.out), object.data) << "an object can be applied again";
  EXPECT_EQ(printed.err, "hub: a\n");
  options.quiet = true;
  EXPECT_EQ(print("json", object, options).err, "");
}

TEST(RenderTest, WatchesPrintTypedEvents) {
  Report list = table_sample();
  list.notes.clear();
  list.event = Report::Event::kAdded;
  const std::string events = print("json", list).out;
  EXPECT_EQ(std::count(events.begin(), events.end(), '\n'), 2) << events;
  EXPECT_EQ(*parse_json(events.substr(0, events.find('\n'))),
            *parse_json(R"({"type":"ADDED","object":{"metadata":{"name":"c1"},"cpu":"500m","n":10}})"));
  Report gone;
  gone.data = {{"metadata", {{"name", "c1"}}}};
  gone.table = Table{{{"NAME"}}, {{"c1"}}, ""};
  gone.names = {"cluster/c1"};
  gone.event = Report::Event::kDeleted;
  EXPECT_EQ(print("json", gone).out, "{\"object\":{\"metadata\":{\"name\":\"c1\"}},\"type\":\"DELETED\"}\n");
  EXPECT_TRUE(print("yaml", gone).out.starts_with("---\nobject:\n"));
  EXPECT_EQ(print("", gone).out, "NAME   EVENT\nc1     DELETED\n");
  EXPECT_EQ(print("name", gone).out, "cluster/c1 deleted\n");
}

TEST(RenderTest, WhatEndsEarlyTellsHowItGoesOn) {
  RenderOptions options;
  options.unfinished = [](bool timed_out) { return timed_out ? Unfinished{{"works: 1 created"}, "fleetadm x"} : Unfinished{}; };
  Report report;
  report.failures = {error_of(Category::kTimeout), error_of(Category::kNotFound)};
  EXPECT_EQ(print("", report, options).err, "error: m\nerror: m\ndone: works: 1 created\nhint: to continue, run: fleetadm x\n");
  const std::string first = print("json", report, options).err.substr(0, print("json", report, options).err.find('\n'));
  EXPECT_EQ(str(*parse_json(first), {"resume"}), "fleetadm x");
  report.failures = {error_of(Category::kNotFound)};
  EXPECT_EQ(print("", report, options).err, "error: m\n");
}

TEST(ErrorsTest, WhatWhyAndHow) {
  Error error;
  error.code = 403;
  error.category = Category::kAuth;
  error.reason = "Forbidden";
  error.message = "clusters is forbidden\x1b[31m";
  const std::string text = render_error(error, false);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("error: clusters is forbidden"), 0U);
  EXPECT_NE(text.find("(Forbidden, HTTP 403)\nhint: ask for the missing permission"), std::string::npos) << text;
  Error missing;
  missing.category = Category::kNotFound;
  missing.message = "no such context";
  EXPECT_EQ(render_error(missing, false), "error: no such context\n");
  missing.code = 404;
  EXPECT_NE(render_error(missing, false).find("hint: check the name"), std::string::npos);
  Error conflict;
  conflict.category = Category::kConflict;
  conflict.message = "it exists";
  EXPECT_EQ(render_error(conflict, false).find("hint"), std::string::npos);
  conflict.reason = "Conflict";
  EXPECT_NE(render_error(conflict, false).find("run the command again"), std::string::npos);
  error.hint = "do this";
  EXPECT_NE(render_error(error, false).find("\nhint: do this\n"), std::string::npos);
  EXPECT_EQ(render_error(error, true).find("\x1b[31merror:\x1b[0m "), 0U);
}

}  // namespace
}  // namespace fleetadm::cli
