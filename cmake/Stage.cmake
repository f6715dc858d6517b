# The target `stage` lays out what the jar carries: libbloomery.so and the libraries it needs, stripped, side by side.
# libbloomery.so looks for them in its own folder and nowhere else.
if(TARGET bloomery)
  set_target_properties(bloomery PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  set(stageFolder "${PROJECT_BINARY_DIR}/lib/linux/x86_64")
  add_custom_command(
    OUTPUT "${stageFolder}/libbloomery.so"
    COMMAND ${CMAKE_COMMAND} -DLIBRARY=$<TARGET_FILE:bloomery> -DFOLDER=${stageFolder} -DSTRIP=${CMAKE_STRIP}
      -DREADELF=${CMAKE_READELF} "-DCANDIDATES=${arrowLibrary};${parquetLibrary};${dnnlLibrary};${gompLibrary}"
      -P "${PROJECT_SOURCE_DIR}/cmake/StageLibraries.cmake"
    DEPENDS bloomery "${PROJECT_SOURCE_DIR}/cmake/StageLibraries.cmake"
    COMMENT "Staging libraries for the jar"
    VERBATIM)
  add_custom_target(stage DEPENDS "${stageFolder}/libbloomery.so")
endif()
