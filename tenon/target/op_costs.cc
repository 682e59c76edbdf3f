#include "tenon/kir/math.h"
#include "tenon/target/target.h"

namespace tenon::target {

/// Fills a table by text names.
class CostTable {
 public:
  CostTable() { costs_.math_.assign(kir::NumMath(), kMissing); }
  void Op(std::string_view name, int cost) {
    const Result<kir::Op> op = kir::ParseOp(name);
    TENON_CHECK(op.ok());
    costs_.Set(*op, cost);
    ++ops_;
  }
  void Math(std::string_view name, int cost) {
    const Result<kir::MathId> math = kir::MathByName(name);
    TENON_CHECK(math.ok() && costs_.OfMath(*math) == kMissing);
    costs_.SetMath(*math, cost);
    ++math_;
  }
  OpCosts Take() {
    TENON_CHECK(ops_ == kir::kNumOps && math_ == kir::NumMath());
    return std::move(costs_);
  }

 private:
  static constexpr int kMissing = -1;
  OpCosts costs_;
  size_t ops_ = 0;
  size_t math_ = 0;
};

const OpCosts& OpCosts::Standard() {
  static const OpCosts& costs = *new OpCosts([] {
    CostTable table;
#define TENON_OP_COST(name, cost) table.Op(#name, cost);
#define TENON_MATH_COST(name, cost) table.Math(#name, cost);
#include "tenon/target/op_costs.def"
#undef TENON_MATH_COST
#undef TENON_OP_COST
    return table.Take();
  }());
  return costs;
}

int OpCosts::Of(const kir::Node& node) const { return node.op == kir::Op::kMath ? OfMath(node.attr) : Of(node.op); }

}  // namespace tenon::target
