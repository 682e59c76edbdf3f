#include "tools/tenon-check/program.h"

#include <fmt/format.h>

#include "tenon/dialect/check/dialect.h"
#include "tenon/reference/movement.h"
#include "tenon/reference/types.h"

namespace tenon::check_tool {
namespace {

double DoubleAttr(mlir::Operation* op, llvm::StringRef name, double missing) {
  auto attribute = mlir::dyn_cast_or_null<mlir::FloatAttr>(op->getAttr(name));
  return attribute ? attribute.getValueAsDouble() : missing;
}

// The criterion of a check; UNIMPLEMENTED when there is no such check.
Result<Criterion> CriterionOf(mlir::Operation* op, std::string_view name) {
  if (name == "check.expect_eq" || name == "check.expect_eq_const") return Criterion{Rule::kEqual};
  if (name == "check.eq") return Criterion{Rule::kAlmost, 0, 0, 1e-4};
  if (name == "check.expect_close") {
    return Criterion{Rule::kUlp, static_cast<uint64_t>(reference::IntAttr(op, "max_ulp_difference", 3)),
                     static_cast<uint64_t>(reference::IntAttr(op, "min_ulp_difference", 0))};
  }
  if (name == "check.expect_almost_eq" || name == "check.expect_almost_eq_const") {
    const bool is_call = op->getName().getStringRef() == "stablehlo.custom_call";
    return Criterion{Rule::kAlmost, 0, 0, DoubleAttr(op, "tolerance", is_call ? 1e-3 : 1e-4)};
  }
  return Unimplemented(fmt::format("the check {}", name));
}

// "check.expect_eq" for check operations and for calls of that target; empty for everything else.
std::string CheckName(mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  if (name.starts_with("check.")) return name.str();
  if (name != "stablehlo.custom_call") return {};
  std::string target = reference::StringAttr(&op, "call_target_name");
  return target.starts_with("check.") ? target : std::string();
}

// Takes the check `op` out: its operands become results of the entry.
Status TakeOut(mlir::Operation& op, const std::string& name, Program& program, std::vector<mlir::Value>& results) {
  Check check;
  check.name = name;
  TENON_ASSIGN_OR_RETURN(check.criterion, CriterionOf(&op, name));
  mlir::Value actual = op.getOperand(0);
  if (name == "check.eq") {
    // (expected, actual) -> i1, which is true when the check passes.
    if (op.getNumOperands() != 2 || op.getNumResults() != 1)
      return InvalidArgument("check.eq takes two values and gives one");
    actual = op.getOperand(1);
    check.expected_result = results.size() + 1;
    results.insert(results.end(), {actual, op.getOperand(0)});
    mlir::OpBuilder builder(&op);
    mlir::OperationState constant(op.getLoc(), "stablehlo.constant");
    auto type = mlir::cast<mlir::RankedTensorType>(op.getResult(0).getType());
    constant.addAttribute("value", mlir::DenseElementsAttr::get(type, true));
    constant.addTypes(type);
    op.getResult(0).replaceAllUsesWith(builder.create(constant)->getResult(0));
  } else if (auto value = op.getAttr("value"); value && op.getNumOperands() == 1) {
    TENON_ASSIGN_OR_RETURN(check.expected, reference::ValueOf(value, actual.getType()));
    results.push_back(actual);
  } else {
    if (op.getNumOperands() != 2) return InvalidArgument(fmt::format("{} takes two values", name));
    check.expected_result = results.size() + 1;
    results.insert(results.end(), {actual, op.getOperand(1)});
  }
  check.actual = check.expected.is_array() ? results.size() - 1 : results.size() - 2;
  if (!op.use_empty()) return Unimplemented(fmt::format("the use of the result of {}", name));
  program.checks.push_back(std::move(check));
  op.erase();
  return OkStatus();
}

}  // namespace

std::vector<std::string> SplitChunks(std::string_view text) {
  std::vector<std::string> chunks(1);
  bool has_code = false;
  const auto close = [&] {
    if (!has_code) chunks.pop_back();
    chunks.emplace_back();
    has_code = false;
  };
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("// -----")) {
      close();
      continue;
    }
    const size_t first = line.find_first_not_of(" \t\r");
    has_code = has_code || (first != std::string_view::npos && !line.substr(first).starts_with("//"));
    chunks.back().append(line).push_back('\n');
  }
  if (!has_code) chunks.pop_back();
  return chunks;
}

Result<std::unique_ptr<Program>> LoadProgram(std::string_view text) {
  auto program = std::make_unique<Program>();
  mlir::DialectRegistry registry;
  check::RegisterCheck(registry);
  mlir::MLIRContext& context = program->context.mlir();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  TENON_ASSIGN_OR_RETURN(program->module, dialect::Parse(program->context, text));
  mlir::ModuleOp module = dialect::AsModule(program->module);
  mlir::func::FuncOp entry = module.lookupSymbol<mlir::func::FuncOp>("main");
  for (mlir::func::FuncOp function : module.getOps<mlir::func::FuncOp>()) {
    if (!entry) entry = function;
  }
  if (!entry || entry.isExternal()) return InvalidArgument("the program has no entry function");
  program->entry = entry;

  std::vector<mlir::Value> results;
  for (mlir::Operation& op : llvm::make_early_inc_range(entry.getBody().front())) {
    const std::string name = CheckName(op);
    if (!name.empty()) TENON_RETURN_IF_ERROR(TakeOut(op, name, *program, results));
  }
  if (!program->checks.empty()) {
    entry.getBody().front().getTerminator()->setOperands(results);
    std::vector<mlir::Type> types;
    for (mlir::Value value : results) types.push_back(value.getType());
    entry.setType(mlir::FunctionType::get(&context, entry.getArgumentTypes(), types));
    entry.removeResAttrsAttr();
  }
  entry.setName("main");
  entry.setPublic();
  for (mlir::Type type : entry.getArgumentTypes()) program->inputs.push_back(reference::ShapeOf(type));
  for (mlir::Type type : entry.getResultTypes()) program->results.push_back(reference::ShapeOf(type));
  return program;
}

Result<std::vector<reference::Value>> MakeArguments(const Program& program) {
  std::vector<reference::Value> args;
  uint64_t state = 1;
  for (const Shape& shape : program.inputs) {
    if (shape.dtype == DType::kToken || shape.dtype == DType::kInvalid)
      return Unimplemented("an argument that is no array");
    for (int64_t d : shape.dims) {
      if (d < 0) return Unimplemented("an argument of dynamic shape");
    }
    TENON_ASSIGN_OR_RETURN(reference::Value numbers, reference::Value::Allocate({DType::kF64, shape.dims}));
    for (int64_t i = 0; i < numbers.num_elements(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      numbers.mutable_data<double>()[i] =
          static_cast<double>(static_cast<int64_t>(state) >> 11) * 0x1p-51;  // in [-2, 2)
    }
    TENON_ASSIGN_OR_RETURN(reference::Value value, reference::ConvertTo(numbers, shape.dtype));
    args.push_back(std::move(value));
  }
  return args;
}

}  // namespace tenon::check_tool
