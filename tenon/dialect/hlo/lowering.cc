// StableHLO modules as HLO: functions, regions and what they capture. Ops are in lower_*.cc.

#include "tenon/dialect/hlo/lowering.h"

#include <algorithm>
#include <cctype>

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tenon/dialect/hlo/limits.h"
#include "tenon/dialect/hlo/stablehlo.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::hlo {
namespace {

std::string TextOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

int32_t TypeNumber(mlir::Type type) {
  if (auto i = mlir::dyn_cast<mlir::IntegerType>(type)) {
    const bool is_unsigned = i.isUnsigned();
    switch (i.getWidth()) {
      case 1:
        return is_unsigned ? 0 : kPred;
      case 2:
        return is_unsigned ? 27 : 26;
      case 4:
        return is_unsigned ? 22 : 21;
      case 8:
        return is_unsigned ? 6 : 2;
      case 16:
        return is_unsigned ? 7 : 3;
      case 32:
        return is_unsigned ? 8 : 4;
      case 64:
        return is_unsigned ? 9 : 5;
      default:
        return 0;
    }
  }
  if (auto c = mlir::dyn_cast<mlir::ComplexType>(type))
    return c.getElementType().isF32() ? kC64 : c.getElementType().isF64() ? kC128 : 0;
  if (type.isF16()) return kF16;
  if (type.isBF16()) return kBF16;
  if (type.isF32()) return kF32;
  if (type.isF64()) return kF64;
  if (mlir::isa<mlir::Float8E5M2Type>(type)) return 19;
  if (mlir::isa<mlir::Float8E4M3FNType>(type)) return 20;
  if (mlir::isa<mlir::Float8E4M3B11FNUZType>(type)) return 23;
  if (mlir::isa<mlir::Float8E5M2FNUZType>(type)) return 24;
  if (mlir::isa<mlir::Float8E4M3FNUZType>(type)) return 25;
  if (mlir::isa<mlir::Float8E4M3Type>(type)) return 28;
  if (mlir::isa<mlir::Float8E3M4Type>(type)) return 29;
  if (mlir::isa<mlir::Float4E2M1FNType>(type)) return 32;
  if (mlir::isa<mlir::Float8E8M0FNUType>(type)) return 33;
  if (mlir::isa<mlir::Float6E3M2FNType>(type)) return 35;
  if (mlir::isa<mlir::Float6E2M3FNType>(type)) return 36;
  return 0;
}

std::string Sanitized(llvm::StringRef name) {
  std::string id;
  for (char c : name)
    id.push_back(std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ? c : '_');
  if (id.empty() || !(std::isalpha(static_cast<unsigned char>(id[0])) != 0 || id[0] == '_')) id.insert(0, "_");
  return id;
}

bool IsConstant(mlir::Value v) {
  mlir::Operation* op = v.getDefiningOp();
  return op != nullptr &&
         (op->getName().getStringRef() == "stablehlo.constant" || op->getName().getStringRef() == "chlo.constant");
}

}  // namespace

Result<Module> FromStablehlo(mlir::ModuleOp module) { return Lowering(module).Run(); }

Result<Module> Lowering::Run() {
  mlir::func::FuncOp main;
  for (mlir::func::FuncOp f : source_.getOps<mlir::func::FuncOp>()) {
    if (f.isExternal()) continue;
    if (f.getName() == "main" || (!main && f.isPublic())) main = f;
  }
  if (!main) return InvalidArgument("the module has no function main");
  module_.name = source_.getName() ? Sanitized(*source_.getName()) : std::string("main");
  const auto count = [&](llvm::StringRef name) {
    auto value = source_->getAttrOfType<mlir::IntegerAttr>(name);
    return value ? std::max<int64_t>(value.getInt(), 1) : 1;
  };
  module_.replica_count = count("mhlo.num_replicas");
  module_.num_partitions = count("mhlo.num_partitions");
  TENON_ASSIGN_OR_RETURN(module_.entry, Function(main, true));
  const Computation& entry = module_.computations[module_.entry];
  Module::Signature& signature = module_.signature.emplace();
  for (uint32_t p = 0; p < main.getNumArguments(); ++p) signature.parameters.push_back(entry.instructions[p].shape);
  signature.result = entry.instructions[entry.root].shape;
  for (unsigned a = 0; a < main.getNumArguments(); ++a) {
    if (auto alias = main.getArgAttrOfType<mlir::IntegerAttr>(a, "tf.aliasing_output")) {
      Alias& made = module_.aliases.emplace_back();
      made.parameter = a;
      if (main.getNumResults() != 1) made.output_index = {alias.getInt()};
    } else if (auto donor = main.getArgAttrOfType<mlir::BoolAttr>(a, "jax.buffer_donor"); donor && donor.getValue()) {
      module_.donors.push_back({a, {}});
    }
  }
  if (Status s = Check(module_); !s.ok())
    return Internal(std::string(s.message())).WithContext("the HLO that was made is wrong");
  return std::move(module_);
}

Result<Shape> Lowering::ShapeOf(mlir::Type type) {
  Shape shape;
  if (auto tuple = mlir::dyn_cast<mlir::TupleType>(type)) {
    shape.type = kTuple;
    for (mlir::Type t : tuple.getTypes()) {
      TENON_ASSIGN_OR_RETURN(Shape member, ShapeOf(t));
      shape.members.push_back(std::move(member));
    }
    return shape;
  }
  if (mlir::isa<stablehlo::TokenType>(type)) {
    shape.type = kToken;
    return shape;
  }
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape()) return Unimplemented(fmt::format("{} has no HLO shape", TextOf(type)));
  shape.type = TypeNumber(tensor.getElementType());
  if (shape.type == 0) return Unimplemented(fmt::format("elements of {} have no HLO type", TextOf(type)));
  shape.dims.assign(tensor.getShape().begin(), tensor.getShape().end());
  std::vector<int64_t>& order = shape.minor_to_major.emplace();
  for (size_t d = shape.dims.size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
  return shape;
}

Result<Shape> Lowering::ShapeOf(mlir::TypeRange types) {
  if (types.size() == 1) return ShapeOf(types[0]);
  Shape shape;
  shape.type = kTuple;
  for (mlir::Type t : types) {
    TENON_ASSIGN_OR_RETURN(Shape member, ShapeOf(t));
    shape.members.push_back(std::move(member));
  }
  return shape;
}

Instruction Lowering::New(std::string_view opcode, Shape shape) {
  Instruction i;
  i.name = fmt::format("{}.{}", opcode, ++next_name_);
  i.opcode = opcode;
  i.shape = std::move(shape);
  return i;
}

uint32_t Lowering::Append(Body& body, Instruction i) {
  body.computation.instructions.push_back(std::move(i));
  return static_cast<uint32_t>(body.computation.instructions.size() - 1);
}

Result<uint32_t> Lowering::ValueOf(Body& body, mlir::Value v) {
  if (const auto it = body.values.find(v); it != body.values.end()) return it->second;
  if (IsConstant(v)) {
    TENON_ASSIGN_OR_RETURN(const uint32_t made, Constant(body, v.getDefiningOp()->getAttr("value"), v.getType()));
    body.values[v] = made;
    return made;
  }
  return Unimplemented("a region that uses values from outside has no HLO form here");
}

Result<std::vector<uint32_t>> Lowering::OperandsOf(Body& body, mlir::Operation* op) {
  std::vector<uint32_t> operands;
  for (mlir::Value v : op->getOperands()) {
    TENON_ASSIGN_OR_RETURN(const uint32_t operand, ValueOf(body, v));
    operands.push_back(operand);
  }
  return operands;
}

Result<Instruction> Lowering::Like(Body& body, mlir::Operation* op, std::string_view opcode) {
  TENON_ASSIGN_OR_RETURN(Shape shape, ShapeOf(op->getResultTypes()));
  Instruction i = New(opcode, std::move(shape));
  TENON_ASSIGN_OR_RETURN(i.operands, OperandsOf(body, op));
  return i;
}

Status Lowering::Bind(Body& body, mlir::Operation* op, Instruction i) {
  if (auto file = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>()) {
    i.source_file = file.getFilename().str();
    i.source_line = static_cast<int32_t>(file.getLine());
  }
  if (auto name = op->getLoc()->findInstanceOf<mlir::NameLoc>()) i.op_name = name.getName().str();
  const uint32_t made = Append(body, std::move(i));
  if (op->getNumResults() == 1) {
    body.values[op->getResult(0)] = made;
    return OkStatus();
  }
  for (unsigned r = 0; r < op->getNumResults(); ++r) body.values[op->getResult(r)] = Element(body, made, r);
  return OkStatus();
}

uint32_t Lowering::Tuple(Body& body, const std::vector<uint32_t>& members) {
  Shape shape;
  shape.type = kTuple;
  for (uint32_t m : members) shape.members.push_back(body.computation.instructions[m].shape);
  Instruction i = New("tuple", std::move(shape));
  i.operands = members;
  return Append(body, std::move(i));
}

uint32_t Lowering::Element(Body& body, uint32_t tuple, int64_t index) {
  Instruction i =
      New("get-tuple-element", body.computation.instructions[tuple].shape.members[static_cast<size_t>(index)]);
  i.operands = {tuple};
  i.number = index;
  return Append(body, std::move(i));
}

Result<uint32_t> Lowering::Broadcast(Body& body, uint32_t operand, const Shape& shape) {
  Shape wide = shape;
  wide.type = body.computation.instructions[operand].shape.type;
  Instruction i = New("broadcast", std::move(wide));
  i.operands = {operand};
  return Append(body, std::move(i));
}

void Lowering::Collect(mlir::Region& region, Captures& captures) {
  region.walk([&](mlir::Operation* op) {
    for (mlir::Value v : op->getOperands()) {
      mlir::Region* owner = v.getParentRegion();
      if (!region.isAncestor(owner) && !IsConstant(v)) captures.insert(v);
    }
  });
}

uint32_t Lowering::Add(Computation computation) {
  int& uses = computation_names_[computation.name];
  if (uses++ > 0) computation.name = fmt::format("{}.{}", computation.name, ++next_name_);
  module_.computations.push_back(std::move(computation));
  return static_cast<uint32_t>(module_.computations.size() - 1);
}

Status Lowering::Finish(Body& body, const std::vector<uint32_t>& results, bool force_tuple) {
  body.computation.root = results.size() == 1 && !force_tuple ? results[0] : Tuple(body, results);
  return OkStatus();
}

Result<uint32_t> Lowering::Function(mlir::func::FuncOp function, bool entry) {
  if (const auto it = functions_.find(function); it != functions_.end()) return it->second;
  if (function.isExternal()) return InvalidArgument(fmt::format("function {} has no body", function.getName().str()));
  if (!llvm::hasSingleElement(function.getBody()))
    return Unimplemented(fmt::format("function {} has several blocks", function.getName().str()));
  // Recursion is caught by depth: a function is entered here only once its caller is under way.
  if (++depth_ > static_cast<int>(kMaxCallDepth)) return InvalidArgument("functions call each other too deeply");
  Body body;
  body.computation.name = Sanitized(function.getName());
  mlir::Block& block = function.getBody().front();
  for (mlir::BlockArgument argument : block.getArguments()) {
    TENON_ASSIGN_OR_RETURN(Shape shape, ShapeOf(argument.getType()));
    Instruction p = New("parameter", std::move(shape));
    p.number = argument.getArgNumber();
    body.values[argument] = Append(body, std::move(p));
  }
  TENON_RETURN_IF_ERROR(Block(body, block));
  std::vector<uint32_t> results;
  for (mlir::Value v : block.getTerminator()->getOperands()) {
    TENON_ASSIGN_OR_RETURN(const uint32_t r, ValueOf(body, v));
    results.push_back(r);
  }
  TENON_RETURN_IF_ERROR(Finish(body, results, false));
  --depth_;
  const uint32_t index = Add(std::move(body.computation));
  functions_[function] = index;
  return index;
}

Result<uint32_t> Lowering::Region(mlir::Block& block, std::string_view name, const Form& form) {
  if (++depth_ > static_cast<int>(kMaxCallDepth)) return InvalidArgument("regions nest too deeply");
  Body body;
  body.computation.name = name;
  std::vector<mlir::Value> inputs(block.args_begin(), block.args_end());
  if (form.captures != nullptr) inputs.insert(inputs.end(), form.captures->begin(), form.captures->end());
  std::vector<uint32_t> captured;
  if (form.tupled) {
    Shape shape;
    shape.type = kTuple;
    for (mlir::Value v : inputs) {
      TENON_ASSIGN_OR_RETURN(Shape member, ShapeOf(v.getType()));
      shape.members.push_back(std::move(member));
    }
    const uint32_t p = Append(body, New("parameter", std::move(shape)));
    for (size_t n = 0; n < inputs.size(); ++n) {
      body.values[inputs[n]] = Element(body, p, static_cast<int64_t>(n));
      if (n >= block.getNumArguments()) captured.push_back(body.values[inputs[n]]);
    }
  } else {
    for (size_t n = 0; n < inputs.size(); ++n) {
      TENON_ASSIGN_OR_RETURN(Shape shape, ShapeOf(inputs[n].getType()));
      Instruction p = New("parameter", std::move(shape));
      p.number = static_cast<int64_t>(n);
      body.values[inputs[n]] = Append(body, std::move(p));
    }
  }
  TENON_RETURN_IF_ERROR(Block(body, block));
  std::vector<uint32_t> results;
  for (mlir::Value v : block.getTerminator()->getOperands()) {
    TENON_ASSIGN_OR_RETURN(const uint32_t r, ValueOf(body, v));
    results.push_back(r);
  }
  if (form.pass_on) results.insert(results.end(), captured.begin(), captured.end());
  TENON_RETURN_IF_ERROR(Finish(body, results, form.pass_on));
  --depth_;
  return Add(std::move(body.computation));
}

Result<uint32_t> Lowering::ScalarRegion(mlir::Region& region, std::string_view name) {
  return Region(region.front(), name, {});
}

Status Lowering::Block(Body& body, mlir::Block& block) {
  for (mlir::Operation& op : block.without_terminator()) {
    if (Status s = Op(body, &op); !s.ok()) {
      if (s.message().starts_with("op ")) return s;
      return s.WithContext(fmt::format("op {}", op.getName().getStringRef().str()));
    }
  }
  return OkStatus();
}

Status Lowering::Op(Body& body, mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  const auto handler = Handlers().find(std::string_view(name.data(), name.size()));
  if (handler == Handlers().end()) return Unimplemented("it has no HLO form here");
  return (this->*handler->second)(body, op);
}

}  // namespace tenon::hlo
