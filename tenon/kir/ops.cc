#include "tenon/kir/kir.h"

namespace tenon::kir {
namespace {

struct OpRow {
  std::string_view name;
  int8_t operands;
};

constexpr OpRow kRows[] = {
#define TENON_KIR_OP(enumerator, name, operands) {#name, operands},
#include "tenon/kir/scalar.def"
#undef TENON_KIR_OP
};

const OpRow& RowOf(Op op) {
  static constexpr OpRow kUnknown = {"unknown", -1};
  const auto i = static_cast<size_t>(op);
  return i < std::size(kRows) ? kRows[i] : kUnknown;
}

}  // namespace

std::string_view OpName(Op op) { return RowOf(op).name; }
int OpOperands(Op op) { return RowOf(op).operands; }

Result<Op> ParseOp(std::string_view name) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].name == name) return static_cast<Op>(i);
  }
  return InvalidArgument("'" + std::string(name) + "' is not an operation of KIR");
}

bool operator==(const Loop& a, const Loop& b) {
  return a.id == b.id && a.types == b.types && a.init == b.init && a.next == b.next && a.condition == b.condition &&
         a.trip_count == b.trip_count && a.body == b.body;
}
bool operator==(const Step& a, const Step& b) { return a.is == b.is; }

}  // namespace tenon::kir
