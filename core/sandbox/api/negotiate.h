// Which representation a client gets (reference kubernetes-wire.md B.3), and answers in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/sandbox/api/error.h"
#include "core/sandbox/http/message.h"

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
ApiResult<Wanted> negotiate(const HttpRequest& request, const std::vector<std::string>& allowed, bool protobuf = false);

/// The media type of a body without its parameters, in lower case.
std::string media_type(std::string_view header);

HttpResponse answer_json(int status, const Json& value);
HttpResponse answer_text(int status, std::string text, std::string type = "text/plain; charset=utf-8");
/// A JSON text (not parsed again unless another form is wanted).
HttpResponse answer_body(int status, std::string json, const Wanted& wanted);
/// An object of a built-in kind in the form that the client prefers, JSON where it accepts none.
HttpResponse answer_preferred(const HttpRequest& request, int status, const Json& value);
HttpResponse answer_error(const HttpRequest& request, const ApiError& error);
/// A Warning header for each.
void add_warnings(HttpResponse& response, const std::vector<std::string>& warnings);

}  // namespace fleetadm::sandbox
