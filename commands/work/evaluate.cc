// work evaluate: what feedback and condition rules say of an object, before anything is shipped.
#include <algorithm>
#include <utility>

#include "commands/framework/files.h"
#include "commands/framework/grammar.h"
#include "commands/framework/manifests.h"
#include "commands/framework/scenarios.h"
#include "commands/work/work.h"
#include "core/work/plan/preview.h"
#include "core/work/plan/scenario.h"

namespace fleetadm::commands {
namespace {

struct EvaluateOptions {
  std::string work;
  std::vector<std::string> objects;
  std::string scenarios;
  bool raw = false;
};

/// The one ManifestWork of a file; of a ManifestWorkReplicaSet its template.
Result<Json> work_of_file(Context& context, const std::string& file) {
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, {file}));
  std::vector<Json> works;
  for (const LoadedManifest& one : loaded) {
    const std::string kind = str(one.object, {"kind"});
    if (kind == "ManifestWork") works.push_back(one.object);
    if (kind == "ManifestWorkReplicaSet") {
      Json work = one.object;
      work["kind"] = "ManifestWork";
      work["spec"] = object_at(one.object, {"spec", "manifestWorkTemplate"});
      works.push_back(std::move(work));
    }
  }
  if (works.size() == 1) return std::move(works.front());
  return fail(
      Category::kUsage,
      works.empty() ? file + " contains no ManifestWork" : file + " contains several ManifestWorks; exactly one is expected",
      "rules belong in spec.manifestConfigs of a ManifestWork, or in spec.manifestWorkTemplate of a "
      "ManifestWorkReplicaSet");
}

std::string place_of(const Json& meta) {
  const std::string ns = str(meta, {"namespace"});
  return str(meta, {"kind"}) + " " + (ns.empty() ? "" : ns + "/") + str(meta, {"name"});
}

std::string field_text(const Json& field_value) {
  const std::string type = str(field_value, {"type"});
  if (type == "Integer") return std::to_string(num(field_value, {"integer"}));
  if (type == "Boolean") return flag(field_value, {"boolean"}) ? "true" : "false";
  return str(field_value, {type == "JsonRaw" ? "jsonRaw" : "string"});
}

void add_rows(const work::ObjectPreview& object, Table& table) {
  const std::string place = place_of(object.meta);
  for (const Json& value : object.feedback.values) {
    const Json& field = object_at(value, {"fieldValue"});
    table.rows.push_back({place, "feedback", str(value, {"name"}), field_text(field), str(field, {"type"}), ""});
  }
  if (!object.feedback.error.empty()) {
    table.rows.push_back({place, "feedback", "StatusFeedbackSynced", "False", "StatusFeedbackSyncFailed",
                          "Sync status feedback failed with error " + object.feedback.error});
  }
  for (const Json& condition : object.conditions) {
    table.rows.push_back({place, "condition", str(condition, {"type"}), str(condition, {"status"}), str(condition, {"reason"}),
                          str(condition, {"message"})});
  }
}

Json data_of(const work::ObjectPreview& object) {
  Json data{{"resourceMeta", object.meta},
            {"inWork", object.in_work},
            {"updateStrategy", object.strategy},
            {"deletedWithWork", object.owned},
            {"statusFeedback", {{"values", object.feedback.values}}},
            {"conditions", object.conditions}};
  if (!object.feedback.error.empty()) data["statusFeedback"]["error"] = object.feedback.error;
  return data;
}

Result<Report> preview(Context& context, const EvaluateOptions& options) {
  FLEETADM_TRY(const Json work, work_of_file(context, options.work));
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.objects));
  if (loaded.empty()) return fail(Category::kUsage, "no objects found in the --object files");
  std::vector<Json> objects;
  for (const LoadedManifest& one : loaded) {
    if (str(one.object, {"kind"}).empty()) return fail(Category::kUsage, one.where() + ": the object has no kind");
    objects.push_back(one.object);
  }
  work::FeedbackOptions feedback;
  feedback.raw_json = options.raw;
  const std::vector<work::ObjectPreview> previews = work::preview_objects(work, objects, feedback);
  Report report;
  report.table.emplace();
  report.table->columns = {{"OBJECT"}, {"WHAT"}, {"NAME"}, {"VALUE"}, {"TYPE", true}, {"MESSAGE"}};
  report.table->empty_text = "The work's rules report nothing for these objects.";
  Json items = Json::array();
  for (const work::ObjectPreview& object : previews) {
    add_rows(object, *report.table);
    items.push_back(data_of(object));
    if (!object.has_rules) report.notes.push_back("The work has no rules for " + place_of(object.meta) + ".");
    if (!object.in_work) report.notes.push_back(place_of(object.meta) + " is not one of the work's manifests.");
  }
  const Json conditions = work::preview_conditions(previews);
  for (const Json& condition : conditions) {
    report.table->rows.push_back({"(the work)", "condition", str(condition, {"type"}), str(condition, {"status"}),
                                  str(condition, {"reason"}), str(condition, {"message"})});
  }
  report.data = {{"kind", "WorkEvaluation"}, {"objects", std::move(items)}, {"conditions", conditions}};
  return report;
}

Status validate_evaluate(const EvaluateOptions& options, const std::vector<std::string>&) {
  if (!options.scenarios.empty()) {
    if (options.work.empty() && options.objects.empty() && !options.raw) return {};
    return fail(Category::kUsage, "--scenarios cannot be combined with -f, --object or --raw-feedback");
  }
  if (options.work.empty()) return fail(Category::kUsage, "no work given", "use -f FILE, or --scenarios FILE");
  if (options.objects.empty()) return fail(Category::kUsage, "no object given", "use --object FILE (kubectl get … -o yaml)");
  if (options.work == "-" && std::find(options.objects.begin(), options.objects.end(), "-") != options.objects.end())
    return fail(Category::kUsage, "-f and --object cannot both be read from stdin");
  return {};
}

}  // namespace

void register_work_evaluate(Registry& registry) {
  Command command;
  command.path = "work evaluate";
  command.group = "Work";
  command.summary = "Show what a work's feedback and condition rules report for an object";
  command.description =
      "No cluster is contacted: -f names a file with a ManifestWork (or ManifestWorkReplicaSet), "
      "and --object one with live objects as printed by \"kubectl get -o yaml\". "
      "With --scenarios, it evaluates recorded or hand-written cases, one JSON object per line, "
      "in the formats of fleetadm-scenarios(7).";
  command.examples = {
      {"Try rules on a live Deployment", "kubectl get deployment web -o yaml | fleetadm work evaluate -f work.yaml --object -"},
      {"Evaluate the cases in a file", "fleetadm work evaluate --scenarios cases.jsonl"}};
  command.make = invocation<EvaluateOptions>(
      [](FlagSet& flags, EvaluateOptions& options) {
        filename_flag(flags, &options.work, "file with the work, or - for stdin");
        files_flag(flags, &options.objects, "object", "file with live objects, or - for stdin; may be repeated");
        flags.boolean(&options.raw, "raw-feedback", "report lists and objects as JSON (gate RawFeedbackJsonString)");
        scenarios_flag(flags, &options.scenarios);
      },
      validate_evaluate,
      [](Context& context, const EvaluateOptions& options, const std::vector<std::string>&) -> Result<Report> {
        if (!options.scenarios.empty()) return answer_scenarios(context, options.scenarios, work::answer_scenario);
        return preview(context, options);
      });
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
