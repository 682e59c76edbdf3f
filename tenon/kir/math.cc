#include "tenon/kir/math.h"

#include <memory>
#include <mutex>

#include "tenon/kir/internal/math_functions.h"

namespace tenon::kir {
namespace {

struct Row {
  std::string_view text;
  std::string_view short_name;
  std::string_view long_name;
  DType type;
  int version;
  Graph (*build)();
};

constexpr auto f32 = DType::kF32;
constexpr auto f64 = DType::kF64;
constexpr Row kRows[] = {
#define TENON_KIR_MATH(short_name, long_name, type, version, builder) \
  {#short_name "." #type ".v" #version, #short_name, #long_name, type, version, internal::builder},
#include "tenon/kir/math.def"
#undef TENON_KIR_MATH
};
constexpr uint32_t kNum = std::size(kRows);

struct Built {
  std::once_flag once;
  Graph graph;
};

}  // namespace

const Graph& MathGraph(MathId id) {
  TENON_CHECK(id < kNum);
  static Built* const built = new Built[kNum];  // never destroyed: kernels may be compiled while the process ends
  std::call_once(built[id].once, [id] { built[id].graph = kRows[id].build(); });
  return built[id].graph;
}

std::string_view MathName(MathId id) {
  TENON_CHECK(id < kNum);
  return kRows[id].text;
}

uint32_t NumMath() { return kNum; }

Result<MathId> FindMath(std::string_view function, DType type) {
  int best = -1;
  for (uint32_t i = 0; i < kNum; ++i) {
    const Row& row = kRows[i];
    if (row.type != type || (row.short_name != function && row.long_name != function)) continue;
    if (best < 0 || kRows[best].version < row.version) best = static_cast<int>(i);
  }
  if (best < 0) {
    return NotFound("there is no math function '" + std::string(function) + "' for " + std::string(DTypeName(type)));
  }
  return static_cast<MathId>(best);
}

Result<MathId> MathByName(std::string_view name) {
  for (uint32_t i = 0; i < kNum; ++i) {
    if (kRows[i].text == name) return i;
  }
  return NotFound("there is no math function '" + std::string(name) + "'");
}

}  // namespace tenon::kir
