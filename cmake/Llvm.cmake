# Finds LLVM and MLIR 22 and defines tenon_llvm_settings and tenon_mlir_settings: include folders and link libraries.
#
# TENON_SHARED_LLVM links libLLVM.so and libMLIR.so (fast links while developing). Off, the static archives are linked, so that
# the plugin carries its own LLVM and shows none of it.
find_package(LLVM 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/llvm)
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)

set(TENON_LLVM_COMPONENTS Core Support Analysis CodeGen SelectionDAG AsmPrinter MC Target TargetParser TransformUtils
    ScalarOpts InstCombine Passes BitWriter X86CodeGen X86AsmParser X86Desc X86Info CACHE STRING "LLVM libraries of the CPU plugin")

add_library(tenon_llvm_settings INTERFACE)
target_include_directories(tenon_llvm_settings SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(tenon_llvm_settings INTERFACE ${llvm_definitions})
target_compile_options(tenon_llvm_settings INTERFACE -Wno-undef -Wno-shadow)

add_library(tenon_mlir_settings INTERFACE)
target_include_directories(tenon_mlir_settings SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS})
target_link_libraries(tenon_mlir_settings INTERFACE tenon_llvm_settings)

if(TENON_SHARED_LLVM)
  target_link_libraries(tenon_llvm_settings INTERFACE LLVM)
  target_link_libraries(tenon_mlir_settings INTERFACE MLIR)
else()
  llvm_map_components_to_libnames(llvm_libs ${TENON_LLVM_COMPONENTS})
  target_link_libraries(tenon_llvm_settings INTERFACE ${llvm_libs})
  target_link_libraries(tenon_mlir_settings INTERFACE MLIRIR MLIRParser MLIRAsmParser MLIRBytecodeReader MLIRBytecodeWriter
                        MLIRFuncDialect MLIRQuantDialect MLIRSparseTensorDialect MLIRTransforms MLIRPass MLIRSupport)
endif()

# tenon_mlir_tablegen(TARGET OUT.inc SOURCE.td ARGS...) runs mlir-tblgen; TARGET collects the outputs.
function(tenon_mlir_tablegen target output source)
  get_filename_component(out ${output} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  get_filename_component(in ${source} ABSOLUTE)
  get_filename_component(dir ${out} DIRECTORY)
  file(MAKE_DIRECTORY ${dir})
  add_custom_command(OUTPUT ${out}
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} -I ${PROJECT_SOURCE_DIR} -I ${MLIR_INCLUDE_DIRS} ${in} -o ${out}
            -d ${out}.d --write-if-changed
    DEPENDS ${in} DEPFILE ${out}.d
    COMMENT "mlir-tblgen ${output}")
  set_property(GLOBAL APPEND PROPERTY TENON_TABLEGEN_${target} ${out})
endfunction()

function(tenon_mlir_tablegen_target target)
  get_property(outs GLOBAL PROPERTY TENON_TABLEGEN_${target})
  add_custom_target(${target} DEPENDS ${outs})
endfunction()
