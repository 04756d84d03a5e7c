# fleetadm_embed(folder): every YAML file under the folder, and every table of facts, becomes data in one generated source file,
# deflated, so that nothing is read from disk at run time. Sets FLEETADM_EMBEDDED_SOURCE.
function(fleetadm_embed folder)
  set(out "${CMAKE_BINARY_DIR}/generated/embedded_${folder}.cc")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.yaml" "${PROJECT_SOURCE_DIR}/${folder}/*.facts")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DROOT=${PROJECT_SOURCE_DIR}/${folder} -P "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
    VERBATIM)
  set(FLEETADM_EMBEDDED_SOURCE "${out}" PARENT_SCOPE)
endfunction()
