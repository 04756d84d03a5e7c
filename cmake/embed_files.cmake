# Run at build time: writes OUT from every YAML file and table of facts under ROOT, deflated: a fifth of their size. Long texts
# are cut into pieces (compilers limit literals).
file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/*.yaml" "${ROOT}/*.facts")
list(SORT files)
set(packed "${OUT}.gz")
set(rows "")
foreach(name IN LISTS files)
  file(SIZE "${ROOT}/${name}" size)
  file(ARCHIVE_CREATE OUTPUT "${packed}" PATHS "${ROOT}/${name}" FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
  file(READ "${packed}" hex HEX)
  # Without gzip's header, which has the time in it, and what follows the data: a checksum and the size.
  if(NOT hex MATCHES "^1f8b0800")
    message(FATAL_ERROR "${packed}: a header of gzip that is not of ten bytes")
  endif()
  string(LENGTH "${hex}" length)
  math(EXPR length "${length} - 36")
  string(SUBSTRING "${hex}" 20 ${length} hex)
  set(literal "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${hex}" ${at} 4000 piece)
    string(REGEX REPLACE "(..)" "\\\\x\\1" piece "${piece}")
    string(APPEND literal "\n     \"${piece}\"")
    math(EXPR at "${at} + 4000")
  endwhile()
  math(EXPR bytes "${length} / 2")
  string(APPEND rows "    {\"${name}\", std::string_view(${literal}, ${bytes}), ${size}},\n")
endforeach()
file(REMOVE "${packed}")
list(LENGTH files count)
file(WRITE "${OUT}" "// Generated from templates/; not edited by hand.
#include <array>

#include \"templates/embedded.h\"

namespace fleetadm::templates {
static constexpr std::array<Embedded, ${count}> kFiles = {{
${rows}}};
const std::span<const Embedded> kEmbedded = kFiles;
}  // namespace fleetadm::templates
")
