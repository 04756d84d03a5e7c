#include "cli/render/errors.h"

#include <algorithm>
#include <string_view>

#include "cli/render/machine.h"
#include "commands/framework/reasons.h"
#include "kubeclient/base/log.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::cli {
namespace {

// A server that does not know the fleet's kinds. The client's own hint speaks of CRDs in general; a person wants the command.
bool is_no_hub(const Error& error) {
  return error.reason == kube::kUnknownPath && error.message.find(".open-cluster-management.io/") != std::string::npos;
}

std::string_view usual_hint(const Error& error) {
  switch (error.category) {
    case Category::kAuth:
    case Category::kTls:
    case Category::kUnavailable:
    case Category::kTimeout:
    case Category::kGone: return commands::reason_of(error).remedy;
    case Category::kNotFound:
    case Category::kConflict:
      // What a command itself found missing or in the way has its next step in its own words, if there is one.
      return error.code == 0 && error.reason.empty() ? std::string_view() : commands::reason_of(error).remedy;
    default: return "";
  }
}

}  // namespace

std::string hint_of(const Error& error) {
  if (is_no_hub(error)) return "this cluster is not a hub; check --context, or make it one with: fleetadm init";
  if (error.hint.empty()) return std::string(usual_hint(error));
  return error.message.find(error.hint) == std::string::npos ? error.hint : std::string();
}

bool is_unfinished(const Error& error) { return error.category == Category::kTimeout || error.category == Category::kCancelled; }

int exit_code(Category category) {
  switch (category) {
    case Category::kCancelled: return kExitCancelled;
    case Category::kPartial: return kExitPartial;
    case Category::kAuth: return kExitAuth;
    case Category::kNotFound: return kExitNotFound;
    case Category::kTimeout: return kExitTimeout;
    case Category::kUsage: return kExitUsage;
    case Category::kInternal:
    case Category::kConflict:
    case Category::kInvalid:
    case Category::kUnavailable:
    case Category::kTls:
    case Category::kGone:
    case Category::kUnsupported: return kExitFailure;
  }
  return kExitFailure;
}

int exit_code(const commands::Report& report) {
  const auto& failures = report.failures;
  if (report.exit_code != 0) return report.exit_code;
  if (failures.empty()) return kExitOk;
  // What an interrupt left unfinished is no partial failure.
  if (std::any_of(failures.begin(), failures.end(), [](const Error& error) { return error.category == Category::kCancelled; }))
    return kExitCancelled;
  const bool others = !report.lines.empty() || !report.names.empty() || (report.table && !report.table->rows.empty());
  if (others) return kExitPartial;
  const int first = exit_code(failures.front().category);
  const bool shared =
      std::all_of(failures.begin(), failures.end(), [&](const Error& e) { return exit_code(e.category) == first; });
  return shared ? first : kExitFailure;
}

std::string render_error(const Error& error, bool color) { return render_error(error, hint_of(error), color); }

std::string render_error(const Error& error, const std::string& hint, bool color) {
  std::string out = color ? "\x1b[31merror:\x1b[0m " : "error: ";
  if (!error.cluster.empty()) out += log::escape_terminal(error.cluster) + ": ";
  out += log::escape_terminal(error.message, true);
  if (error.code != 0) {
    out += " (";
    if (!error.reason.empty()) out += log::escape_terminal(error.reason) + ", ";
    out += "HTTP " + std::to_string(error.code) + ")";
  }
  out += "\n";
  if (!hint.empty()) {
    out += color ? "\x1b[36mhint:\x1b[0m " : "hint: ";
    out += log::escape_terminal(hint, true) + "\n";
  }
  return out;
}

std::string render_unfinished(const Unfinished& unfinished, bool color) {
  std::string out;
  for (const std::string& line : unfinished.done) out += (out.empty() ? "done: " : "; ") + log::escape_terminal(line);
  if (!out.empty()) out += "\n";
  if (unfinished.resume.empty()) return out;
  out += color ? "\x1b[36mhint:\x1b[0m " : "hint: ";
  return out + "to continue, run: " + log::escape_terminal(unfinished.resume) + "\n";
}

Json error_document(const Error& error, const std::string& hint, const Unfinished& unfinished) {
  Json out = {{"kind", "Error"}, {"code", exit_code(error.category)}, {"message", error.message}};
  const std::string_view reason = commands::reason_of(error).word;
  out["reason"] = std::string(reason);
  if (!error.reason.empty() && error.reason != reason) out["serverReason"] = error.reason;
  if (error.code != 0) out["status"] = error.code;
  if (!hint.empty()) out["hint"] = hint;
  if (!error.cluster.empty()) out["cluster"] = error.cluster;
  if (!unfinished.done.empty()) out["done"] = unfinished.done;
  if (!unfinished.resume.empty()) out["resume"] = unfinished.resume;
  add_api_version(out);
  return out;
}

}  // namespace fleetadm::cli
