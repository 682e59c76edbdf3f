# The functions through which every folder declares what it builds. One folder is one library.

# tenon_library(NAME base
#   HDRS ...            public headers, each must compile alone
#   SRCS ...            sources (may be empty for a header-only folder)
#   PUBLIC_DEPS ...     folders that the headers import      (checked against scripts/layers.txt)
#   PRIVATE_DEPS ...    folders that only the sources import (checked against scripts/layers.txt)
#   LIBS ...            other libraries for the sources
#   MLIR | LLVM         compile against MLIR or LLVM headers and link them
# )
# defines the target tenon_<NAME> and its alias Tenon::<NAME>.
function(tenon_library)
  cmake_parse_arguments(A "MLIR;LLVM" "NAME" "HDRS;SRCS;PUBLIC_DEPS;PRIVATE_DEPS;LIBS" ${ARGN})
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_library(${A_NAME}): unknown arguments ${A_UNPARSED_ARGUMENTS}")
  endif()
  set(target tenon_${A_NAME})
  if(A_SRCS)
    add_library(${target} STATIC ${A_SRCS})
    set(scope PUBLIC)
    _tenon_compile_settings(${target} MLIR ${A_MLIR} LLVM ${A_LLVM})
    target_link_libraries(${target} PRIVATE ${A_LIBS})
    list(TRANSFORM A_PRIVATE_DEPS PREPEND tenon_ OUTPUT_VARIABLE private_deps)
    target_link_libraries(${target} PRIVATE ${private_deps})
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
  # A list (.def) is no header by itself: it has a file set of its own, which is not compiled alone.
  set(lists ${A_HDRS})
  list(FILTER lists INCLUDE REGEX "\\.def$")
  list(FILTER A_HDRS EXCLUDE REGEX "\\.def$")
  if(A_HDRS)
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${A_HDRS})
  endif()
  if(lists)
    target_sources(${target} PUBLIC FILE_SET lists TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${lists})
    set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  endif()
  add_library(Tenon::${A_NAME} ALIAS ${target})
endfunction()

# tenon_test(NAME base_status_test SRCS status_test.cc DEPS base [LIBS ...] [MLIR|LLVM] [LABELS unit]
#            [ARGS ...] [ENV NAME=VALUE ...] [BUILD_ONLY])
# A GoogleTest program that ctest runs as a whole; BUILD_ONLY leaves to the caller how it is run.
function(tenon_test)
  if(NOT TENON_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(A "MLIR;LLVM;BUILD_ONLY" "NAME" "SRCS;DEPS;LIBS;LABELS;ARGS;ENV" ${ARGN})
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_test(${A_NAME}): unknown arguments ${A_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  add_executable(${A_NAME} ${A_SRCS})
  _tenon_compile_settings(${A_NAME} MLIR ${A_MLIR} LLVM ${A_LLVM} TEST ON)
  list(TRANSFORM A_DEPS PREPEND tenon_ OUTPUT_VARIABLE deps)
  target_link_libraries(${A_NAME} PRIVATE ${deps} ${A_LIBS} GTest::gmock GTest::gtest_main)
  if(A_BUILD_ONLY)
    return()
  endif()
  add_test(NAME ${A_NAME} COMMAND ${A_NAME} ${A_ARGS})
  list(APPEND A_ENV TENON_VERIFY=1)  # The compiler checks what each of its phases makes.
  if(CMAKE_CXX_FLAGS MATCHES "fsanitize=address")
    # LLVM's headers poison arenas that LLVM's library, which is not instrumented, does not unpoison.
    list(APPEND A_ENV ASAN_OPTIONS=allow_user_poisoning=0:allocator_may_return_null=1)
  elseif(CMAKE_CXX_FLAGS MATCHES "fsanitize=thread")
    # A test of unwinding takes its backtraces in a signal handler.
    list(APPEND A_ENV
      "TSAN_OPTIONS=allocator_may_return_null=1:report_signal_unsafe=0:suppressions=${PROJECT_SOURCE_DIR}/scripts/tsan.supp")
  endif()
  set_tests_properties(${A_NAME} PROPERTIES LABELS "${A_LABELS}" ENVIRONMENT "${A_ENV}")
endfunction()

# tenon_executable(NAME tenon-check SRCS main.cc DEPS reference [LIBS ...] [MLIR|LLVM] [PCH ...]) puts a program into <build>/bin.
function(tenon_executable)
  cmake_parse_arguments(A "MLIR;LLVM" "NAME;PCH" "SRCS;DEPS;LIBS" ${ARGN})
  add_executable(${A_NAME} ${A_SRCS})
  _tenon_compile_settings(${A_NAME} MLIR ${A_MLIR} LLVM ${A_LLVM} PCH ${A_PCH})
  list(TRANSFORM A_DEPS PREPEND tenon_ OUTPUT_VARIABLE deps)
  target_link_libraries(${A_NAME} PRIVATE ${deps} ${A_LIBS})
  # MLIR's archives name libLLVM.so, which no program of a static build uses.
  # Without --exclude-libs a program would export what it has of LLVM to drivers that come with another version of it.
  # Sanitizers want what they replace, memory first, seen by shared libraries.
  target_link_options(${A_NAME} PRIVATE -Wl,--as-needed)
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_link_options(${A_NAME} PRIVATE -Wl,--exclude-libs,ALL)
  endif()
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# tenon_isa_objects(TARGET FLAGS SOURCES...): an object library of sources for one set of vector instructions; everything else is compiled
# for the baseline. A library takes it among its sources, as $<TARGET_OBJECTS:TARGET>.
function(tenon_isa_objects target flags)
  add_library(${target} OBJECT ${ARGN})
  _tenon_compile_settings(${target} PCH OFF)
  target_compile_options(${target} PRIVATE -O2 ${flags})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} PRIVATE cxx_std_20)
endfunction()

# _tenon_compile_settings(TARGET [MLIR ON] [LLVM ON] [TEST ON] [PCH NAME|OFF]): what every Tenon source is compiled with: warnings,
# visibility, {fmt}, and a precompiled header (Pch.cmake), which PCH OFF leaves out where sources have compiler flags of their own.
function(_tenon_compile_settings target)
  cmake_parse_arguments(A "" "MLIR;LLVM;TEST;PCH" "" ${ARGN})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wundef -Wshadow -Wimplicit-fallthrough -Wno-unused-parameter
                         -fno-math-errno -ffp-contract=off)
  # g++ 12 sees what is not there when it optimises: in copies of strings overlaps (its bug 105651) and reads and writes behind their
  # ends (105329), in what aggregates initialise by default members without values. Texts that snprintf cuts are meant to be cut.
  target_compile_options(${target} PRIVATE
                         "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds;-Wno-maybe-uninitialized;-Wno-format-truncation>")
  if(TENON_WERROR)
    # What others deprecate, libstdc++ in its own algorithms too, is news and no mistake.
    target_compile_options(${target} PRIVATE -Werror -Wno-error=deprecated-declarations)
  endif()
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tenon_fmt>)
  set(pch tenon_pch)
  if(A_MLIR)
    target_link_libraries(${target} PRIVATE tenon_mlir_settings)
    set(pch tenon_mlir_pch)
  elseif(A_LLVM)
    target_link_libraries(${target} PRIVATE tenon_llvm_settings)
    set(pch tenon_llvm_pch)
  endif()
  if(A_TEST AND NOT A_MLIR AND NOT A_LLVM)
    # Assertions are long to optimise and quick to run. What is tested is in libraries, which are compiled as always.
    target_compile_options(${target} PRIVATE ${TENON_TEST_OPTIONS})
    set(pch tenon_test_pch)
  endif()
  if(DEFINED A_PCH)
    set(pch ${A_PCH})
  endif()
  if(TENON_PCH AND pch)
    target_precompile_headers(${target} REUSE_FROM ${pch})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      # The header was compiled with -fPIC; CMake would give programs -fPIE, which does not match it.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
  endif()
endfunction()
