// score set: writes AddOnPlacementScores. The kind has no spec: all of it is status.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "commands/framework/grammar.h"
#include "commands/framework/manifests.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "commands/score/score.h"
#include "core/api/kinds.h"
#include "core/placement/engine/score.h"
#include "kubeclient/base/go_numbers.h"

namespace fleetadm::commands {
namespace {

constexpr Duration kAlways = Duration::max();

struct SetOptions {
  std::string cluster;
  std::string least;
  std::string most;
  Duration valid_for = kAlways;
  std::string valid_until;
  std::vector<std::string> files;
};

/// What one AddOnPlacementScore shall hold.
struct Wanted {
  std::string cluster;
  std::string name;
  std::map<std::string, std::int64_t> items;
  std::vector<std::string> gone;  // items to take away
  bool whole = false;             // items that are not named go
  std::string valid_until;        // empty: always
};

constexpr std::string_view kRights =
    "you need permission to get and create addonplacementscores, and to patch "
    "addonplacementscores/status, in the group cluster.open-cluster-management.io in the cluster's "
    "namespace";

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end && !text.empty()) return std::isfinite(value) ? std::optional(value) : std::nullopt;
  return quantity_as_double(text);  // 16Gi, 500m
}

Result<std::int64_t> score_of(const SetOptions& options, const std::string& item, const std::string& text) {
  const auto value = number_of(text);
  if (!value) return fail(Category::kUsage, item + ": \"" + text + "\" is not a number");
  if (!options.least.empty()) return placement::normalize_score(*value, *number_of(options.least), *number_of(options.most));
  if (*value != std::floor(*value) || *value < -100 || *value > 100) {
    return fail(Category::kUsage, item + ": " + text + " is not an integer from -100 to 100",
                "add --min and --max, and the value is scaled to a score between them");
  }
  return static_cast<std::int64_t>(*value);
}

Status validate(const SetOptions& options, const std::vector<std::string>& args) {
  if (options.least.empty() != options.most.empty()) return fail(Category::kUsage, "--min and --max must be used together");
  if (!options.least.empty()) {
    const auto least = number_of(options.least);
    const auto most = number_of(options.most);
    if (!least || !most)
      return fail(Category::kUsage, "--min \"" + options.least + "\" or --max \"" + options.most + "\" is not a number");
    if (*least > *most) return fail(Category::kUsage, "--min must be smaller than --max");
  }
  if (options.valid_for <= Duration::zero()) {
    return fail(Category::kUsage, "--valid-for must be positive", "without it, scores do not expire");
  }
  if (options.valid_for != kAlways && !options.valid_until.empty()) {
    return fail(Category::kUsage, "--valid-for cannot be combined with --valid-until");
  }
  if (!options.valid_until.empty() && !parse_time(options.valid_until)) {
    return fail(Category::kUsage, "--valid-until \"" + options.valid_until + "\" is not a valid time",
                "use RFC 3339, for example 2026-03-01T10:00:00Z");
  }
  if (!options.files.empty()) {
    if (args.empty() && options.cluster.empty() && options.least.empty()) return {};
    return fail(Category::kUsage, "-f cannot be combined with a name, --cluster or values");
  }
  if (args.size() < 2) {
    return fail(Category::kUsage, "a name and at least one SCORE=VALUE are required",
                "for example: fleetadm score set load --cluster c1 cpu=40");
  }
  if (options.cluster.empty()) return fail(Category::kUsage, "missing flag: --cluster", "name the cluster with --cluster");
  FLEETADM_CHECK(check_name("score object", args.front()));
  return check_name("cluster", options.cluster);
}

std::string validity(Context& context, const SetOptions& options) {
  if (!options.valid_until.empty()) return format_time(*parse_time(options.valid_until));
  if (options.valid_for == kAlways) return {};
  const Instant now = context.clock().now();
  return format_time(options.valid_for > Instant::max() - now ? Instant::max() : now + options.valid_for);
}

Result<std::vector<Wanted>> from_arguments(Context& context, const SetOptions& options, const std::vector<std::string>& args) {
  Wanted wanted{options.cluster, args.front(), {}, {}, false, validity(context, options)};
  for (std::size_t i = 1; i < args.size(); ++i) {
    const std::size_t equal = args[i].rfind('=');
    if (equal == std::string::npos && args[i].size() > 1 && args[i].ends_with('-')) {
      wanted.gone.push_back(args[i].substr(0, args[i].size() - 1));
      continue;
    }
    if (equal == std::string::npos || equal == 0) {
      return fail(Category::kUsage, "\"" + args[i] + "\" is not SCORE=VALUE", "use SCORE- to remove a score");
    }
    const std::string item = args[i].substr(0, equal);
    FLEETADM_TRY(const std::int64_t value, score_of(options, item, args[i].substr(equal + 1)));
    if (!wanted.items.emplace(item, value).second) return fail(Category::kUsage, "score " + item + " is given twice");
  }
  for (const std::string& item : wanted.gone) {
    if (wanted.items.contains(item)) return fail(Category::kUsage, "score " + item + " is both set and removed");
  }
  return std::vector<Wanted>{std::move(wanted)};
}

Result<std::vector<Wanted>> from_files(Context& context, const SetOptions& options) {
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
  std::vector<Wanted> all;
  for (const LoadedManifest& manifest : loaded) {
    const Json& object = manifest.object;
    const std::string where = manifest.where() + ": ";
    if (str(object, {"kind"}) != api::addon_placement_scores().kind) {
      return fail(Category::kInvalid, where + "a " + str(object, {"kind"}, "nameless kind") + " is not an AddOnPlacementScore");
    }
    Wanted wanted{namespace_of(object), name_of(object), {}, {}, true, str(object, {"status", "validUntil"})};
    if (wanted.cluster.empty() || wanted.name.empty()) {
      return fail(Category::kInvalid, where + "the AddOnPlacementScore needs a name, and the cluster as its namespace");
    }
    for (const Json& item : list_at(object, {"status", "scores"})) {
      const Json* value = find(item, {"value"});
      const std::string name = str(item, {"name"});
      if (value == nullptr || !value->is_number_integer() || name.empty() || num(item, {"value"}) < -100 ||
          num(item, {"value"}) > 100) {
        return fail(Category::kInvalid, where + "score \"" + name + "\" has no integer value from -100 to 100");
      }
      if (!wanted.items.emplace(name, num(item, {"value"})).second)
        return fail(Category::kInvalid, where + "score " + name + " is listed twice");
    }
    if (const std::string until = validity(context, options); !until.empty()) wanted.valid_until = until;
    if (!wanted.valid_until.empty()) {
      const auto until = parse_time(wanted.valid_until);
      if (!until) return fail(Category::kInvalid, where + "validUntil \"" + wanted.valid_until + "\" is not a valid time");
      wanted.valid_until = format_time(*until);  // as the hub's other readers take it
    }
    for (const Wanted& other : all) {
      if (other.cluster == wanted.cluster && other.name == wanted.name) {
        return fail(Category::kInvalid,
                    where + "the scores " + wanted.name + " of cluster " + wanted.cluster + " are listed twice");
      }
    }
    all.push_back(std::move(wanted));
  }
  if (all.empty()) return fail(Category::kUsage, "no AddOnPlacementScore found in the -f files");
  return all;
}

Status change_status(const Wanted& wanted, Json& object) {
  Json scores = Json::array();
  std::map<std::string, std::int64_t> left = wanted.items;
  // What is there keeps its place.
  for (const Json& item : list_at(object, {"status", "scores"})) {
    const std::string name = str(item, {"name"});
    if (std::find(wanted.gone.begin(), wanted.gone.end(), name) != wanted.gone.end()) continue;
    const auto at = left.find(name);
    if (at == left.end() && wanted.whole) continue;
    scores.push_back({{"name", name}, {"value", at == left.end() ? num(item, {"value"}) : at->second}});
    if (at != left.end()) left.erase(at);
  }
  for (const auto& [name, value] : left) scores.push_back({{"name", name}, {"value", value}});
  at_or_make(object, {"status", "scores"}) = std::move(scores);
  if (wanted.valid_until.empty()) {
    erase_at(object, {"status", "validUntil"});
  } else {
    at_or_make(object, {"status", "validUntil"}) = wanted.valid_until;
  }
  return {};
}

template <class T>
Result<T> with_rights(Result<T> result) {
  if (result || result.error().code != 403) return result;
  return tl::unexpected(result.error().with_hint(std::string(kRights)));
}

struct Written {
  Json object;
  std::string what;
};

Result<Written> write(Context& context, const kube::Client& hub, const Wanted& wanted) {
  const kube::Resource& resource = api::addon_placement_scores();
  // Without the right to read clusters (a scorer often has none) the cluster's namespace has to speak for it.
  FLEETADM_CHECK(on_hub(cluster_exists(hub, wanted.cluster)));
  FLEETADM_TRY(auto existing, with_rights(on_hub(hub.find(resource, wanted.cluster, wanted.name))));
  std::string what = "set";
  if (!existing) {
    what = "created";
    const Json empty{{"apiVersion", resource.api_version()},
                     {"kind", resource.kind},
                     {"metadata", {{"name", wanted.name}, {"namespace", wanted.cluster}}}};
    auto created = with_rights(hub.create_or_get(resource, wanted.cluster, empty));
    if (!created && created.error().category == Category::kNotFound) {
      return tl::unexpected(
          created.error().with_hint("a cluster gets its namespace when it is accepted: fleetadm accept " + wanted.cluster));
    }
    FLEETADM_TRY(Json object, std::move(created));
    if (is_dry(context)) {  // there is nothing yet whose status could be written, not even for show
      FLEETADM_CHECK(change_status(wanted, object));
      return Written{std::move(object), what};
    }
    existing = std::move(object);
  }
  Json expected = *existing;
  FLEETADM_CHECK(change_status(wanted, expected));
  if (object_at(expected, {"status"}) == object_at(*existing, {"status"})) return Written{std::move(*existing), "unchanged"};
  FLEETADM_TRY(Json stored, with_rights(hub.modify(
                                resource, wanted.cluster, wanted.name,
                                [&](Json& object) { return change_status(wanted, object); }, "status")));
  if (is_dry(context)) return Written{std::move(stored), what};
  FLEETADM_TRY(auto found, hub.find(resource, wanted.cluster, wanted.name));
  Json read = found ? std::move(*found) : Json::object();
  Json again = read;
  FLEETADM_CHECK(change_status(wanted, again));
  if (object_at(again, {"status"}) != object_at(read, {"status"})) {
    return fail(Category::kConflict,
                "the scores " + wanted.name + " of cluster " + wanted.cluster + " were written but have since been changed",
                "someone else writes them as well; run the command again");
  }
  return Written{std::move(read), what};
}

Result<Report> run_set(Context& context, const SetOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto all, options.files.empty() ? from_arguments(context, options, args) : from_files(context, options));
  FLEETADM_TRY(const auto hub, context.client());
  Report report;
  Json items = Json::array();
  for (const Wanted& wanted : all) {
    auto written = write(context, hub, wanted);
    if (!written) {
      if (all.size() == 1) return tl::unexpected(std::move(written).error());
      report.failures.push_back(written.error().with_cluster(wanted.cluster));
      continue;
    }
    report.lines.push_back(
        told(context, api::addon_placement_scores(), wanted.name, written->what + " for cluster " + wanted.cluster));
    report.names.push_back(full_name(api::addon_placement_scores(), wanted.name));
    erase_at(written->object, {"metadata", "managedFields"});
    items.push_back(std::move(written->object));
  }
  if (all.size() == 1) {
    report.data = std::move(items.front());
  } else {
    report.data = {{"apiVersion", "v1"}, {"kind", "List"}, {"metadata", {{"resourceVersion", ""}}}, {"items", std::move(items)}};
  }
  return report;
}

}  // namespace

void register_score_set(Registry& registry) {
  Command command;
  command.path = "score set";
  command.group = "Placement";
  command.summary = "Set the scores used to prioritize clusters";
  command.description =
      "Writes scores of a cluster into the AddOnPlacementScore NAME of its namespace; "
      "placements use them with --prioritizer AddOn/NAME/SCORE. Other scores in that object are kept; "
      "SCORE- removes one. Values are integers from -100 to 100. With --min and --max they can be any "
      "numbers or quantities (0.3, 12Gi): the value is then scaled linearly between the two, from -100 "
      "to 100, and the fraction is dropped.\n\n"
      "Scores are valid until --valid-for or --valid-until; without either they do not expire. "
      "An expired score counts as 0. A scorer that runs every five minutes uses --valid-for 15m, so that "
      "a silent cluster does not stay preferred forever. With -f, AddOnPlacementScores are read from "
      "files and replace existing ones.";
  command.args = {"[NAME SCORE=VALUE...]", 0, -1};
  command.examples = {{"Free memory, on a scale from 0 to 256 GiB",
                       "fleetadm score set capacity --cluster c1 memory=48Gi --min 0 --max 256Gi --valid-for 15m"},
                      {"Two scores at once", "fleetadm score set load --cluster c1 cpu=-20 disk=75"},
                      {"Scores of many clusters", "fleetadm score set -f scores.yaml --valid-for 1h"}};
  command.make = invocation<SetOptions>(
      [](FlagSet& flags, SetOptions& options) {
        cluster_flag(flags, &options.cluster, "the cluster the scores belong to");
        flags.text(&options.least, "min", "the value that maps to a score of -100").value_name = "VALUE";
        flags.text(&options.most, "max", "the value that maps to a score of 100").value_name = "VALUE";
        flags.duration(&options.valid_for, "valid-for", "how long the scores are valid").default_text = "always";
        flags.text(&options.valid_until, "valid-until", "time at which the scores expire").value_name = "TIME";
        filenames_flag(flags, &options.files, "file or folder with AddOnPlacementScores (\"-\": standard input)");
      },
      validate, run_set);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
