# tenon_add_plugin(NAME SOURCES a.cc ... [LIBRARIES lib ...])
# Makes the target pjrt_plugin_NAME, the file pjrt_plugin_NAME.so: sources on the SDK that define GetPjrtApi, which is all that the file
# exports. It can be loaded into a process that has other plugins, finds its own symbols first, and stays when it is closed, since its
# threads and objects may go on.
function(tenon_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "" "SOURCES;LIBRARIES")
  if(A_UNPARSED_ARGUMENTS OR NOT A_SOURCES)
    message(FATAL_ERROR "tenon_add_plugin(${name}): wants SOURCES, got '${ARGN}'")
  endif()
  set(target pjrt_plugin_${name})
  add_library(${target} MODULE ${A_SOURCES})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_link_libraries(${target} PRIVATE Tenon::plugin ${A_LIBRARIES})
  set_target_properties(${target} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  file(WRITE ${exports} "{ global: GetPjrtApi; local: *; };\n")
  target_link_options(${target} PRIVATE -Wl,--version-script=${exports} -Wl,-Bsymbolic -Wl,--gc-sections -Wl,-z,nodelete)
endfunction()
