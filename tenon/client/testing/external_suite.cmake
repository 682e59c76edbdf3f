# Runs TEST against the plugin at PLUGIN, or at TENON_XLA_PJRT_PLUGIN of the environment.
if(DEFINED ENV{TENON_XLA_PJRT_PLUGIN})
  set(PLUGIN "$ENV{TENON_XLA_PJRT_PLUGIN}")
endif()
if(PLUGIN STREQUAL "")
  message("SKIPPED: TENON_XLA_PJRT_PLUGIN names no plugin")
  return()
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env TENON_TEST_PLUGIN=${PLUGIN} TENON_TEST_OPTIONS=cpu_device_count=2 ${TEST}
                RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${TEST} failed against ${PLUGIN}: ${failed}")
endif()
