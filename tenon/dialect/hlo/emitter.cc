// HLO modules as StableHLO: functions, regions, and the entry with its attributes. Instructions are in emit_*.cc.

#include "tenon/dialect/hlo/emitter.h"

#include <algorithm>
#include <cctype>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "tenon/dialect/hlo/entry.h"
#include "tenon/dialect/hlo/limits.h"
#include "tenon/dialect/hlo/stablehlo.h"

namespace tenon::hlo {
namespace {

std::string Identifier(std::string_view name) {
  std::string id;
  for (char c : name)
    id.push_back(std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' ? c : '_');
  if (id.empty() || std::isdigit(static_cast<unsigned char>(id[0]))) id.insert(0, "_");
  return id;
}

}  // namespace

Result<mlir::OwningOpRef<mlir::ModuleOp>> ToStablehlo(const Module& module, mlir::MLIRContext* context) {
  return Emitter(module, context).Run();
}

Result<mlir::OwningOpRef<mlir::ModuleOp>> Emitter::Run() {
  mlir::OwningOpRef<mlir::ModuleOp> owned = mlir::ModuleOp::create(b_.getUnknownLoc(), Identifier(module_.name));
  target_ = *owned;
  if (module_.replica_count > 1)
    target_->setAttr("mhlo.num_replicas", b_.getI32IntegerAttr(static_cast<int32_t>(module_.replica_count)));
  if (module_.num_partitions > 1)
    target_->setAttr("mhlo.num_partitions", b_.getI32IntegerAttr(static_cast<int32_t>(module_.num_partitions)));
  names_["main"] = 1;
  max_ops_ = kMaxExtraOps;
  for (const Computation& c : module_.computations)
    max_ops_ += kMaxOpsPerInstruction * static_cast<int64_t>(c.instructions.size());
  TENON_RETURN_IF_ERROR(EmitEntry());
  return owned;
}

mlir::Location Emitter::LocationOf(const Instruction& i) {
  mlir::Location file = b_.getUnknownLoc();
  if (!i.source_file.empty()) {
    file = mlir::FileLineColLoc::get(b_.getContext(), Ref(i.source_file),
                                     static_cast<unsigned>(std::max(i.source_line, 0)), 0);
  }
  return mlir::NameLoc::get(b_.getStringAttr(Ref(i.name)), file);
}

mlir::Operation* Emitter::Make(mlir::Location loc, llvm::StringRef name, mlir::ValueRange operands,
                               mlir::TypeRange types, Attrs attrs, unsigned regions) {
  ++ops_;
  mlir::OperationState state(loc, name);
  state.addOperands(operands);
  state.addTypes(types);
  for (const auto& [key, value] : attrs) {
    if (value) state.addAttribute(key, value);
  }
  for (unsigned r = 0; r < regions; ++r) state.addRegion();
  return b_.create(state);
}

Result<mlir::Operation*> Emitter::MakeLike(const At& at, llvm::StringRef name, Attrs attrs, unsigned regions) {
  llvm::SmallVector<mlir::Type> types;
  TENON_RETURN_IF_ERROR(LeafTypes(at.i.shape, types));
  return Make(at.loc, name, Operands(at), types, attrs, regions);
}

void Emitter::Set(mlir::Operation* op, llvm::ArrayRef<mlir::NamedAttribute> attrs) {
  for (const mlir::NamedAttribute& a : attrs) op->setAttr(a.getName(), a.getValue());
}

Values Emitter::Operands(const At& at, size_t from, size_t to) {
  Values all;
  for (size_t n = from; n < std::min(to, at.i.operands.size()); ++n) all.append(at.in(n));
  return all;
}

Status Emitter::Wants(const At& at, size_t operands) const {
  if (at.i.operands.size() != operands)
    return InvalidArgument(fmt::format("{} operands; {} wanted", at.i.operands.size(), operands));
  for (size_t n = 0; n < operands; ++n) {
    if (at.in(n).size() != 1)
      return InvalidArgument(fmt::format("operand {} is {}; an array is wanted", n, ToText(at.shape(n), false)));
  }
  return OkStatus();
}

Status Emitter::WantsCalled(const At& at, size_t computations) const {
  if (at.i.called.size() != computations)
    return InvalidArgument(fmt::format("{} called computations; {} wanted", at.i.called.size(), computations));
  return OkStatus();
}

Result<Values> Emitter::EmitInstruction(const At& at) {
  if (ops_ > max_ops_) return ResourceExhausted(fmt::format("the program expands to more than {} ops", max_ops_));
  const auto handler = Handlers().find(at.i.opcode);
  if (handler == Handlers().end()) return Unimplemented("the opcode is not known or has no StableHLO form");
  TENON_ASSIGN_OR_RETURN(Values values, (this->*handler->second)(at));
  llvm::SmallVector<mlir::Type> types;
  TENON_RETURN_IF_ERROR(LeafTypes(at.i.shape, types));
  if (types.size() != values.size()) {
    return InvalidArgument(fmt::format("its shape {} has {} arrays; the instruction gives {}",
                                       ToText(at.i.shape, false), types.size(), values.size()));
  }
  for (size_t v = 0; v < types.size(); ++v) {
    if (values[v].getType() != types[v]) {
      std::string got;
      llvm::raw_string_ostream(got) << values[v].getType();
      return InvalidArgument(fmt::format("its shape is {}; its operands make it {}", ToText(at.i.shape, false), got));
    }
  }
  return values;
}

Result<Values> Emitter::EmitBody(const Computation& c, const Values& args, bool in_scalar_region) {
  std::vector<Values> values(c.instructions.size());
  // Leaves of each parameter in the flat list.
  size_t next = 0;
  for (uint32_t p : c.parameters) {
    const Instruction& i = c.instructions[p];
    const auto leaves = static_cast<size_t>(CountLeaves(i.shape));
    if (next + leaves > args.size())
      return InvalidArgument(
          fmt::format("computation '{}' gets {} arrays; its parameters have more", c.name, args.size()));
    values[p].append(args.begin() + static_cast<ptrdiff_t>(next), args.begin() + static_cast<ptrdiff_t>(next + leaves));
    next += leaves;
    llvm::SmallVector<mlir::Type> types;
    TENON_RETURN_IF_ERROR(LeafTypes(i.shape, types));
    for (size_t l = 0; l < leaves; ++l) {
      if (values[p][l].getType() == types[l]) continue;
      std::string got;
      llvm::raw_string_ostream(got) << values[p][l].getType();
      return InvalidArgument(fmt::format("parameter '{}' of computation '{}' is {}; it is given {}", i.name, c.name,
                                         ToText(i.shape, false), got));
    }
  }
  if (next != args.size())
    return InvalidArgument(
        fmt::format("computation '{}' gets {} arrays; its parameters have {}", c.name, args.size(), next));
  for (size_t n = 0; n < c.instructions.size(); ++n) {
    const Instruction& i = c.instructions[n];
    if (i.opcode == "parameter") continue;
    const At at{i, c, values, LocationOf(i), in_scalar_region};
    Result<Values> made = EmitInstruction(at);
    if (!made.ok()) {
      // The innermost instruction is the one that matters.
      if (made.status().message().starts_with("HLO instruction")) return std::move(made).status();
      std::string operands;
      for (size_t o = 0; o < std::min<size_t>(i.operands.size(), 8); ++o)
        operands += (o > 0 ? ", " : "") + ToText(at.shape(o), false);
      return std::move(made).status().WithContext(fmt::format("HLO instruction '{}' = {} {}({}) of computation '{}'",
                                                              i.name, ToText(i.shape, false), i.opcode, operands,
                                                              c.name));
    }
    values[n] = std::move(*made);
  }
  return values[c.root];
}

Status Emitter::FillRegion(mlir::Region& region, const Computation& c, mlir::Location loc, bool in_scalar_region,
                           const Values* captured) {
  mlir::OpBuilder::InsertionGuard guard(b_);
  mlir::Block* block = b_.createBlock(&region);
  Values args;
  if (captured != nullptr) {
    args = *captured;
  } else {
    llvm::SmallVector<mlir::Type> types;
    for (uint32_t p : c.parameters) TENON_RETURN_IF_ERROR(LeafTypes(c.instructions[p].shape, types));
    for (mlir::Type t : types) args.push_back(block->addArgument(t, loc));
  }
  TENON_ASSIGN_OR_RETURN(Values results, EmitBody(c, args, in_scalar_region));
  Make(loc, "stablehlo.return", results, {});
  return OkStatus();
}

Result<llvm::StringRef> Emitter::Function(uint32_t computation) {
  if (const auto it = functions_.find(computation); it != functions_.end()) return Ref(it->second);
  const Computation& c = module_.computations[computation];
  std::string name = Identifier(c.name);
  for (int suffix = names_[name]++; suffix > 0;) {
    std::string other = fmt::format("{}_{}", name, suffix);
    suffix = names_[other]++;
    if (suffix == 0) name = std::move(other);
  }
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToEnd(target_.getBody());
  llvm::SmallVector<mlir::Type> inputs, outputs;
  for (uint32_t p : c.parameters) TENON_RETURN_IF_ERROR(LeafTypes(c.instructions[p].shape, inputs));
  TENON_RETURN_IF_ERROR(LeafTypes(c.instructions[c.root].shape, outputs));
  auto function = mlir::func::FuncOp::create(b_, b_.getUnknownLoc(), Ref(name), b_.getFunctionType(inputs, outputs));
  function.setPrivate();
  mlir::Block* block = function.addEntryBlock();
  b_.setInsertionPointToEnd(block);
  TENON_ASSIGN_OR_RETURN(Values results, EmitBody(c, Values(block->args_begin(), block->args_end()), false));
  mlir::func::ReturnOp::create(b_, function.getLoc(), results);
  return Ref(functions_.emplace(computation, std::move(name)).first->second);
}

Result<Values> Emitter::Call(const At& at, uint32_t computation, const Values& args) {
  if (at.in_scalar_region) return EmitBody(module_.computations[computation], args, true);
  TENON_ASSIGN_OR_RETURN(llvm::StringRef name, Function(computation));
  const Computation& c = module_.computations[computation];
  llvm::SmallVector<mlir::Type> types;
  TENON_RETURN_IF_ERROR(LeafTypes(c.instructions[c.root].shape, types));
  return Results(
      Make(at.loc, "func.call", args, types, {{"callee", mlir::FlatSymbolRefAttr::get(b_.getContext(), name)}}));
}

Status Emitter::EmitEntry() {
  const Computation& c = module_.computations[module_.entry];
  b_.setInsertionPointToStart(target_.getBody());
  llvm::SmallVector<mlir::Type> inputs, outputs;
  for (uint32_t p : c.parameters) TENON_RETURN_IF_ERROR(LeafTypes(c.instructions[p].shape, inputs));
  TENON_RETURN_IF_ERROR(LeafTypes(c.instructions[c.root].shape, outputs));
  auto function = mlir::func::FuncOp::create(b_, b_.getUnknownLoc(), "main", b_.getFunctionType(inputs, outputs));
  function.setPublic();
  mlir::Block* block = function.addEntryBlock();
  b_.setInsertionPointToEnd(block);
  TENON_ASSIGN_OR_RETURN(Values results, EmitBody(c, Values(block->args_begin(), block->args_end()), false));
  mlir::func::ReturnOp::create(b_, function.getLoc(), results);
  return SetEntryAttributes(module_, function);
}

}  // namespace tenon::hlo
