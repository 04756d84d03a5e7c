# Test suites as CTest knows them: each is one GoogleTest program, run by tests/suite, which keeps its log and report in
# build/results. `ctest --preset NAME` runs them by label; ./dev test builds what they need first.
set(FLEETADM_ASAN_TREE "" CACHE PATH "Build tree of the asan preset, whose unit suites this tree runs, too")

# fleetadm_suite(NAME COMMAND… [ARGUMENTS…] LABELS label… SECONDS limit [COST cost] [SHARE processors] [GIVES_WAY]): what
# waits most of its time takes a smaller share of the processors that `ctest --parallel` has. The costliest begin first. What
# computes all the time gives way to what waits: it takes what the others leave of the processors.
function(fleetadm_suite name)
  cmake_parse_arguments(suite "GIVES_WAY" "SECONDS;COST;SHARE" "COMMAND;ARGUMENTS;LABELS;NEEDS" ${ARGN})
  set(way "")
  if(suite_GIVES_WAY)
    set(way nice -n 5)
  endif()
  add_test(NAME ${name}
           COMMAND ${way} "${PROJECT_SOURCE_DIR}/tests/suite" ${name} ${suite_SECONDS} ${suite_COMMAND} ${suite_ARGUMENTS}
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  math(EXPR limit "${suite_SECONDS} + 60") # tests/suite ends it before, in order
  set_tests_properties(${name} PROPERTIES LABELS "${suite_LABELS}" TIMEOUT ${limit} SKIP_RETURN_CODE 77
                                          ENVIRONMENT "FLEETADM_BINARY=$<TARGET_FILE:fleetadm>")
  if(suite_COST)
    set_tests_properties(${name} PROPERTIES COST ${suite_COST})
  endif()
  if(suite_SHARE)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${suite_SHARE})
  endif()
  if(suite_NEEDS)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED "${suite_NEEDS}")
  endif()
endfunction()

# The unit suites once more under the sanitizers, from the tree of the asan preset, which compiles as the first of them.
function(fleetadm_asan_suites)
  if(NOT FLEETADM_ASAN_TREE)
    return()
  endif()
  add_test(NAME asan_build
           COMMAND ${CMAKE_COMMAND} -D "source=${PROJECT_SOURCE_DIR}" -D "tree=${FLEETADM_ASAN_TREE}" -D "targets=${ARGN}"
                   -D "werror=${FLEETADM_WERROR}" -P "${PROJECT_SOURCE_DIR}/cmake/build_asan.cmake")
  set_tests_properties(asan_build PROPERTIES LABELS asan FIXTURES_SETUP asan_tree TIMEOUT 5000 COST 3000)
  foreach(name IN LISTS ARGN)
    fleetadm_suite(asan_${name} COMMAND "${FLEETADM_ASAN_TREE}/tests/${name}" LABELS asan SECONDS 600 SHARE 2 COST 400
                   GIVES_WAY NEEDS asan_tree)
    # Noting where memory was allocated is a quarter of the time with 30 frames, and a sixth with 12: who looks for a fault that was
    # found runs the program by itself, with the default.
    set_property(TEST asan_${name} APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=malloc_context_size=4")
    # These measure the program's own heap, or need a folder without the sanitizers' files.
    set_property(TEST asan_${name} APPEND PROPERTY
                 ENVIRONMENT "GTEST_FILTER=-FleetMemory.*:SpareMemory.*:TunnelMemory.*:ProgramImageTest.TheImageOfThisProgramRuns")
  endforeach()
endfunction()
