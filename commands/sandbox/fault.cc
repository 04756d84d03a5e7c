// fleetadm sandbox fault add, list, clear.
#include "core/sandbox/fault/fault.h"

#include <algorithm>
#include <charconv>

#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/sandbox/home.h"
#include "commands/sandbox/sandbox.h"

namespace fleetadm::commands {
namespace {

using sandbox::Fault;
using sandbox::FaultKind;

struct AddOptions : NamedSandbox {
  std::vector<std::string> clusters;
  std::vector<std::string> verbs;
  std::vector<std::string> resources;
  std::vector<std::string> users;
  std::string probability;
  std::int64_t count = 0;
  Duration lasts{};
  Duration delay{};
  Duration retry_after{};
  Duration after{};
  std::int64_t after_bytes = 0;
  std::string offset;  // signed, which a duration flag is not
  bool silent = false;
};

Status only_for(bool given, const std::string& flag, bool fits, const std::string& kind) {
  if (!given || fits) return {};
  return fail(Category::kUsage, "--" + flag + " does not apply to the fault \"" + kind + "\"");
}

Result<double> read_probability(const std::string& text) {
  if (text.empty()) return 1.0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 1))
    return fail(Category::kUsage, "--probability: \"" + text + "\" must be greater than 0 and at most 1", "for example 0.25");
  return value;
}

/// The fault that the flags describe, without its clusters' names being checked.
Result<Fault> fault_of(const AddOptions& options, const std::string& kind) {
  FLEETADM_TRY(Fault fault, [&]() -> Result<Fault> {
    Fault out;
    const auto& kinds = sandbox::fault_kinds();
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] != kind) continue;
      out.kind = static_cast<FaultKind>(i);
      return out;
    }
    return fail(Category::kUsage, "there is no fault \"" + kind + "\"",
                "use latency, 429, 500, cut, partition, expired-certificate or clock");
  }());
  FLEETADM_CHECK(only_for(options.delay != Duration::zero(), "delay", fault.kind == FaultKind::kLatency, kind));
  FLEETADM_CHECK(
      only_for(options.retry_after != Duration::zero(), "retry-after", fault.kind == FaultKind::kTooManyRequests, kind));
  FLEETADM_CHECK(only_for(options.after != Duration::zero(), "after", fault.kind == FaultKind::kCut, kind));
  FLEETADM_CHECK(only_for(options.after_bytes != 0, "after-bytes", fault.kind == FaultKind::kCut, kind));
  FLEETADM_CHECK(only_for(!options.offset.empty(), "offset", fault.kind == FaultKind::kClock, kind));
  FLEETADM_CHECK(only_for(options.silent, "silent", fault.kind == FaultKind::kPartition, kind));
  if (fault.kind == FaultKind::kLatency && options.delay == Duration::zero())
    return fail(Category::kUsage, "a latency fault requires --delay", "for example --delay 300ms");
  if (fault.kind == FaultKind::kClock && options.offset.empty())
    return fail(Category::kUsage, "a clock fault requires --offset", "for example --offset=-2h");
  if (fault.kind == FaultKind::kCut && options.after != Duration::zero() && options.after_bytes != 0)
    return fail(Category::kUsage, "--after cannot be combined with --after-bytes");
  fault.verbs = options.verbs;
  fault.resources = options.resources;
  fault.users = options.users;
  FLEETADM_TRY(fault.probability, read_probability(options.probability));
  fault.count = options.count;
  fault.lasts = options.lasts;
  fault.bytes = options.after_bytes;
  fault.silent = options.silent;
  fault.amount = options.delay + options.after;
  if (fault.kind == FaultKind::kTooManyRequests)
    fault.amount = options.retry_after == Duration::zero() ? std::chrono::seconds(1) : options.retry_after;
  if (fault.kind == FaultKind::kClock) {
    FLEETADM_TRY(fault.amount, parse_duration(options.offset));
  }
  FLEETADM_CHECK(sandbox::check_fault(fault));
  return fault;
}

Result<std::vector<std::string>> clusters_of(const Context& context, const std::string& name,
                                             const std::vector<std::string>& given) {
  FLEETADM_TRY(const auto home, sandbox_home(context));
  const Json description = home.description(name);
  if (!description.is_object()) return no_sandbox(home, name);
  std::vector<std::string> out;
  for (const auto& one : given) {
    FLEETADM_TRY(auto cluster, cluster_of_sandbox(description, one));
    out.push_back(std::move(cluster));
  }
  return out;
}

Result<Report> add(Context& context, const AddOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(refuse_dry_run(context, "sandbox fault add"));
  FLEETADM_TRY(Fault fault, fault_of(options, args.front()));
  FLEETADM_TRY(fault.clusters, clusters_of(context, options.name, options.clusters));
  FLEETADM_TRY(const Json answer,
               ask_sandbox(context, options.name, {{"do", "fault-add"}, {"fault", sandbox::fault_json(fault)}}));
  fault.id = str(answer, {"id"});
  Report report;
  report.data = sandbox::fault_json(fault);
  report.data["fault"] = report.data["kind"];
  report.data["kind"] = "FaultReport";
  report.lines = {"fault " + fault.id + " added"};
  report.names = {"fault/" + fault.id};
  return report;
}

Status check_add(const AddOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(check_sandbox(options));
  FLEETADM_TRY(const auto fault, fault_of(options, args.front()));
  static_cast<void>(fault);
  return {};
}

void bind_add(FlagSet& flags, AddOptions& options) {
  bind_sandbox(flags, options);
  clusters_flag(flags, &options.clusters, "clusters to affect (default: all)");
  flags.comma_texts(&options.verbs, "verb", "only requests with these verbs, such as get, watch or update").value_name = "VERB";
  flags
      .comma_texts(&options.resources, "resource", "only requests to these resources, such as pods, deployments.apps or pods/log")
      .value_name = "RESOURCE";
  flags.texts(&options.users, "user", "only requests from this user").value_name = "USER";
  flags.text(&options.probability, "probability", "fraction of matching requests or streams to affect (0 to 1)").value_name =
      "SHARE";
  flags.integer(&options.count, "count", "stop after this many hits").value_name = "N";
  flags.duration(&options.lasts, "for", "stop after this time (default: when the sandbox stops)");
  flags.duration(&options.delay, "delay", "latency: delay added to each response");
  flags.duration(&options.retry_after, "retry-after", "429: how long the response asks the client to wait").default_text = "1s";
  flags.duration(&options.after, "after", "cut: streams end this long after they started, or after the fault was added");
  flags.integer(&options.after_bytes, "after-bytes", "cut: streams end after this many bytes").value_name = "N";
  flags.text(&options.offset, "offset", "clock: how far ahead the clock is (negative: behind)").value_name = "DURATION";
  flags.boolean(&options.silent, "silent", "partition: accept connections but never respond, instead of resetting them");
}

Command add_command() {
  Command command;
  command.path = "sandbox fault add";
  command.target = Target::kSilent;
  command.group = "Sandbox";
  command.summary = "Inject a fault into a running sandbox";
  command.description =
      "Adds a fault to clusters of a running sandbox, for a time, for a number of hits, or until it is "
      "cleared.\n\n"
      "latency: responses are delayed (for a watch, its start). 429, 500: requests are refused. "
      "cut: watches and other streams are cut mid-stream, including open ones. "
      "partition: connections to the cluster are reset, including open ones. expired-certificate: "
      "the cluster serves with a certificate that expired a day ago. clock: what the cluster stamps and "
      "judges (times, tokens, client certificates) uses a wrong clock.\n\n"
      "The faults of a sandbox end with its process.";
  command.args = {"FAULT", 1, 1, false, Complete::kValues, sandbox::fault_kinds()};
  command.examples = {
      {"Every third request of one cluster fails", "fleetadm sandbox fault add 500 --cluster c1 --probability 0.33"},
      {"The next five lease updates get HTTP 429", "fleetadm sandbox fault add 429 --verb update --resource leases --count 5"},
      {"Watches end after two seconds", "fleetadm sandbox fault add cut --verb watch --after 2s"},
      {"A cluster is unreachable for 30 seconds", "fleetadm sandbox fault add partition --cluster c2 --for 30s"},
      {"The hub's clock is an hour behind", "fleetadm sandbox fault add clock --cluster hub --offset=-1h"}};
  command.make = invocation<AddOptions>(bind_add, check_add, add);
  return command;
}

// --- list ---

std::string joined_or(const Json& fault, std::string_view member, const std::string& otherwise) {
  std::string out;
  for (const auto& one : string_list_at(fault, {member})) out += (out.empty() ? "" : ",") + one;
  return out.empty() ? otherwise : out;
}

/// What is special about it: "300ms", "silent", "4096 bytes, p=0.5".
std::string details_of(const Json& fault) {
  std::string out = str(fault, {"amount"});
  const auto add_word = [&](const std::string& word) { out += (out.empty() ? "" : ", ") + word; };
  if (const auto bytes = num(fault, {"bytes"}); bytes > 0) add_word(std::to_string(bytes) + " bytes");
  if (flag(fault, {"silent"})) add_word("silent");
  if (const Json* share = find(fault, {"probability"}); share != nullptr && share->is_number())
    add_word("p=" + format_number(share->get<double>()));
  return out;
}

std::vector<std::string> fault_ids(const std::vector<std::string>& args) {
  std::vector<std::string> ids;
  for (const auto& arg : args) ids.push_back(arg.starts_with("fault/") ? arg.substr(6) : arg);
  return ids;
}

tl::unexpected<Error> no_fault(const std::string& id, const std::string& sandbox) {
  return fail(Category::kNotFound, "fault \"" + id + "\" not found",
              "list them with: fleetadm sandbox fault list --name " + sandbox);
}

Result<Report> list_faults(Context& context, const NamedSandbox& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const Json answer, ask_sandbox(context, options.name, {{"do", "fault-list"}}));
  std::vector<std::string> missing = fault_ids(args);
  const bool all = missing.empty();
  Report report;
  report.data = {{"kind", "FaultList"}, {"items", Json::array()}};
  Table table;
  table.columns = {{"ID", false},   {"FAULT", false}, {"CLUSTERS", false}, {"DETAILS", false}, {"STRIKES", false},
                   {"LEFT", false}, {"VERBS", true},  {"RESOURCES", true}, {"USERS", true}};
  table.empty_text = "No faults found.";
  for (const Json& fault : list_at(answer, {"items"})) {
    if (!all && std::erase(missing, str(fault, {"id"})) == 0) continue;
    const auto limit = num(fault, {"count"});
    const auto strikes = std::to_string(num(fault, {"strikes"})) + (limit > 0 ? "/" + std::to_string(limit) : "");
    table.rows.push_back({str(fault, {"id"}), str(fault, {"kind"}), joined_or(fault, "clusters", "*"), details_of(fault), strikes,
                          str(fault, {"left"}), joined_or(fault, "verbs", "*"), joined_or(fault, "resources", "*"),
                          joined_or(fault, "users", "*")});
    report.names.push_back("fault/" + str(fault, {"id"}));
    Json item = fault;
    item["fault"] = str(fault, {"kind"});
    item["kind"] = "Fault";
    report.data["items"].push_back(std::move(item));
  }
  report.table = std::move(table);
  for (const std::string& id : missing) {
    if (args.size() == 1) return no_fault(id, options.name);
    report.failures.push_back(no_fault(id, options.name).value());
  }
  return report;
}

Command fault_list_command() {
  Command command;
  command.path = "sandbox fault list";
  command.target = Target::kSilent;
  command.group = "Sandbox";
  command.summary = "List the faults of a running sandbox";
  command.args = {"[ID...]", 0, -1};
  command.aliases = {"sandbox fault get", "get faults", "get fault"};
  command.examples = {{"With filters and hit counts", "fleetadm sandbox fault list -o wide"},
                      {"For a script", "fleetadm sandbox fault list --name test -o json"}};
  command.make = invocation<NamedSandbox>(
      bind_sandbox, [](const NamedSandbox& options, const std::vector<std::string>&) { return check_sandbox(options); },
      list_faults);
  return command;
}

// --- clear ---

struct ClearOptions : NamedSandbox {
  std::vector<std::string> clusters;
  bool all = false;
};

Result<Report> clear(Context& context, const ClearOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(refuse_dry_run(context, "sandbox fault clear"));
  FLEETADM_TRY(const auto clusters, clusters_of(context, options.name, options.clusters));
  const std::vector<std::string> ids = fault_ids(args);
  FLEETADM_TRY(const Json answer,
               ask_sandbox(context, options.name, {{"do", "fault-clear"}, {"ids", ids}, {"clusters", clusters}}));
  Report report;
  report.data = {{"kind", "FaultReport"}, {"cleared", list_at(answer, {"cleared"})}};
  for (const auto& id : string_list_at(answer, {"cleared"})) {
    report.lines.push_back("fault " + id + " cleared");
    report.names.push_back("fault/" + id);
  }
  const auto cleared = string_list_at(answer, {"cleared"});
  for (const auto& id : ids) {
    if (std::find(cleared.begin(), cleared.end(), id) != cleared.end()) continue;
    if (ids.size() == 1) return no_fault(id, options.name);
    report.failures.push_back(no_fault(id, options.name).value());
  }
  if (report.lines.empty() && ids.empty()) report.notes = {"No faults were cleared."};
  return report;
}

Status check_clear(const ClearOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(check_sandbox(options));
  if (args.empty() && options.clusters.empty() && !options.all)
    return fail(Category::kUsage, "name the faults to clear", "or their clusters with --clusters, or --all");
  if (options.all && (!args.empty() || !options.clusters.empty()))
    return fail(Category::kUsage, "--all cannot be combined with faults or clusters");
  return {};
}

Command clear_command() {
  Command command;
  command.path = "sandbox fault clear";
  command.target = Target::kSilent;
  command.group = "Sandbox";
  command.summary = "Remove faults from a running sandbox";
  command.args = {"[ID...]", 0, -1};
  command.examples = {{"One fault", "fleetadm sandbox fault clear f1"},
                      {"All faults of one cluster", "fleetadm sandbox fault clear --cluster c2"},
                      {"All of them", "fleetadm sandbox fault clear --all"}};
  command.make = invocation<ClearOptions>(
      [](FlagSet& flags, ClearOptions& options) {
        bind_sandbox(flags, options);
        clusters_flag(flags, &options.clusters, "the faults of these clusters");
        flags.boolean(&options.all, "all", "every fault");
      },
      check_clear, clear);
  return command;
}

}  // namespace

void register_sandbox_faults(Registry& registry) {
  registry.add(add_command());
  registry.add(fault_list_command());
  registry.add(clear_command());
}

}  // namespace fleetadm::commands
