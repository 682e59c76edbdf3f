# tenon_add_conformance_test(TEST_NAME PLUGIN_TARGET [ARGUMENTS --skip op.* ...])
# A test for ctest: the conformance suite on a plugin. It passes when all that the plugin's profile claims passes.
function(tenon_add_conformance_test name plugin)
  cmake_parse_arguments(PARSE_ARGV 2 A "" "" "ARGUMENTS")
  add_test(NAME ${name} COMMAND Tenon::tenon-conformance ${A_ARGUMENTS} $<TARGET_FILE:${plugin}>)
  set_tests_properties(${name} PROPERTIES LABELS conformance TIMEOUT 1800)
endfunction()
