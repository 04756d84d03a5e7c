// Text of programs without what looks like a credential.
#pragma once

#include <string>
#include <string_view>

namespace fleetadm {

/// The text with "<redacted>" in the place of private keys (PEM), JWTs, bootstrap tokens, the word after Bearer and Basic, what
/// stands before an @ in a URL, and the values of names such as password= and token:. Errs towards too much: for logs and
/// messages that leave the house.
std::string redact_text(std::string_view text);

}  // namespace fleetadm
