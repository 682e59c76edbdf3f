# Runs TOOL over the public StableHLO test programs below DATA, when they are there.
#   cmake -DTOOL=... -DDATA=... -DKNOWN=... -P shared_data.cmake
if(NOT EXISTS ${DATA}/testdata)
  message("SKIPPED: ${DATA}/testdata is not there")
  return()
endif()
function(check)
  execute_process(COMMAND ${TOOL} --reference --known ${KNOWN} -j 2 ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "tenon-check failed on ${ARGN}")
  endif()
endfunction()
file(GLOB static ${DATA}/testdata/*.mlir)
check(${static})
# These were made by an interpreter that keeps subnormal numbers.
check(--keep-denormals ${DATA}/testdata/quantized ${DATA}/testdata/interpret ${DATA}/testdata_math)
