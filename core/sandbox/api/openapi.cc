// OpenAPI documents of what is served (docs/reference/kubernetes-api.md#discovery).
#include "core/apimachinery/openapi.h"

#include <algorithm>
#include <array>
#include <openssl/sha.h>

#include "core/sandbox/api/discovery.h"
#include "core/sandbox/engine/custom.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::string_view kServerVersion = "v1.35.4";

using GroupRows = std::vector<std::pair<std::string, std::vector<KindPtr>>>;  // "apis/apps/v1" → its rows

std::string place_of(const Kind& row) {
  return row.group.empty() ? "api/" + row.version : "apis/" + row.group + "/" + row.version;
}

GroupRows places_of(const std::vector<KindPtr>& rows) {
  GroupRows out;
  for (const auto& row : rows) {
    const auto place = place_of(*row);
    auto at = std::find_if(out.begin(), out.end(), [&](const auto& one) { return one.first == place; });
    if (at == out.end()) at = out.insert(out.end(), {place, {}});
    at->second.push_back(row);
  }
  return out;
}

std::vector<apimachinery::OpenApiResource> resources_of(const std::vector<KindPtr>& rows) {
  std::vector<apimachinery::OpenApiResource> resources;
  for (const auto& row : rows) {
    apimachinery::OpenApiResource one;
    one.plural = row->plural;
    one.kind = row->kind;
    one.namespaced = row->namespaced;
    one.verbs = row->verbs;
    for (const auto& sub : row->subresources) one.subresources.push_back(sub.name);
    if (row->custom != nullptr) one.custom_schema = row->custom->schema.get();
    one.list_kind = row->list_kind;
    resources.push_back(std::move(one));
  }
  return resources;
}

serve::HttpResponse answer_document(const serve::ApiRequest& request, const OpenApiDocuments::Document& document,
                                    bool immutable) {
  serve::HttpResponse out;
  const auto tag = "\"" + document.hash + "\"";
  out.headers = {{"content-type", "application/json"}, {"etag", tag}, {"vary", "Accept"}};
  if (immutable) out.headers.emplace_back("cache-control", "public, immutable");
  if (request.http->header("if-none-match") == tag) {
    out.status = 304;
  } else {
    out.body = document.body;
  }
  return out;
}

}  // namespace

std::string entity_hash(const std::string& text) {
  std::array<unsigned char, SHA512_DIGEST_LENGTH> digest{};
  SHA512(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char byte : digest) {
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

std::shared_ptr<const OpenApiDocuments::Document> OpenApiDocuments::kept(const std::string& key, const std::vector<KindPtr>& rows,
                                                                         bool whole) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = kept_.find(key); at != kept_.end() && at->second.rows == rows) return at->second.document;
  }
  auto made = std::make_shared<Document>();
  if (whole) {
    std::vector<apimachinery::OpenApiGroup> groups;
    for (const auto& [place, members] : places_of(rows))
      groups.push_back({members.front()->group, members.front()->version, resources_of(members)});
    made->body = dump_json(apimachinery::openapi_v2(groups, kServerVersion));
  } else {
    made->body =
        dump_json(apimachinery::openapi_v3(rows.front()->group, rows.front()->version, resources_of(rows), kServerVersion));
  }
  made->hash = entity_hash(made->body);
  const std::lock_guard lock(mutex_);
  kept_[key] = {rows, made};
  return made;
}

std::shared_ptr<const OpenApiDocuments::Document> OpenApiDocuments::version(const std::string& place,
                                                                            const std::vector<KindPtr>& rows) {
  return kept(place, rows, false);
}

std::shared_ptr<const OpenApiDocuments::Document> OpenApiDocuments::whole(const std::vector<KindPtr>& rows) {
  return kept("", rows, true);
}

namespace {

/// The binary form of the older document, with nothing but its frame ({"swagger": "2.0", "info": {…}, "paths": {}}): kubectl asks
/// for it where the newer one does not know a kind (v1 List), and leaves the checks to the server then.
serve::HttpResponse version_two_frame() {
  const auto field = [](char number, const std::string& bytes) {  // a length-delimited field of under 128 bytes
    return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
  };
  return serve::answer_text(200, field(1, "2.0") + field(2, field(1, "Kubernetes") + field(2, "v1")) + field(8, ""),
                            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
}

}  // namespace

ApiResult<serve::HttpResponse> answer_openapi(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request) {
  const auto rows = state->kinds.all();
  std::string_view path = request.path;
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path == "/openapi/v2") {
    if (request.http->header("accept").find("com.github.proto-openapi.spec.v2") != std::string_view::npos)
      return version_two_frame();
    FLEETADM_CHECK(negotiate(*request.http, {}));
    return answer_document(request, *state->openapi->whole(rows), false);
  }
  constexpr std::string_view kRoot = "/openapi/v3";
  if (!path.starts_with(kRoot)) return serve::answer_text(404, "404 page not found\n");
  path.remove_prefix(kRoot.size());
  Json paths = Json::object();
  for (const auto& [place, members] : places_of(rows)) {
    if (!path.empty() && path.substr(1) != place) continue;
    const auto document = state->openapi->version(place, members);
    const auto url = "/openapi/v3/" + place + "?hash=" + document->hash;
    if (path.empty()) {
      paths[place] = {{"serverRelativeURL", url}};
      continue;
    }
    const auto given = request.query.get("hash");
    if (!given.empty() && given != document->hash) {
      serve::HttpResponse out;
      out.status = 301;
      out.headers = {{"location", url}};
      return out;
    }
    FLEETADM_CHECK(negotiate(*request.http, {}));
    return answer_document(request, *document, !given.empty());
  }
  if (!path.empty()) return serve::answer_text(404, "404 page not found\n");
  return serve::answer_text(200, dump_json({{"paths", std::move(paths)}}));
}

}  // namespace fleetadm::sandbox
