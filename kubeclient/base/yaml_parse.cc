#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <yaml.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/base/yaml_scalars.h"

namespace fleetadm {
namespace {

constexpr int kMaxDepth = 1000;
constexpr std::size_t kMaxNodes = 4'000'000;
constexpr std::size_t kMaxKept = 500'000;
constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&raw); }
  yaml_event_t raw{};
};

struct Place {
  std::size_t line = 0;
  std::size_t column = 0;
};
Place place_of(const Event& event) { return {event.raw.start_mark.line, event.raw.start_mark.column}; }

// What one node came to: its value, how much it holds (aliases repeat that much) and how deep it is.
struct Node {
  Json value;
  std::size_t nodes = 1;
  int height = 1;
  bool merge_key = false;
  Place place;
};

// A sequence or mapping that is being read. The nesting lives in a list of these, not on the thread's stack: it comes from
// the network.
struct Open {
  Node node;
  std::string anchor;
  std::optional<Node> key;
};

std::string_view text_of(const yaml_char_t* data) {
  return data == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    good_ = yaml_parser_initialize(&parser_) == 1;
    if (good_) yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (good_) yaml_parser_delete(&parser_);
  }

  Result<std::vector<YamlDocument>> read() {
    if (!good_) return fail(Category::kInternal, "the YAML reader cannot be made");
    std::vector<YamlDocument> documents;
    while (true) {
      Event event;
      FLEETADM_CHECK(next(event));
      if (event.raw.type == YAML_STREAM_END_EVENT) return documents;
      if (event.raw.type != YAML_DOCUMENT_START_EVENT) continue;
      anchors_.clear();
      decoded_ = repeated_ = kept_ = 0;
      FLEETADM_TRY(YamlDocument document, read_root());
      if (!document.value.is_null()) documents.push_back(std::move(document));
    }
  }

 private:
  Status next(Event& event) {
    if (yaml_parser_parse(&parser_, &event.raw) == 1) return {};
    const char* problem = parser_.problem == nullptr ? "syntax error" : parser_.problem;
    if (parser_.error == YAML_READER_ERROR) {
      const std::string_view before = text_.substr(0, std::min(parser_.problem_offset, text_.size()));
      const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
      const std::size_t start = before.rfind('\n');
      return error_at(Place{line, start == std::string_view::npos ? before.size() : before.size() - start - 1}, problem);
    }
    return error_at(Place{parser_.problem_mark.line, parser_.problem_mark.column}, problem);
  }

  static tl::unexpected<Error> error_at(Place place, std::string_view what) {
    return fail(Category::kInvalid, "malformed YAML at line " + std::to_string(place.line + 1) + ", column " +
                                        std::to_string(place.column + 1) + ": " + std::string(what));
  }
  static tl::unexpected<Error> too_deep(Place place) {
    return error_at(place, "nested deeper than " + std::to_string(kMaxDepth) + " levels");
  }

  // Small texts may repeat themselves freely; large ones less and less, as go-yaml has it.
  Status count(std::size_t nodes, bool repeated, Place place) {
    decoded_ += nodes;
    if (repeated) repeated_ += nodes;
    const auto decoded = static_cast<double>(decoded_);
    const double allowed = decoded <= 400'000     ? 0.99
                           : decoded >= 4'000'000 ? 0.10
                                                  : 0.99 - 0.89 * (decoded - 400'000) / 3'600'000;
    const bool excessive = repeated_ > 100 && decoded_ > 1000 && static_cast<double>(repeated_) / decoded > allowed;
    if (excessive || decoded_ > kMaxNodes) return error_at(place, "the document repeats itself excessively by aliases");
    return {};
  }

  Result<YamlDocument> read_root() {
    YamlDocument document;
    std::vector<Open> open;
    bool first = true;
    while (true) {
      Event event;
      FLEETADM_CHECK(next(event));
      const Place place = place_of(event);
      if (std::exchange(first, false)) document.line = static_cast<int>(place.line) + 1;
      std::optional<Node> done;
      FLEETADM_CHECK(take(event, place, open, done));
      if (!done) continue;
      if (open.empty()) {
        document.value = std::move(done->value);
        return document;
      }
      FLEETADM_CHECK(deliver(open.back(), std::move(*done)));
    }
  }

  // One event: opens a collection, or ends in a node that is `done`.
  Status take(const Event& event, Place place, std::vector<Open>& open, std::optional<Node>& done) {
    switch (event.raw.type) {
      case YAML_ALIAS_EVENT: {
        FLEETADM_TRY(done, read_alias(event, place, open.size()));
        return {};
      }
      case YAML_SCALAR_EVENT: {
        FLEETADM_CHECK(count(1, false, place));
        const bool key = !open.empty() && open.back().node.value.is_object() && !open.back().key;
        FLEETADM_TRY(Node node, read_scalar(event, place, key));
        node.place = place;
        FLEETADM_TRY(done, keep(text_of(event.raw.data.scalar.anchor), std::move(node)));
        return {};
      }
      case YAML_SEQUENCE_START_EVENT: return begin(Json::array(), text_of(event.raw.data.sequence_start.anchor), place, open);
      case YAML_MAPPING_START_EVENT: return begin(Json::object(), text_of(event.raw.data.mapping_start.anchor), place, open);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: {
        if (open.empty()) return error_at(place, "something is out of place");
        Open last = std::move(open.back());
        open.pop_back();
        FLEETADM_TRY(done, keep(last.anchor, std::move(last.node)));
        return {};
      }
      default: return error_at(place, "something is out of place");
    }
  }

  Status begin(Json empty, std::string_view anchor, Place place, std::vector<Open>& open) {
    FLEETADM_CHECK(count(1, false, place));
    if (open.size() >= static_cast<std::size_t>(kMaxDepth)) return too_deep(place);
    if (!anchor.empty()) anchors_[std::string(anchor)] = std::nullopt;
    Open& opened = open.emplace_back();
    opened.node.value = std::move(empty);
    opened.node.place = place;
    opened.anchor = std::string(anchor);
    return {};
  }

  // What has an anchor is copied; nested anchors copy the same nodes again, which must end somewhere.
  Result<Node> keep(std::string_view anchor, Node node) {
    if (anchor.empty()) return node;
    kept_ += node.nodes;
    if (kept_ > kMaxKept) return error_at(node.place, "the document has too much under anchors");
    anchors_[std::string(anchor)] = node;
    return node;
  }

  Result<Node> read_alias(const Event& event, Place place, std::size_t depth) {
    const auto anchor = anchors_.find(std::string(text_of(event.raw.data.alias.anchor)));
    if (anchor == anchors_.end()) return error_at(place, "an alias names an anchor that is not defined before it");
    if (!anchor->second) return error_at(place, "an anchor's value contains itself");
    if (depth + static_cast<std::size_t>(anchor->second->height) > static_cast<std::size_t>(kMaxDepth)) return too_deep(place);
    FLEETADM_CHECK(count(anchor->second->nodes, true, place));
    Node node = *anchor->second;
    node.merge_key = false;
    node.place = place;
    return node;
  }

  // A finished node becomes an item, a key, or a key's value.
  static Status deliver(Open& into, Node node) {
    grow(into.node, node);
    if (into.node.value.is_array()) {
      into.node.value.push_back(std::move(node.value));
      return {};
    }
    if (!into.key) {
      into.key = std::move(node);
      return {};
    }
    const Node key = std::move(*into.key);
    into.key.reset();
    if (key.merge_key) return merge(into.node.value, node.value, node.place);
    FLEETADM_TRY(const std::string name, key_text(key.value, key.place));
    into.node.value[name] = std::move(node.value);
    return {};
  }

  static void grow(Node& parent, const Node& child) {
    parent.nodes += child.nodes;
    parent.height = std::max(parent.height, child.height + 1);
  }

  // A merged mapping overwrites what stands before it and is overwritten by what follows: go-yaml v2 works in the order of
  // the text. In a list of mappings the first wins.
  static Status merge(Json& into, const Json& from, Place place) {
    if (from.is_object()) {
      for (auto it = from.begin(); it != from.end(); ++it) into[it.key()] = *it;
      return {};
    }
    const bool mappings =
        from.is_array() && std::all_of(from.begin(), from.end(), [](const Json& item) { return item.is_object(); });
    if (!mappings) return error_at(place, "a merge key (<<) takes a mapping or a list of mappings");
    for (auto item = from.rbegin(); item != from.rend(); ++item) {
      for (auto it = item->begin(); it != item->end(); ++it) into[it.key()] = *it;
    }
    return {};
  }

  static Result<std::string> key_text(const Json& key, Place place) {
    if (key.is_string()) return key.get_ref<const std::string&>();
    if (key.is_boolean()) return std::string(key.get<bool>() ? "true" : "false");
    if (key.is_number_float()) return yaml::format_float_key(key.get<double>());
    if (key.is_number_integer() && !key.is_number_unsigned()) return std::to_string(key.get<std::int64_t>());
    return error_at(place, "a key is neither text nor a number nor a truth value");
  }

  static Result<Node> read_scalar(const Event& event, Place place, bool key) {
    const auto& scalar = event.raw.data.scalar;
    const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    std::string_view tag = text_of(scalar.tag);
    Node node;
    if (tag.empty() && scalar.plain_implicit == 0) {
      node.value = std::string(text);
      return node;
    }
    if (tag.starts_with(kTagPrefix)) tag.remove_prefix(kTagPrefix.size());
    node.merge_key = text == "<<" && (scalar.plain_implicit != 0 || tag == "merge");
    if (tag == "binary") {
      auto bytes = base64_decode(text);
      if (!bytes) return error_at(place, "a !!binary value is not base64");
      node.value = std::move(*bytes);
      return node;
    }
    static constexpr std::array<std::string_view, 5> kResolved = {"bool", "int", "float", "null", "timestamp"};
    if (!tag.empty() && std::find(kResolved.begin(), kResolved.end(), tag) == kResolved.end()) {
      node.value = std::string(text);
      return node;
    }
    yaml::Scalar resolved = yaml::resolve(text);
    if (!tag.empty() && !fits(tag, resolved.kind)) return error_at(place, "a value does not fit its tag !!" + std::string(tag));
    if (resolved.kind == yaml::ScalarKind::kFloat && !std::isfinite(resolved.value.get<double>()) && !key) {
      return error_at(place, "infinities and NaN have no place in JSON");
    }
    // Kubernetes' decoder has no integers over 2^63-1; a key of that size is an error.
    if (resolved.value.is_number_unsigned() && !key) resolved.value = static_cast<double>(resolved.value.get<std::uint64_t>());
    node.value = std::move(resolved.value);
    return node;
  }

  static bool fits(std::string_view tag, yaml::ScalarKind kind) {
    switch (kind) {
      case yaml::ScalarKind::kBool: return tag == "bool";
      case yaml::ScalarKind::kInt: return tag == "int" || tag == "float";
      case yaml::ScalarKind::kFloat: return tag == "float";
      case yaml::ScalarKind::kNull: return tag == "null";
      case yaml::ScalarKind::kTimestamp: return tag == "timestamp";
      case yaml::ScalarKind::kString: return false;
    }
    return false;
  }

  std::string_view text_;
  yaml_parser_t parser_{};
  bool good_ = false;
  std::map<std::string, std::optional<Node>> anchors_;
  std::size_t decoded_ = 0;
  std::size_t repeated_ = 0;
  std::size_t kept_ = 0;
};

// The values of a stream that is JSON throughout; none where it is not. kubectl, too, reads such text as JSON: YAML knows no
// surrogate pairs.
std::optional<std::vector<YamlDocument>> json_stream(std::string_view text) {
  std::vector<YamlDocument> documents;
  std::size_t at = 0;
  int line = 1;
  while (true) {
    for (; at < text.size() && std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos; ++at)
      line += text[at] == '\n';
    if (at == text.size()) return documents;
    if (text[at] != '{') return {};
    std::size_t end = at;
    int open = 0;
    bool quoted = false;
    do {
      const char c = text[end];
      if (quoted) {
        if (c == '\\') ++end;
        if (c == '"') quoted = false;
      } else if (c == '"') {
        quoted = true;
      } else if (c == '{' || c == '[') {
        ++open;
      } else if (c == '}' || c == ']') {
        --open;
      }
      ++end;
    } while (end < text.size() && open > 0);
    if (end > text.size()) return {};
    const std::string_view piece = text.substr(at, end - at);
    auto value = parse_json(piece);
    if (!value) return {};
    documents.push_back({std::move(*value), line});
    line += static_cast<int>(std::count(piece.begin(), piece.end(), '\n'));
    at = end;
  }
}

}  // namespace

Result<std::vector<YamlDocument>> parse_yaml_documents(std::string_view text) {
  try {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '{') {
      if (auto documents = json_stream(text)) return std::move(*documents);
    }
    return Reader(text).read();
  } catch (const std::exception& error) {
    return fail(Category::kInternal, std::string("YAML: ") + error.what());
  }
}

Result<Json> parse_yaml(std::string_view text) {
  FLEETADM_TRY(auto documents, parse_yaml_documents(text));
  if (documents.size() != 1) {
    return fail(Category::kInvalid,
                documents.empty() ? "the YAML text has no document" : "the YAML text has more than one document");
  }
  return std::move(documents.front().value);
}

}  // namespace fleetadm
