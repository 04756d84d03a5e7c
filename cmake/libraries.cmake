# Third-party libraries, all from Debian (packaging/build-deps.txt; the README's table says why each).
if(FLEETADM_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a) # of all of them, libcurl as CURL_LIBRARY says (packaging/libcurl)
endif()
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)

# libyaml, yaml-cpp, RE2, nghttp2 and SQLite link statically where the archives are there: each shared library costs start-up time and
# resident memory.
find_library(FLEETADM_YAML_ARCHIVE libyaml.a)
find_library(FLEETADM_YAML_CPP_ARCHIVE libyaml-cpp.a)
find_library(FLEETADM_RE2_ARCHIVE libre2.a)
find_library(FLEETADM_NGHTTP2_ARCHIVE libnghttp2.a)
find_library(FLEETADM_SQLITE_ARCHIVE libsqlite3.a)
add_library(fleetadm_libraries INTERFACE)
target_link_libraries(
  fleetadm_libraries INTERFACE Threads::Threads CURL::libcurl OpenSSL::SSL OpenSSL::Crypto
                               $<IF:$<BOOL:${FLEETADM_YAML_ARCHIVE}>,${FLEETADM_YAML_ARCHIVE},PkgConfig::YAML>
                               $<IF:$<BOOL:${FLEETADM_YAML_CPP_ARCHIVE}>,${FLEETADM_YAML_CPP_ARCHIVE},yaml-cpp>
                               $<IF:$<BOOL:${FLEETADM_RE2_ARCHIVE}>,${FLEETADM_RE2_ARCHIVE},PkgConfig::RE2> ZLIB::ZLIB
                               $<IF:$<BOOL:${FLEETADM_NGHTTP2_ARCHIVE}>,${FLEETADM_NGHTTP2_ARCHIVE},PkgConfig::NGHTTP2>
                               $<IF:$<BOOL:${FLEETADM_SQLITE_ARCHIVE}>,${FLEETADM_SQLITE_ARCHIVE},SQLite::SQLite3>
                               m ${CMAKE_DL_LIBS} # what SQLite's archive needs
                               nlohmann_json::nlohmann_json)
