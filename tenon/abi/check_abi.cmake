# Runs the ABI checker of the shared data over our headers, in C and C++. Variables: SHARED (fallback for the environment
# variable TENON_SHARED), SOURCE (repository root), PYTHON, CC.
if(DEFINED ENV{TENON_SHARED})
  set(SHARED $ENV{TENON_SHARED})
endif()
set(checker ${SHARED}/pjrt/check_abi.py)
if(NOT EXISTS ${checker})
  message("SKIPPED: ${checker} does not exist; set TENON_SHARED")
  return()
endif()
set(headers)
foreach(name pjrt layouts ffi shardings memory_descriptions profiler stream abi_version phase_compile raw_buffer host_allocator
        host_memory_allocator callback executable_metadata custom_partitioner cross_host_transfers)
  string(REPLACE "pjrt_pjrt" "pjrt" file pjrt_${name}.h)
  list(APPEND headers ${SOURCE}/tenon/abi/${file})
endforeach()
execute_process(
  COMMAND ${PYTHON} ${checker} ${headers} -I ${SOURCE} --cc ${CC} --types
          --extensions layouts,ffi,shardings,memory_descriptions,profiler,stream,abi_version,phase_compile,raw_buffer,host_allocator,host_memory_allocator,callback,executable_metadata,custom_partitioner,cross_host_transfers
  RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the ABI checker found mismatches")
endif()
