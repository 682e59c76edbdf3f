# The precompiled header of the folders without MLIR: what most of their sources include. Sources include all the same what they
# use; a build with TENON_PCH=OFF shows whether they do.
if(TENON_PCH)
  file(WRITE ${PROJECT_BINARY_DIR}/pch.cc "// Carries the precompiled header.\n")
  add_library(tenon_pch OBJECT ${PROJECT_BINARY_DIR}/pch.cc)
  _tenon_compile_settings(tenon_pch)
  target_compile_features(tenon_pch PRIVATE cxx_std_20)
  target_link_libraries(tenon_pch PRIVATE tenon_fmt)
  target_include_directories(tenon_pch PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(tenon_pch PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  target_precompile_headers(tenon_pch PRIVATE <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstdlib>
    <cstring> <functional> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread>
    <unordered_map> <utility> <variant> <vector> <fmt/format.h>
    ${PROJECT_SOURCE_DIR}/tenon/abi/pjrt.h ${PROJECT_SOURCE_DIR}/tenon/base/status.h)
endif()
