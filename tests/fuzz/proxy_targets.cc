// What a proxy reads of members and clients: answers over HTTP/1.1, and the requests that it writes for them.
#include <algorithm>

#include "core/proxy/hop/answer_parser.h"
#include "core/proxy/hop/request_head.h"
#include "core/proxy/member/member_hop.h"
#include "core/proxy/rules/caller.h"
#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {
namespace {

tl::unexpected<Error> not_so(std::string what) { return fail(Category::kInternal, "broken promise: " + std::move(what)); }

std::string_view next_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

// --- An answer, in pieces: the first byte says of what size, and whether it is to HEAD
// ------------------------------------------

struct ReadAnswer {
  proxy::AnswerParser::Stage stage;
  int status = 0;
  serve::Headers headers;
  std::string body;
  std::size_t taken = 0;
};

ReadAnswer read_answer(std::string_view text, std::size_t piece, bool head_only) {
  using Stage = proxy::AnswerParser::Stage;
  proxy::AnswerParser parser(head_only);
  ReadAnswer out;
  std::string kept;
  const auto goes_on = [&] { return parser.stage() == Stage::kHead || parser.stage() == Stage::kBody; };
  while (!text.empty() && goes_on()) {
    kept += text.substr(0, piece);
    text.remove_prefix(std::min(piece, text.size()));
    while (!kept.empty() && goes_on()) {
      const auto used = parser.put(kept, out.body);
      out.taken += used;
      kept.erase(0, used);
      if (used == 0) break;
    }
  }
  parser.end();
  out.stage = parser.stage();
  out.status = parser.status();
  out.headers = parser.headers();
  return out;
}

Result<std::string> run_answer(std::string_view input) {
  using Stage = proxy::AnswerParser::Stage;
  if (input.empty()) return "empty";
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  const bool head_only = (choice & 0x80U) != 0;
  const auto whole = read_answer(input, input.size() + 1, head_only);
  const auto pieces = read_answer(input, (choice & 0x7FU) + 1U, head_only);
  if (whole.stage != pieces.stage) return not_so("pieces decide whether an answer is good");
  if (whole.stage == Stage::kBroken) return "broken";
  if (whole.stage != Stage::kWhole) return not_so("an answer that is over, and is not");
  if (whole.status != pieces.status || whole.headers != pieces.headers || whole.body != pieces.body ||
      whole.taken != pieces.taken)
    return not_so("pieces decide what an answer is");
  if (whole.status < 100 || whole.status > 999) return not_so("no such status");
  if (whole.body.size() > input.size()) return not_so("a body from nowhere");
  std::size_t lengths = 0;
  std::size_t encodings = 0;
  for (const auto& [name, value] : whole.headers) {
    if (name.empty() || has_controls(name) || has_controls(value)) return not_so("a header with control characters");
    lengths += name == "content-length" ? 1 : 0;
    encodings += name == "transfer-encoding" ? 1 : 0;
  }
  if (encodings > 1 || (encodings > 0 && lengths > 0)) return not_so("a body that can be read in two ways");
  return std::to_string(whole.status / 100) + " " + std::to_string(whole.headers.size()) + (encodings > 0 ? " chunked" : "") +
         (lengths > 0 ? " length" : "") + (whole.body.empty() ? "" : " body");
}

// --- A request as it comes out of a tunnel: "METHOD path?query", then "name: value" lines
// ---------------------------------------

Result<std::string> run_request(std::string_view input) {
  static const auto address = *proxy::parse_server("https://127.0.0.1:6443");
  serve::HttpRequest request;
  const auto first = next_line(input);
  const auto blank = std::min(first.find(' '), first.size());
  request.method = first.substr(0, blank);
  const auto target = first.substr(std::min(blank + 1, first.size()));
  const auto mark = std::min(target.find('?'), target.size());
  request.path = target.substr(0, mark);
  request.query = target.substr(std::min(mark + 1, target.size()));
  while (!input.empty()) {
    const auto line = next_line(input);
    const auto colon = line.find(": ");
    if (colon != std::string_view::npos) request.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  const auto actor = proxy::read_actor(request.headers);
  const auto acting = proxy::acting_request(std::move(request));
  if (!acting) return "refused " + shape_of(acting.error().message);
  if (!actor) return not_so("somebody acts for nobody");
  const auto* caller = std::get_if<proxy::Caller>(&*actor);
  std::size_t users = 0;
  std::size_t tokens = 0;
  for (const auto& [name, value] : acting->headers) {
    const bool group = name == "impersonate-group";
    users += name == "impersonate-user" ? 1 : 0;
    tokens += name == "authorization" ? 1 : 0;
    if (name == "impersonate-user" && (caller == nullptr || value != caller->name)) return not_so("another user");
    if (group && (caller == nullptr || std::ranges::find(caller->groups, value) == caller->groups.end()))
      return not_so("another group");
    if ((group || name == "impersonate-user") && value.starts_with("system:")) return not_so("a reserved name");
    if (name.starts_with("x-remote-") || name.starts_with("fleetadm-")) return not_so("a header of the proxy's");
  }
  if (users + tokens != 1) return not_so("nobody, or two");
  const auto head = proxy::write_request_head(*acting, address, {}, {}, {});
  if (!head) return "unwritable " + shape_of(head.error().message);
  const auto lines = std::ranges::count(*head, '\n');
  const bool upgrades = std::ranges::any_of(acting->headers, [](const auto& header) { return header.first == "upgrade"; });
  const auto most = static_cast<std::ptrdiff_t>(acting->headers.size()) + 3;
  if (lines > most || std::ranges::count(*head, '\r') != lines || head->find("\r\n\r\n") != head->size() - 4)
    return not_so("more lines than headers");
  if (!head->starts_with(acting->method + " " + acting->path)) return not_so("another path");
  return std::string(caller == nullptr ? "token " : "caller ") + std::to_string(acting->headers.size()) +
         (upgrades ? " upgrade" : "");
}

const std::vector<std::string_view> kAnswerWords = {"HTTP/1.1 200 OK\r\n",
                                                    "HTTP/1.0 ",
                                                    "101 Switching Protocols\r\n",
                                                    "100 Continue\r\n\r\n",
                                                    "204 No Content\r\n",
                                                    "304 ",
                                                    "Content-Length: ",
                                                    "Transfer-Encoding: chunked\r\n",
                                                    "Connection: close\r\n",
                                                    "Upgrade: SPDY/3.1\r\n",
                                                    "5\r\nhello\r\n",
                                                    "0\r\n\r\n",
                                                    "1;a=\"b\"\r\nx\r\n",
                                                    "X: y\r\n",
                                                    "\r\n",
                                                    "\r\n\r\n",
                                                    "\r\n ",
                                                    "\r",
                                                    "\n"};
const std::vector<std::string_view> kProxyRequestWords = {"GET /api/v1/pods?watch=true\n",
                                                          "POST ",
                                                          "/%2e%2e/",
                                                          "fleetadm-user: alice\n",
                                                          "fleetadm-group: ops\n",
                                                          "fleetadm-uid: 1\n",
                                                          "fleetadm-extra-a: b\n",
                                                          "fleetadm-token: member\n",
                                                          "fleetadm-upgrade: SPDY/3.1\n",
                                                          "authorization: Bearer t\n",
                                                          "impersonate-user: admin\n",
                                                          "impersonate-group: system:masters\n",
                                                          "x-remote-user: admin\n",
                                                          "connection: Upgrade\n",
                                                          "upgrade: websocket\n",
                                                          "system%3amasters",
                                                          "cluster%3ahub%3asystem%3aserviceaccount%3aa%3ab",
                                                          "%20",
                                                          "%0d%0a",
                                                          "%00",
                                                          ": ",
                                                          "\r"};

}  // namespace

std::vector<Target> proxy_targets() {
  return {{"proxy_answer", 4'000, false, kAnswerWords, run_answer},
          {"proxy_request", 4'000, false, kProxyRequestWords, run_request}};
}

}  // namespace fleetadm::fuzz
