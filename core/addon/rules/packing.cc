#include "core/addon/rules/packing.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/addon/rules/manifest_marks.h"
#include "core/work/rules/names.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::addon {
namespace {

struct Piece {
  Json manifest;
  std::size_t size = 0;
};

/// The manifests by object, in their order; of two for one object the last one counts.
class Pieces {
 public:
  explicit Pieces(const std::vector<Json>& manifests) {
    for (const Json& manifest : manifests) {
      const auto [at, is_new] = place_.try_emplace(manifest_key(manifest), pieces_.size());
      if (is_new) pieces_.emplace_back();
      pieces_[at->second] = Piece{manifest, dump_json(manifest).size()};
    }
  }
  /// The piece for an object that an existing work holds, once.
  std::optional<Piece> take(const std::string& key) {
    const auto at = place_.find(key);
    if (at == place_.end()) return std::nullopt;
    Piece piece = std::move(*pieces_[at->second]);
    pieces_[at->second].reset();
    place_.erase(at);
    return piece;
  }
  void give_back(const std::string& key, Piece piece) {
    place_[key] = pieces_.size();
    pieces_.emplace_back(std::move(piece));
  }
  /// What is left, the biggest first.
  std::vector<Piece> rest() {
    std::vector<Piece> left;
    for (std::optional<Piece>& piece : pieces_) {
      if (piece) left.push_back(std::move(*piece));
    }
    std::stable_sort(left.begin(), left.end(), [](const Piece& a, const Piece& b) { return a.size > b.size; });
    return left;
  }

 private:
  std::vector<std::optional<Piece>> pieces_;
  std::map<std::string, std::size_t> place_;
};

struct Packed {
  PackedWork work;
  std::size_t size = 0;

  void add(Piece piece) {
    size += piece.size;
    work.manifests.push_back(std::move(piece.manifest));
  }
};

Status check_sizes(const std::vector<Json>& manifests) {
  for (const Json& manifest : manifests) {
    const std::size_t size = dump_json(manifest).size();
    if (size <= work::kManifestLimit) continue;
    return fail(Category::kInvalid, str(manifest, {"kind"}) + " " + kube::object_key(namespace_of(manifest), name_of(manifest)) +
                                        " has " + std::to_string(size) + " bytes; a work can hold " +
                                        std::to_string(work::kManifestLimit));
  }
  return {};
}

}  // namespace

Result<Packing> pack_manifests(const std::vector<ObjectPtr>& existing, const std::vector<Json>& manifests,
                               const std::function<std::string(std::size_t)>& name_of_index,
                               const std::function<bool(const std::string&)>& taken, rollout::Semantics conduct) {
  const bool strict = conduct == rollout::Semantics::kStrict;
  if (strict) FLEETADM_CHECK(check_sizes(manifests));
  Pieces pieces(manifests);
  std::vector<Packed> packed;
  for (const ObjectPtr& work : existing) {
    Packed& here = packed.emplace_back(Packed{PackedWork{name_of(*work), {}, false}});
    for (const Json& held : list_at(*work, {"spec", "workload", "manifests"})) {
      const std::string key = manifest_key(held);
      std::optional<Piece> piece = pieces.take(key);
      if (!piece) continue;
      if (strict && here.size + piece->size > work::kManifestLimit) {
        here.work.gives_away = true;
        pieces.give_back(key, std::move(*piece));
      } else {
        here.add(std::move(*piece));
      }
    }
  }

  const std::size_t known = packed.size();
  std::size_t index = known;
  const auto new_work = [&] {
    while (strict && taken(name_of_index(index))) index++;
    packed.push_back(Packed{PackedWork{name_of_index(index++), {}, false}});
  };
  for (Piece& piece : pieces.rest()) {
    const auto roomiest = std::min_element(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(known),
                                           [](const Packed& a, const Packed& b) { return a.size < b.size; });
    if (known > 0 && roomiest->size + piece.size < kPackLimit) {
      roomiest->add(std::move(piece));
      continue;
    }
    if (packed.size() == known) new_work();
    const bool nothing_yet = packed.back().work.manifests.empty();
    if (packed.back().size + piece.size >= kPackLimit && !(strict && nothing_yet)) new_work();
    packed.back().add(std::move(piece));
  }

  Packing answer;
  for (std::size_t i = 0; i < packed.size(); i++) {
    if (i < known && packed[i].work.manifests.empty()) {
      answer.emptied.push_back(packed[i].work.name);
    } else {
      answer.works.push_back(std::move(packed[i].work));
    }
  }
  std::stable_partition(answer.works.begin(), answer.works.end(), [](const PackedWork& work) { return !work.gives_away; });
  return answer;
}

}  // namespace fleetadm::addon
