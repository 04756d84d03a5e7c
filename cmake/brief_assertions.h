// What the compiler reads first for a release binary without shared libraries (cmake/flags.cmake): an assertion of the C++
// library or of nlohmann/json that fails ends the program without a text of its own. Those texts, with whole signatures in them,
// and the code that passes them take 0.4 MB; the stack in the report of a crash tells where it was.
#pragma once

#include <bits/c++config.h>

#ifdef __glibcxx_assert_impl
#undef __glibcxx_assert_impl
#define __glibcxx_assert_impl(condition)           \
  if (__builtin_expect(!bool(condition), false)) { \
    __glibcxx_constexpr_assert(false);             \
    __builtin_abort();                             \
  }
#endif

#define JSON_ASSERT(condition) (static_cast<bool>(condition) ? static_cast<void>(0) : __builtin_abort())
