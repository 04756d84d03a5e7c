#include "cli/globals.h"

#include <algorithm>

#include "kubeclient/base/names.h"

namespace fleetadm::cli {

using commands::Complete;
using commands::Flag;
using commands::FlagSet;
using commands::GlobalOptions;

FlagSet global_flags(GlobalOptions& options) {
  FlagSet flags;
  auto name = [](Flag& flag, std::string value, Complete complete = Complete::kNone) {
    flag.value_name = std::move(value);
    flag.complete = complete;
  };
  name(flags.text(&options.config.kubeconfig, "kubeconfig", "kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config"),
       "FILE", Complete::kFiles);
  name(flags.text(&options.config.context, "context", "kubeconfig context to use"), "NAME", Complete::kContexts);
  Flag& ns = flags.text(&options.config.ns, "namespace", "namespace to work in", 'n');
  name(ns, "NAME", Complete::kNamespaces);
  ns.set = [&options](std::string_view value) -> Status {
    if (!value.empty() && !is_dns_label(value))
      return fail(Category::kUsage, "not a valid DNS label (use at most 63 lowercase letters, digits and '-')");
    options.config.ns = value;
    return {};
  };
  name(flags.text(&options.config.as, "as", "user to impersonate (system:serviceaccount:NS:NAME for a service account)"), "USER");
  name(flags.texts(&options.config.as_groups, "as-group", "group to impersonate (may be given more than once)"), "GROUP");
  name(flags.text(&options.config.as_uid, "as-uid", "uid to impersonate"), "UID");
  flags.duration(&options.request_timeout, "request-timeout",
                 "maximum time to wait for each server response (0: the default, 32s)");
  Flag& dry_run = flags.text(
      nullptr, "dry-run",
      "show what would change without changing anything: \"client\" sends no write requests, \"server\" sends them for "
      "validation only");
  dry_run.arity = commands::Arity::kOptionalValue;
  dry_run.no_value = "client";
  dry_run.default_text = "none";
  dry_run.value_name = "none|client|server";
  dry_run.values = {"none", "client", "server"};
  dry_run.complete = Complete::kValues;
  dry_run.set = [&options](std::string_view value) -> Status {
    options.dry_run = value == "client" ? kube::DryRun::kClient : value == "server" ? kube::DryRun::kServer : kube::DryRun::kNone;
    return {};
  };
  name(flags.text(&options.output, "output", "output format", 'o'),
       "table|wide|json|yaml|name|csv|tree|jsonpath=…|custom-columns=…", Complete::kOutput);
  flags.boolean(&options.no_headers, "no-headers", "omit the column headers");
  name(flags.text(&options.sort_by, "sort-by", "sort rows by a column, or by a JSONPath evaluated on each object"),
       "COLUMN|JSONPATH");
  name(flags.comma_texts(&options.columns, "columns", "columns of the table to show, in this order; those of -o wide, too"),
       "NAME,…");
  Flag& color = flags.choice(&options.color, "color", {"auto", "always", "never"},
                             "use colors (auto: on a terminal, unless NO_COLOR is set)");
  color.arity = commands::Arity::kOptionalValue;
  color.no_value = "always";
  // What it says is read from the words, as help needs it before flags are set (refuses_pager).
  Flag& no_pager = flags.text(nullptr, "no-pager", "print long text directly, not with a pager");
  no_pager.arity = commands::Arity::kOptionalValue;
  no_pager.no_value = "true";
  no_pager.value_name.clear();
  no_pager.values = {"true", "false"};
  flags.boolean(&options.quiet, "quiet", "print only results and errors", 'q');
  Flag& verbosity =
      flags.text(nullptr, "v",
                 "log level on stderr, 0-9: 1 connections, 2 watches, 3 retries, 4 writes, 5 requests, 6 their URLs and "
                 "ids, 7 headers, 8 and 9 bodies without secrets",
                 'v');
  verbosity.value_name = "N";
  verbosity.set = [&options](std::string_view value) -> Status {
    if (value.size() != 1 || value[0] < '0' || value[0] > '9') {
      if (value != "10") return fail(Category::kUsage, "must be a number from 0 to 9");
    }
    options.verbosity = value == "10" ? 9 : value[0] - '0';
    return {};
  };
  name(flags.text(&options.trace, "trace", "write one line of JSON per request to this file (method, URL, status, time, sizes)"),
       "FILE", Complete::kFiles);
  flags.boolean(&options.profile, "profile", "print on stderr where the time went");
  return flags;
}

AllFlags all_flags(const FlagSet& own, const FlagSet& globals) {
  AllFlags all;
  all.without_letter.reserve(globals.flags().size());
  for (const Flag& flag : own.flags()) all.list.push_back(&flag);
  const std::size_t owned = all.list.size();
  for (const Flag& flag : globals.flags()) {
    const auto begin = all.list.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(owned);
    if (std::any_of(begin, end, [&](const Flag* mine) { return mine->name == flag.name; })) continue;
    const bool taken = flag.letter != 0 && std::any_of(begin, end, [&](const Flag* mine) { return mine->letter == flag.letter; });
    if (!taken) {
      all.list.push_back(&flag);
      continue;
    }
    Flag& copy = all.without_letter.emplace_back(flag);
    copy.letter = 0;
    all.list.push_back(&copy);
  }
  return all;
}

}  // namespace fleetadm::cli
