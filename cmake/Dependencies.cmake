# Imported targets for what scripts/setup brought: bloomery::arrow, bloomery::parquet, bloomery::dnnl, bloomery::gloo,
# bloomery::json, bloomery::jni. Their headers count as system headers, so our warnings do not apply to them.

if(NOT EXISTS "${BLOOMERY_DEPENDENCIES}/stamps/gloo")
  message(FATAL_ERROR "Dependencies are missing: run scripts/setup native first")
endif()

find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)

# The JDK's home is rarely exported, but javac is on the path. Only its headers are wanted, never libjvm.
find_program(JAVAC_PROGRAM javac REQUIRED HINTS "$ENV{JAVA_HOME}/bin")
file(REAL_PATH "${JAVAC_PROGRAM}" javac)
cmake_path(SET javaHome NORMALIZE "${javac}/../..")
add_library(bloomery::jni INTERFACE IMPORTED GLOBAL)
target_include_directories(bloomery::jni INTERFACE "${javaHome}/include" "${javaHome}/include/linux")

# bloomery_import(<name> <library file> [INCLUDES <folder>] [LINKS <library>...])
function(bloomery_import name location)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "INCLUDES" "LINKS")
  if(NOT EXISTS "${location}")
    message(FATAL_ERROR "Dependency is missing: ${location}; run scripts/setup native")
  endif()
  add_library(bloomery::${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(bloomery::${name} PROPERTIES IMPORTED_LOCATION "${location}")
  target_include_directories(bloomery::${name} INTERFACE ${arg_INCLUDES})
  target_link_libraries(bloomery::${name} INTERFACE ${arg_LINKS})
endfunction()

file(GLOB arrowFolder "${BLOOMERY_DEPENDENCIES}/venv/lib/python3*/site-packages/pyarrow")
set(arrowLibrary "${arrowFolder}/libarrow.so.2500")
set(parquetLibrary "${arrowFolder}/libparquet.so.2500")
set(dnnlLibrary "${BLOOMERY_DEPENDENCIES}/onednn/libdnnl.so.3")
set(gompLibrary "${BLOOMERY_DEPENDENCIES}/onednn/libgomp.so.1")

# One OpenMP runtime: the one that comes, and is shipped, with oneDNN.
set(OpenMP_gomp_LIBRARY "${gompLibrary}" CACHE FILEPATH "")
find_package(OpenMP REQUIRED COMPONENTS CXX)

bloomery_import(arrow "${arrowLibrary}" INCLUDES "${arrowFolder}/include")
bloomery_import(parquet "${parquetLibrary}" LINKS bloomery::arrow)
bloomery_import(dnnl "${dnnlLibrary}" INCLUDES "${BLOOMERY_DEPENDENCIES}/onednn/include" LINKS OpenMP::OpenMP_CXX)

# Gloo's archive has the OpenSSL it needs inside; neither may be seen by the other libraries.
bloomery_import(gloo "${BLOOMERY_DEPENDENCIES}/gloo/lib/libgloo.a"
  INCLUDES "${BLOOMERY_DEPENDENCIES}/gloo/include" LINKS Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(bloomery::gloo INTERFACE "LINKER:--exclude-libs,libgloo.a")

add_library(bloomery::json ALIAS nlohmann_json::nlohmann_json)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the source folder count from there, so that every clone on a machine finds what another has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${CCACHE_PROGRAM}")
endif()
