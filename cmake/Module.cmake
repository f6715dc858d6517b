# How a folder of native/ becomes a library, and a folder of tests/native/ a test program.

# Everything of ours is compiled this way. Floating point stays as written (no contraction into fused operations),
# so that the same source gives the same bits wherever it runs; nothing is compiled for this machine's processor only.
add_library(bloomery_options INTERFACE)
target_compile_features(bloomery_options INTERFACE cxx_std_20)
target_include_directories(bloomery_options INTERFACE "${PROJECT_SOURCE_DIR}/native")
target_compile_options(bloomery_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  -fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique -ffp-contract=off
  "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(BLOOMERY_SANITIZE)
  target_compile_options(bloomery_options INTERFACE -fsanitize=${BLOOMERY_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(bloomery_options INTERFACE -fsanitize=${BLOOMERY_SANITIZE})
endif()
# Third-party shared libraries are found where scripts/setup put them; what is shipped gets its own path, see Stage.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# bloomery_module(<name> SOURCES <file>... [DEPENDS <target>...]): the static library bloomery_<name>.
# DEPENDS takes module names (base, tensor) or targets (bloomery_base, bloomery::json).
function(bloomery_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_library(bloomery_${name} STATIC ${arg_SOURCES})
  bloomery_depends(bloomery_${name} PUBLIC ${arg_DEPENDS})
endfunction()

# bloomery_test(<name> SOURCES <file>... [DEPENDS <target>...]): a GoogleTest program whose cases ctest knows.
function(bloomery_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_executable(${name} ${arg_SOURCES})
  bloomery_depends(${name} PRIVATE ${arg_DEPENDS} GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/native")
  # GCC 12 sees overlapping copies where a text literal is assigned to a string; there are none.
  target_compile_options(${name} PRIVATE -Wno-restrict)
  target_compile_definitions(${name} PRIVATE BLOOMERY_GOLDEN_DIRECTORY="${PROJECT_SOURCE_DIR}/tests/golden")
  if(BLOOMERY_SANITIZE)
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/native/SanitizerOptions.cc")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES PROPERTIES TIMEOUT 120)
endfunction()

function(bloomery_depends target scope)
  foreach(dependency ${ARGN})
    if(NOT dependency MATCHES "::|^bloomery_")
      set(dependency bloomery_${dependency})
    endif()
    target_link_libraries(${target} ${scope} ${dependency})
  endforeach()
  target_link_libraries(${target} ${scope} bloomery_options)
endfunction()

include(GoogleTest)
