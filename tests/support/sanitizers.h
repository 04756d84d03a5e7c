// Whether the code under test is checked by a sanitizer: tests are not compiled with one (cmake/flags.cmake).
#pragma once

#include <gtest/gtest.h>

namespace fleetadm::testkit {

bool sanitized();

/// At the beginning of a case that CTest leaves out there, too (cmake/suites.cmake).
#define FLEETADM_NEEDS_NO_SANITIZER()                                                                    \
  do {                                                                                                   \
    if (::fleetadm::testkit::sanitized()) GTEST_SKIP() << "a sanitizer has a heap and files of its own"; \
  } while (false)

}  // namespace fleetadm::testkit
