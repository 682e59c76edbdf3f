#include "tenon/reference/prepared.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "tenon/reference/attributes.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/scalar_body.h"

namespace tenon::reference {
namespace {

bool IsQuantized(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor &&
         !mlir::isa<mlir::IntegerType, mlir::FloatType, mlir::ComplexType, mlir::IndexType>(tensor.getElementType());
}

bool AnyQuantized(mlir::Operation* op) {
  return llvm::any_of(op->getOperandTypes(), IsQuantized) || llvm::any_of(op->getResultTypes(), IsQuantized);
}

}  // namespace

class Preparer {
 public:
  explicit Preparer(PreparedModule& module) : module_(module) {}

  Status Function(llvm::StringRef name, mlir::Region& region) {
    slots_.clear();
    num_slots_ = 0;
    TENON_RETURN_IF_ERROR(Region(region));
    module_.functions_[name] = {name.str(), num_slots_, module_.blocks_[&region.front()].get()};
    return OkStatus();
  }

 private:
  int SlotOf(mlir::Value value) {
    const auto [it, is_new] = slots_.try_emplace(value, num_slots_);
    if (is_new) ++num_slots_;
    return it->second;
  }

  // Values that the regions of `op` use and that are made outside of it.
  static llvm::SetVector<mlir::Value> Captured(mlir::Operation* op) {
    llvm::SetVector<mlir::Value> captured;
    for (mlir::Region& region : op->getRegions()) {
      region.walk([&](mlir::Operation* inner) {
        for (mlir::Value operand : inner->getOperands()) {
          if (!op->isAncestor(operand.getParentBlock()->getParentOp())) captured.insert(operand);
        }
      });
    }
    return captured;
  }

  Status Region(mlir::Region& region) {
    if (region.empty()) return OkStatus();
    if (!region.hasOneBlock()) return Unimplemented("a region of several blocks");
    mlir::Block& source = region.front();
    auto block = std::make_unique<PreparedBlock>();
    for (mlir::BlockArgument argument : source.getArguments()) {
      block->arguments.push_back(argument.use_empty() ? -1 : SlotOf(argument));
      block->argument_types.push_back(ShapeOf(argument.getType()).dtype);
    }
    for (mlir::Operation& op : source) {
      if (&op == &source.back() && op.hasTrait<mlir::OpTrait::IsTerminator>()) {
        for (mlir::Value operand : op.getOperands()) {
          block->returned.push_back({SlotOf(operand), false});
          block->returned_types.push_back(ShapeOf(operand.getType()).dtype);
        }
      } else {
        TENON_RETURN_IF_ERROR(Append(&op, *block));
      }
    }
    MarkLastUses(source, *block);
    block->scalar = ScalarBody::Make(*block);
    module_.blocks_[&source] = std::move(block);
    return OkStatus();
  }

  Status Append(mlir::Operation* op, PreparedBlock& block) {
    for (mlir::Region& region : op->getRegions()) TENON_RETURN_IF_ERROR(Region(region));
    Step step;
    step.op = op;
    const std::string_view name(op->getName().getStringRef());
    for (mlir::Value operand : op->getOperands()) step.operands.push_back({SlotOf(operand), false});
    for (mlir::Value result : op->getResults()) step.results.push_back(result.use_empty() ? -1 : SlotOf(result));
    if (name == "stablehlo.constant" || name == "chlo.constant") {
      TENON_ASSIGN_OR_RETURN(step.constant, ValueOf(op->getAttr("value"), op->getResult(0).getType()));
    } else if (AnyQuantized(op) && !QuantizedOps().empty()) {
      step.handler = QuantizedOps().front().handler;
    } else {
      step.handler = FindHandler(name);
      if (step.handler == nullptr && op->getNumResults() == 1 && op->getNumOperands() <= kMaxKernelOperands) {
        llvm::SmallVector<DType, kMaxKernelOperands> types;
        for (mlir::Type type : op->getOperandTypes()) types.push_back(ShapeOf(type).dtype);
        step.kernel =
            FindKernel(KernelOf(op), types, ShapeOf(op->getResult(0).getType()).dtype, KernelAttributesOf(op));
        if (step.kernel) step.handler = name == "stablehlo.select" ? SelectHandler() : &RunElementwise;
      }
      if (step.handler == nullptr && name == "stablehlo.bitcast_convert") step.handler = BitcastHandler();
    }
    block.steps.push_back(std::move(step));
    return OkStatus();
  }

  // Products with predicates that were made numbers choose, as XLA has it.
  static std::string_view KernelOf(mlir::Operation* op) {
    const std::string_view name(op->getName().getStringRef());
    const DType type = ShapeOf(op->getResult(0).getType()).dtype;
    // Floats of a byte need not have a zero.
    if (name != "stablehlo.multiply" || !(IsFloat(type) || IsComplex(type)) || DTypeBits(type) <= 8) return name;
    for (unsigned i = 0; i < 2; ++i) {
      mlir::Operation* factor = op->getOperand(i).getDefiningOp();
      if (factor != nullptr && factor->getName().getStringRef() == "stablehlo.convert" &&
          ShapeOf(factor->getOperand(0).getType()).dtype == DType::kPred)
        return i == 0 ? kSecondIfTrue : kFirstIfTrue;
    }
    return name;
  }

  // Walks the block backwards; a value of this block is used for the last time where it is met first.
  void MarkLastUses(mlir::Block& source, PreparedBlock& block) {
    llvm::DenseSet<mlir::Value> seen;
    const auto is_ours = [&](mlir::Value value) { return value.getParentBlock() == &source; };
    const auto mark = [&](mlir::Operation* op, std::vector<Step::Use>& uses) {
      for (size_t i = uses.size(); i-- > 0;) {
        const mlir::Value operand = op->getOperand(static_cast<unsigned>(i));
        if (is_ours(operand)) uses[i].last = seen.insert(operand).second;
      }
    };
    if (!source.empty() && block.steps.size() < source.getOperations().size()) mark(&source.back(), block.returned);
    for (size_t s = block.steps.size(); s-- > 0;) {
      Step& step = block.steps[s];
      for (mlir::Value value : Captured(step.op)) {
        if (is_ours(value) && seen.insert(value).second) step.dead.push_back(SlotOf(value));
      }
      mark(step.op, step.operands);
    }
  }

  PreparedModule& module_;
  llvm::DenseMap<mlir::Value, int> slots_;
  int num_slots_ = 0;
};

Result<std::unique_ptr<PreparedModule>> PreparedModule::Make(mlir::ModuleOp module) {
  auto prepared = std::make_unique<PreparedModule>();
  Preparer preparer(*prepared);
  for (mlir::func::FuncOp function : module.getOps<mlir::func::FuncOp>()) {
    if (!function.isExternal()) TENON_RETURN_IF_ERROR(preparer.Function(function.getName(), function.getBody()));
  }
  return prepared;
}

const PreparedFunction* PreparedModule::Find(llvm::StringRef name) const {
  const auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : &it->second;
}

}  // namespace tenon::reference
