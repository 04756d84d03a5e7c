# fleetadm_embed(folder): every YAML file under the folder becomes a raw string in one generated source file, so that nothing
# is read from disk at run time. Sets FLEETADM_EMBEDDED_SOURCE.
function(fleetadm_embed folder)
  set(out "${CMAKE_BINARY_DIR}/generated/embedded_${folder}.cc")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.yaml")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DROOT=${PROJECT_SOURCE_DIR}/${folder} -P "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
    VERBATIM)
  set(FLEETADM_EMBEDDED_SOURCE "${out}" PARENT_SCOPE)
endfunction()

# fleetadm_embed_text(file symbol): one file as fleetadm::templates::<symbol>, of static storage. Appends to
# FLEETADM_EMBEDDED_SOURCE.
function(fleetadm_embed_text file symbol)
  set(out "${CMAKE_BINARY_DIR}/generated/embedded_${symbol}.cc")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DFILE=${PROJECT_SOURCE_DIR}/${file} -DNAME=${file} -DSYMBOL=${symbol} -P "${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake"
    DEPENDS "${PROJECT_SOURCE_DIR}/${file}" "${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake"
    VERBATIM)
  set(FLEETADM_EMBEDDED_SOURCE "${FLEETADM_EMBEDDED_SOURCE}" "${out}" PARENT_SCOPE)
endfunction()
