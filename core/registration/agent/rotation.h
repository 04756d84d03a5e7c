// When a client certificate is due for renewal (docs/reference/registration.md#certificates).
#pragma once

#include <string>
#include <string_view>

#include "core/registration/agent/hub_secret.h"

namespace fleetadm::registration::agent {

/// The share of its lifetime that is left when a certificate is renewed: between 20 and 25 %, drawn once for each certificate
/// (from its own hash, so that restarts draw the same) so that a fleet that joined together does not renew together.
double renewal_threshold(std::string_view certificate_pem);

struct RenewalPlan {
  bool due = false;
  std::string why;  // where it is due: for people
  Instant at{};     // where it is not due: when it will be
};

/// Before the hub's kubeconfig gets the CAs `next` (PEM) instead of `former`: where one that has gone issued the client
/// certificate, this is due for renewal. The hub will not take it much longer.
void note_authorities(HubSecret& secret, std::string_view former, std::string_view next);

/// Puts a client certificate that was issued `now` in the place of the one before. Where that one was due for the sake of its CA
/// and the hub still signs by the CA that goes, the hub has to be asked again: later and later, a few times in all.
void put_certificate(HubSecret& secret, const std::string& certificate, const std::string& key, Instant now);

/// Due at once where the certificate is missing, unreadable, expired, for another subject or for another key, or where the hub
/// has replaced the CA that issued it; after put_certificate() in time.
RenewalPlan plan_renewal(const HubSecret& secret, const pki::Subject& subject, Instant now);

}  // namespace fleetadm::registration::agent
