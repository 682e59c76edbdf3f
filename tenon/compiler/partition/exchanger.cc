#include "tenon/compiler/partition/exchanger.h"

#include <algorithm>
#include <numeric>

#include "mlir/IR/BuiltinTypes.h"
#include "tenon/compiler/partition/expand.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

// Parts that follow each other at both ends are one.
void Add(std::vector<Exchange::Part>& parts, const Exchange::Part& p) {
  if (!parts.empty()) {
    Exchange::Part& last = parts.back();
    if (last.peer == p.peer && last.operand == p.operand && last.from + last.count == p.from &&
        last.to + last.count == p.to) {
      last.count += p.count;
      return;
    }
  }
  parts.push_back(p);
}

}  // namespace

int64_t ElementBytes(mlir::Type element) {
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(element)) return 2 * ElementBytes(complex.getElementType());
  constexpr int64_t kBits = 8;  // structural: bits of a byte
  return element.isIntOrFloat() ? std::max<int64_t>(1, element.getIntOrFloatBitWidth() / kBits) : 1;
}

mlir::Value Flat(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x) {
  auto type = mlir::cast<mlir::RankedTensorType>(x.getType());
  return Reshape(b, loc, x, {type.getNumElements()});
}

mlir::Value FlatPart(mlir::OpBuilder& b, mlir::Location loc, mlir::Value flat, int64_t offset, int64_t count) {
  return Slice(b, loc, flat, {offset}, {count});
}

mlir::Value Exchanger::Run(mlir::OpBuilder& b, mlir::Location loc, mlir::Type element,
                           const std::vector<Transfer>& transfers) {
  Exchange exchange;
  std::vector<mlir::Value> operands;
  const auto operand = [&](mlir::Value v) {
    const auto at = std::find(operands.begin(), operands.end(), v);
    if (at != operands.end()) return static_cast<int>(at - operands.begin());
    operands.push_back(v);
    return static_cast<int>(operands.size() - 1);
  };
  int64_t here = 0;
  bool moves = false;
  for (const Transfer& t : transfers) {
    if (t.count == 0) continue;
    moves |= t.from != t.to;
    // Parts are merged alike at both ends: the sender counts the receiver's offsets as the receiver does.
    if (t.from == self_ && t.to == self_) {
      Add(exchange.copies, {self_, operand(t.source), t.offset, here, t.count});
    } else if (t.from == self_) {
      exchange.sends.push_back({t.to, operand(t.source), t.offset, 0, t.count});
    } else if (t.to == self_) {
      exchange.receives.push_back({t.from, 0, 0, here, t.count});
    }
    if (t.to == self_) here += t.count;
  }
  const auto type = mlir::RankedTensorType::get({here}, element);
  if (!moves) {
    llvm::SmallVector<mlir::Value> parts;
    for (const Transfer& t : transfers) {
      if (t.to == self_ && t.count > 0) parts.push_back(FlatPart(b, loc, t.source, t.offset, t.count));
    }
    return parts.empty() ? Zeros(b, loc, type) : Concatenate(b, loc, parts, 0);
  }
  exchange.step = counts.steps++;
  for (const Exchange::Part& p : exchange.receives) counts.bytes += p.count * ElementBytes(element);
  if (operands.empty() && here == 0) return Zeros(b, loc, type);
  // Elements from outside that nobody sends are of an operand that is not there: none.
  mlir::OperationState state(loc, stablehlo::CustomCallOp::getOperationName(), operands, {type});
  state.addAttribute("call_target_name",
                     b.getStringAttr(llvm::StringRef(kExchangeTarget.data(), kExchangeTarget.size())));
  state.addAttribute("has_side_effect", b.getBoolAttr(true));
  state.addAttribute("backend_config", b.getStringAttr(PrintExchange(exchange)));
  return b.create(state)->getResult(0);
}

}  // namespace tenon::compiler
