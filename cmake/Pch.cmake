# Precompiled headers: what most sources include, compiled once. _tenon_compile_settings chooses one for each target. Sources include
# all the same what they use; a build with TENON_PCH=OFF shows whether they do.

# What optimises tests (_tenon_compile_settings) and their precompiled header, which must agree.
set(TENON_TEST_OPTIONS -O0)

# _tenon_add_pch(NAME LIBS ... INCLUDES ... OPTIONS ... HEADERS ...) makes a precompiled header.
function(_tenon_add_pch name)
  cmake_parse_arguments(A "" "" "LIBS;INCLUDES;OPTIONS;HEADERS" ${ARGN})
  if(TENON_PCH)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cc CONTENT "// Carries the precompiled header.\n")
    add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cc)
    _tenon_compile_settings(${name} PCH OFF)
    target_compile_features(${name} PRIVATE cxx_std_20)
    target_link_libraries(${name} PRIVATE ${A_LIBS})
    target_include_directories(${name} PRIVATE ${A_INCLUDES})
    target_compile_options(${name} PRIVATE ${A_OPTIONS} "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    target_precompile_headers(${name} PRIVATE ${A_HEADERS})
  endif()
endfunction()

set(common <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstdlib> <cstring> <functional> <map> <memory>
    <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
    <fmt/format.h>)
set(abi ${PROJECT_SOURCE_DIR}/tenon/abi/pjrt.h ${PROJECT_SOURCE_DIR}/tenon/base/status.h)

_tenon_add_pch(tenon_pch INCLUDES ${PROJECT_SOURCE_DIR} HEADERS ${common} ${abi})
if(TENON_BUILD_TESTS)
  _tenon_add_pch(tenon_test_pch LIBS GTest::gmock GTest::gtest INCLUDES ${PROJECT_SOURCE_DIR} OPTIONS ${TENON_TEST_OPTIONS}
                 HEADERS ${common} ${abi} <gmock/gmock.h> <gtest/gtest.h>)
endif()
if(TENON_BUILD_CPU)
  _tenon_add_pch(tenon_llvm_pch LIBS tenon_llvm_settings
    HEADERS ${common} <llvm/ADT/DenseMap.h> <llvm/ADT/DenseSet.h> <llvm/ADT/SmallVector.h> <llvm/IR/Constants.h> <llvm/IR/Function.h>
      <llvm/IR/IRBuilder.h> <llvm/IR/Instructions.h> <llvm/IR/IntrinsicInst.h> <llvm/IR/Module.h>)
  # With the classes of StableHLO's ops, which most of these sources include and which are generated first.
  _tenon_add_pch(tenon_mlir_pch LIBS tenon_mlir_settings INCLUDES ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
    HEADERS ${common} <mlir/IR/Builders.h> <mlir/IR/BuiltinAttributes.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h>
      <mlir/IR/Diagnostics.h> <mlir/IR/Dialect.h> <mlir/IR/OpDefinition.h> <mlir/IR/OpImplementation.h>
      <mlir/IR/PatternMatch.h> <mlir/IR/SymbolTable.h> <mlir/Bytecode/BytecodeOpInterface.h>
      <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Dialect/Func/IR/FuncOps.h>
      ${PROJECT_SOURCE_DIR}/tenon/dialect/stablehlo/dialect.h)
  if(TENON_PCH)
    add_dependencies(tenon_mlir_pch tenon_stablehlo_inc)
  endif()
endif()
