// What a crash says: the version, so that a report of it is of use. No memory is read beyond that, so no secret is printed.
#pragma once

namespace fleetadm::cli {

/// Installs handlers for the signals of a crash, on a stack of their own, unless someone else (a sanitizer) has. The process
/// still ends by the signal.
void report_crashes();

}  // namespace fleetadm::cli
