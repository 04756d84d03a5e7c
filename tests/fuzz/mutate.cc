#include "tests/fuzz/mutate.h"

#include <algorithm>

namespace fleetadm::fuzz {

std::string Mutator::changed(const std::string& input, const std::string& other) {
  std::string text = input;
  const std::size_t changes = 1 + below(6);
  for (std::size_t i = 0; i < changes; ++i) {
    if (target_.json && !one_in(4) && change_nodes(text, other)) continue;
    change_bytes(text, other);
  }
  if (text.size() > target_.longest) text.resize(target_.longest);
  return text;
}

std::string Mutator::any_word() {
  if (!target_.words.empty() && !one_in(8)) return std::string(target_.words[below(target_.words.size())]);
  return std::string(1, static_cast<char>(below(256)));
}

void Mutator::change_bytes(std::string& text, const std::string& other) {
  const std::size_t at = below(text.size() + 1);
  const std::size_t some = std::min(text.size() - at, 1 + below(one_in(4) ? 64 : 6));
  switch (below(9)) {
    case 0: text.erase(at, some); break;
    case 1: text.insert(at, any_word()); break;
    case 2: text.replace(at, some, any_word()); break;
    case 3:
      if (at < text.size()) text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << below(8)));
      break;
    case 4: text.insert(at, text.substr(at, some)); break;
    case 5: {  // again and again: depth and length
      const std::string piece = text.substr(at, some);
      std::string many;
      for (std::size_t i = 2 + below(60); i > 0 && many.size() < target_.longest; --i) many += piece;
      text.insert(at, many);
      break;
    }
    case 6: {
      const std::size_t from = below(other.size() + 1);
      text.insert(at, other.substr(from, 1 + below(80)));
      break;
    }
    case 7: {
      const std::size_t from = below(other.size() + 1);
      text = text.substr(0, at) + other.substr(from);
      break;
    }
    default: {  // two pieces change places
      if (text.size() < 2) break;
      const std::size_t middle = below(text.size());
      const std::size_t end = middle + below(text.size() - middle);
      std::rotate(text.begin() + static_cast<std::ptrdiff_t>(std::min(at, middle)),
                  text.begin() + static_cast<std::ptrdiff_t>(middle), text.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
}

Json* Mutator::any_node(Json& root) {
  Json* at = &root;
  while ((at->is_object() || at->is_array()) && !at->empty() && !one_in(5)) {
    auto next = at->begin();
    std::advance(next, static_cast<std::ptrdiff_t>(below(at->size())));
    at = &*next;
  }
  return at;
}

Json Mutator::any_value(const Json& other) {
  switch (below(4)) {
    case 0: {
      Json copy = other;
      return *any_node(copy);
    }
    case 1: {
      const std::int64_t numbers[] = {0, 1, -1, 2, 10, 100, 101, 2147483647, -2147483648LL, INT64_MAX, INT64_MIN};
      return numbers[below(std::size(numbers))];
    }
    case 2: {
      const std::string word = any_word();
      if (auto value = parse_json(word)) return std::move(*value);
      return parse_json("\"" + word + "\"") ? Json(word) : Json("x");
    }
    default: {
      const Json values[] = {Json(),    Json::array(), Json::object(), Json(true), Json(false),
                             Json(0.5), Json(""),      Json("100%"),   Json("-5m")};
      return values[below(std::size(values))];
    }
  }
}

void Mutator::change_node(Json& root, const Json& other) {
  Json& node = *any_node(root);
  if (node.is_object() && !node.empty() && !one_in(3)) {
    auto member = node.begin();
    std::advance(member, static_cast<std::ptrdiff_t>(below(node.size())));
    if (one_in(2)) {
      node.erase(member);
    } else {
      *member = any_value(other);
    }
  } else if (node.is_object()) {
    const std::string word = any_word();
    if (parse_json("\"" + word + "\"")) node[word] = any_value(other);
  } else if (node.is_array() && !node.empty()) {
    auto element = node.begin();
    std::advance(element, static_cast<std::ptrdiff_t>(below(node.size())));
    if (one_in(3)) {
      node.erase(element);
    } else {
      Json copy = *element;
      if (one_in(2)) change_node(copy, other);
      node.push_back(std::move(copy));
    }
  } else {
    node = any_value(other);
  }
}

bool Mutator::change_nodes(std::string& text, const std::string& other) {
  auto root = parse_json(text);
  if (!root) return false;
  const auto second = parse_json(other);
  change_node(*root, second ? *second : Json());
  text = dump_json(*root);
  return true;
}

}  // namespace fleetadm::fuzz
