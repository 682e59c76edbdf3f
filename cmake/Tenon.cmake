# The two functions through which every folder declares what it builds. One folder is one library.

# tenon_library(NAME base
#   HDRS ...            public headers, each must compile alone
#   SRCS ...            sources (may be empty for a header-only folder)
#   PUBLIC_DEPS ...     folders that the headers import      (checked against scripts/layers.txt)
#   PRIVATE_DEPS ...    folders that only the sources import (checked against scripts/layers.txt)
#   LIBS ...            other libraries for the sources
#   MLIR | LLVM         compile against MLIR or LLVM headers and link them
#   PCH                 start from the precompiled header of Pch.cmake: for folders without MLIR
# )
# defines the target tenon_<NAME> and its alias Tenon::<NAME>.
function(tenon_library)
  cmake_parse_arguments(A "MLIR;LLVM;PCH" "NAME" "HDRS;SRCS;PUBLIC_DEPS;PRIVATE_DEPS;LIBS" ${ARGN})
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_library(${A_NAME}): unknown arguments ${A_UNPARSED_ARGUMENTS}")
  endif()
  set(target tenon_${A_NAME})
  if(A_SRCS)
    add_library(${target} STATIC ${A_SRCS})
    set(scope PUBLIC)
    _tenon_compile_settings(${target})
    target_link_libraries(${target} PRIVATE ${A_LIBS})
    list(TRANSFORM A_PRIVATE_DEPS PREPEND tenon_ OUTPUT_VARIABLE private_deps)
    target_link_libraries(${target} PRIVATE ${private_deps})
    _tenon_use_headers(${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  list(TRANSFORM A_PUBLIC_DEPS PREPEND tenon_ OUTPUT_VARIABLE public_deps)
  target_link_libraries(${target} ${scope} ${public_deps})
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}> $<INSTALL_INTERFACE:include>)
  target_compile_features(${target} ${scope} cxx_std_20)
  if(A_MLIR OR A_LLVM)
    # Their headers need the MLIR settings of whoever includes them, which the check of single headers (preset lint) does not have.
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS OFF)
  endif()
  if(A_HDRS)
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${A_HDRS})
  endif()
  add_library(Tenon::${A_NAME} ALIAS ${target})
endfunction()

# tenon_test(NAME base_status_test SRCS status_test.cc DEPS base [LIBS ...] [MLIR|LLVM|PCH] [LABELS unit]
#            [ARGS ...] [ENV NAME=VALUE ...])
# A GoogleTest program that ctest runs as a whole.
function(tenon_test)
  if(NOT TENON_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(A "MLIR;LLVM;PCH" "NAME" "SRCS;DEPS;LIBS;LABELS;ARGS;ENV" ${ARGN})
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_test(${A_NAME}): unknown arguments ${A_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  add_executable(${A_NAME} ${A_SRCS})
  _tenon_compile_settings(${A_NAME})
  list(TRANSFORM A_DEPS PREPEND tenon_ OUTPUT_VARIABLE deps)
  target_link_libraries(${A_NAME} PRIVATE ${deps} ${A_LIBS} GTest::gmock GTest::gtest_main)
  _tenon_use_headers(${A_NAME})
  add_test(NAME ${A_NAME} COMMAND ${A_NAME} ${A_ARGS})
  list(APPEND A_ENV TENON_VERIFY=1)  # The compiler checks what each of its phases makes.
  if(CMAKE_CXX_FLAGS MATCHES "fsanitize=address")
    # LLVM's headers poison arenas that LLVM's library, which is not instrumented, does not unpoison.
    list(APPEND A_ENV ASAN_OPTIONS=allow_user_poisoning=0:allocator_may_return_null=1)
  elseif(CMAKE_CXX_FLAGS MATCHES "fsanitize=thread")
    list(APPEND A_ENV TSAN_OPTIONS=allocator_may_return_null=1)
  endif()
  set_tests_properties(${A_NAME} PROPERTIES LABELS "${A_LABELS}" ENVIRONMENT "${A_ENV}")
endfunction()

# tenon_executable(NAME tenon-check SRCS main.cc DEPS reference [LIBS ...] [MLIR|LLVM|PCH]) puts a program into <build>/bin.
function(tenon_executable)
  cmake_parse_arguments(A "MLIR;LLVM;PCH" "NAME" "SRCS;DEPS;LIBS" ${ARGN})
  add_executable(${A_NAME} ${A_SRCS})
  _tenon_compile_settings(${A_NAME})
  list(TRANSFORM A_DEPS PREPEND tenon_ OUTPUT_VARIABLE deps)
  target_link_libraries(${A_NAME} PRIVATE ${deps} ${A_LIBS})
  # MLIR's archives name libLLVM.so, which no program of a static build uses.
  # Without --exclude-libs a program would export what it has of LLVM to drivers that come with another version of it.
  # Sanitizers want what they replace, memory first, seen by shared libraries.
  target_link_options(${A_NAME} PRIVATE -Wl,--as-needed)
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_link_options(${A_NAME} PRIVATE -Wl,--exclude-libs,ALL)
  endif()
  _tenon_use_headers(${A_NAME})
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# Warnings, visibility and sanitizers that every Tenon source is compiled with.
function(_tenon_compile_settings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wundef -Wshadow -Wimplicit-fallthrough -Wno-unused-parameter
                         -fno-math-errno -ffp-contract=off)
  # g++ 12 sees overlaps in copies of strings that are none (its bug 105651).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  if(TENON_WERROR)
    # What others deprecate, libstdc++ in its own algorithms too, is news and no mistake.
    target_compile_options(${target} PRIVATE -Werror -Wno-error=deprecated-declarations)
  endif()
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        POSITION_INDEPENDENT_CODE ON)
endfunction()

# What the caller's options MLIR, LLVM and PCH ask for. One precompiled header of the MLIR core serves every folder that includes MLIR.
function(_tenon_use_headers target)
  if(A_MLIR)
    target_link_libraries(${target} PRIVATE tenon_mlir_settings)
    _tenon_use_pch(${target} tenon_mlir_pch)
  elseif(A_LLVM)
    target_link_libraries(${target} PRIVATE tenon_llvm_settings)
  endif()
  if(A_PCH)
    _tenon_use_pch(${target} tenon_pch)
  endif()
endfunction()

# _tenon_add_pch(NAME LIBS ... INCLUDES ... HEADERS ...) makes a precompiled header, which _tenon_use_pch lends to others.
function(_tenon_add_pch name)
  cmake_parse_arguments(A "" "" "LIBS;INCLUDES;HEADERS" ${ARGN})
  if(TENON_PCH)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cc CONTENT "// Carries the precompiled header.\n")
    add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cc)
    _tenon_compile_settings(${name})
    target_compile_features(${name} PRIVATE cxx_std_20)
    target_link_libraries(${name} PRIVATE ${A_LIBS})
    target_include_directories(${name} PRIVATE ${A_INCLUDES})
    target_compile_options(${name} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    target_precompile_headers(${name} PRIVATE ${A_HEADERS})
  endif()
endfunction()

# Lets `target` start from the precompiled header of `owner`.
function(_tenon_use_pch target owner)
  if(TENON_PCH)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      # The header was compiled with -fPIC; CMake would give programs -fPIE, which does not match it.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
  endif()
endfunction()
