# Run at build time: writes OUT, which defines SYMBOL (a std::string_view) with the bytes of FILE. Pieces of 4,000 characters:
# compilers limit literals.
file(READ "${FILE}" hex HEX)
string(LENGTH "${hex}" length)
math(EXPR bytes "${length} / 2")
set(literal "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${hex}" ${at} 4000 piece)
  string(REGEX REPLACE "(..)" "\\\\x\\1" piece "${piece}")
  string(APPEND literal "\n    \"${piece}\"")
  math(EXPR at "${at} + 4000")
endwhile()
file(WRITE "${OUT}" "// Generated from ${NAME}; not edited by hand.\n#include <string_view>\n\nnamespace fleetadm::templates {\nextern const std::string_view ${SYMBOL};\nconst std::string_view ${SYMBOL}(${literal}, ${bytes});\n}  // namespace fleetadm::templates\n")
