# cmake -D source=… -D tree=… -D targets=… -D werror=… -P: configures and compiles the unit suites under the sanitizers. It gives
# way to the suites that run beside it.
execute_process(COMMAND ${CMAKE_COMMAND} --preset asan -DFLEETADM_WERROR=${werror} WORKING_DIRECTORY "${source}"
                OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
if(code)
  message(FATAL_ERROR "${output}")
endif()
cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)
execute_process(COMMAND nice -n 19 ${CMAKE_COMMAND} --build "${tree}" --parallel ${jobs} --target ${targets} RESULT_VARIABLE code
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code)
  string(REGEX REPLACE "\n\\[[0-9]+/[0-9]+\\] [^\n]*" "" output "${output}")
  message(FATAL_ERROR "${output}")
endif()
