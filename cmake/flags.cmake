# Whether the sanitizers check a target's code: with AddressSanitizer that is what is tested, and not the tests, which are compiled
# exactly as in the release tree. There they take half the time, and here none: the compiler cache has them. (ThreadSanitizer has
# to see all code.)
set(sanitized 0)
if(FLEETADM_SANITIZE STREQUAL "thread")
  set(sanitized 1)
elseif(FLEETADM_SANITIZE)
  set(sanitized "$<NOT:$<STREQUAL:$<TARGET_PROPERTY:SOURCE_DIR>,${PROJECT_SOURCE_DIR}/tests>>")
  add_compile_options("$<${sanitized}:-Og>")
endif()

# Compiler and linker flags of every target (measured: hardening costs about 3 % on JSON parsing).
add_library(fleetadm_flags INTERFACE)
target_include_directories(fleetadm_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_definitions(fleetadm_flags INTERFACE FLEETADM_VERSION="v${PROJECT_VERSION}" BOOST_ALL_NO_LIB
                                                    BOOST_ASIO_NO_DEPRECATED JSON_USE_IMPLICIT_CONVERSIONS=0)
target_compile_options(
  fleetadm_flags
  INTERFACE -Wall
            -Wextra
            -Wno-missing-field-initializers # designated initializers leave out what has its default
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wnon-virtual-dtor
            -Wold-style-cast
            -Wformat=2
            -fno-common
            -ffunction-sections
            -fdata-sections
            -fvisibility=hidden
            "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
if(FLEETADM_ROOT) # the last that fits counts: both may lie in the source's folder
  target_compile_options(fleetadm_flags INTERFACE "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build" "-ffile-prefix-map=${FLEETADM_ROOT}=")
endif()
target_link_options(fleetadm_flags INTERFACE -Wl,--as-needed,--gc-sections)

# Under sanitizers g++ warns of what is not so, of uninitialized variables above all, and its manual advises against errors there.
# The release tree compiles the same files.
if(FLEETADM_WERROR)
  target_compile_options(fleetadm_flags INTERFACE "$<$<NOT:${sanitized}>:-Werror>")
endif()

if(FLEETADM_HARDEN)
  # Return addresses are signed. Marks of where branches may go (-fcf-protection, bti) would be 2 % of the code for nothing: Linux
  # heeds them in programs alone of which every part has them, and Debian's C library has none.
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    set(branches -mbranch-protection=pac-ret)
  else()
    set(branches -fcf-protection=none)
  endif()
  set(hardened -fstack-protector-strong -fstack-clash-protection ${branches} -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
               -D_GLIBCXX_ASSERTIONS -ftrivial-auto-var-init=zero)
  target_compile_options(fleetadm_flags INTERFACE "$<$<NOT:${sanitized}>:${hardened}>")
  target_link_options(fleetadm_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack,--build-id)
endif()
if(FLEETADM_HARDEN AND FLEETADM_STATIC)
  target_compile_options(fleetadm_flags INTERFACE "SHELL:-include \"${PROJECT_SOURCE_DIR}/cmake/brief_assertions.h\"")
endif()
# The names of types, which are whole signatures for closures, are for dynamic_cast, of which there is none. Exceptions have theirs
# all the same. (Tests derive from classes, and need the names of those.)
if(FLEETADM_STATIC AND NOT FLEETADM_TESTS)
  target_compile_options(fleetadm_flags INTERFACE -fno-rtti)
endif()
if(FLEETADM_STATIC)
  target_link_options(fleetadm_flags INTERFACE -static-pie)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64) # a byte instead of 24 for most relocations; binutils 2.40 has it for x86 alone
    target_link_options(fleetadm_flags INTERFACE -Wl,-z,pack-relative-relocs)
  endif()
elseif(FLEETADM_HARDEN)
  target_link_options(fleetadm_flags INTERFACE -pie)
endif()

if(FLEETADM_SANITIZE)
  set(checked -fsanitize=${FLEETADM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_compile_options(fleetadm_flags INTERFACE "$<${sanitized}:${checked}>")
  target_link_options(fleetadm_flags INTERFACE -fsanitize=${FLEETADM_SANITIZE})
endif()

# An archive names its objects, and does not hold a second copy of each: 1.3 GB of the two trees that ./dev test builds.
if(NOT FLEETADM_STATIC)
  set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> qc --thin <TARGET> <LINK_FLAGS> <OBJECTS>")
endif()

find_program(FLEETADM_MOLD mold)
if(FLEETADM_MOLD AND NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  target_link_options(fleetadm_flags INTERFACE -fuse-ld=mold)
endif()

find_program(FLEETADM_CCACHE ccache)
if(FLEETADM_CCACHE)
  # Every checkout is served; for a release this one alone: with relative paths, which the maps above do not fit, its debug symbols
  # would be others than without the cache.
  set(base "${PROJECT_SOURCE_DIR}")
  if(FLEETADM_ROOT)
    set(base "")
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env "CCACHE_BASEDIR=${base}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=time_macros,include_file_mtime,include_file_ctime ${FLEETADM_CCACHE})
endif()

# The sources of a target, up to sixteen of neighbouring folders compiled as one (FLEETADM_UNITY): headers are parsed and
# templates instantiated once for all of them, which takes less than a third of the time from nothing. A folder of more is
# divided evenly. CMake's own unity files name sources by absolute paths, so that a compiler cache would not serve another
# checkout, and divide anew behind each new file.
function(fleetadm_unity result target)
  if(NOT FLEETADM_UNITY)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(most 16)
  set(folders "")
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH source "${PROJECT_SOURCE_DIR}" "${source}")
    get_filename_component(folder "${source}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND in_${folder} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(names "") # of units; the sources of NAME are in unit_NAME
  set(room 0)   # in the unit begun last
  foreach(folder IN LISTS folders)
    list(LENGTH in_${folder} count)
    if(count GREATER room)
      math(EXPR parts "(${count} + ${most} - 1) / ${most}")
      math(EXPR size "(${count} + ${parts} - 1) / ${parts}")
      math(EXPR last "${count} - 1")
      foreach(begin RANGE 0 ${last} ${size})
        set(name ${folder}_${begin})
        list(APPEND names ${name})
        list(SUBLIST in_${folder} ${begin} ${size} unit_${name})
      endforeach()
    else()
      list(APPEND unit_${name} ${in_${folder}})
    endif()
    list(LENGTH unit_${name} taken)
    math(EXPR room "${most} - ${taken}")
  endforeach()
  set(units "")
  foreach(name IN LISTS names)
    list(TRANSFORM unit_${name} REPLACE "(.+)" "#include \"\\1\"" OUTPUT_VARIABLE lines)
    list(JOIN lines "\n" text)
    set(unit "${CMAKE_BINARY_DIR}/unity/${target}/${name}.cc")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "${text}\n" @ONLY)
    list(APPEND units "${unit}")
  endforeach()
  # A class of one .cc that holds what is local to that .cc: no other file sees either. And g++ 12 sees an overlap where a
  # literal stands before a std::string (GCC bug 105651), the more it inlines.
  set_source_files_properties(${units} PROPERTIES COMPILE_OPTIONS "-Wno-subobject-linkage;-Wno-restrict")
  set(${result} ${units} PARENT_SCOPE)
endfunction()
