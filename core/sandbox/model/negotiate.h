// Which representation a client gets (docs/reference/kubernetes-api.md#content-negotiation), and answers in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/sandbox/model/error.h"
#include "core/serve/http/message.h"

namespace fleetadm::sandbox {

struct Wanted {
  bool yaml = false;
  bool protobuf = false;
  bool pretty = false;
  std::string as;       // "Table", "PartialObjectMetadata", …; empty: the kind itself
  std::string version;  // of `as`
};

/// `allowed` conversions as "as;group;version"; `protobuf`: the kind itself has that form, as partial metadata of any kind have.
/// 406 where no clause fits.
ApiResult<Wanted> negotiate(const serve::HttpRequest& request, const std::vector<std::string>& allowed, bool protobuf = false);

/// The media type of a body without its parameters, in lower case.
std::string media_type(std::string_view header);

serve::HttpResponse answer_json(int status, const Json& value);
/// A JSON text (not parsed again unless another form is wanted).
serve::HttpResponse answer_body(int status, std::string json, const Wanted& wanted);
/// An object of a built-in kind in the form that the client prefers, JSON where it accepts none.
serve::HttpResponse answer_preferred(const serve::HttpRequest& request, int status, const Json& value);
serve::HttpResponse answer_error(const serve::HttpRequest& request, const ApiError& error);
/// A Warning header for each.
void add_warnings(serve::HttpResponse& response, const std::vector<std::string>& warnings);

}  // namespace fleetadm::sandbox
