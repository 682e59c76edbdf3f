# The precompiled header of the folders without MLIR: what most of their sources include. Sources include all the same what they
# use; a build with TENON_PCH=OFF shows whether they do.
_tenon_add_pch(tenon_pch
  LIBS tenon_fmt
  INCLUDES ${PROJECT_SOURCE_DIR}
  HEADERS <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstdlib> <cstring> <functional> <map> <memory>
    <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
    <fmt/format.h> ${PROJECT_SOURCE_DIR}/tenon/abi/pjrt.h ${PROJECT_SOURCE_DIR}/tenon/base/status.h)
