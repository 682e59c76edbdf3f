#include "tenon/reference/reference.h"

#include <fmt/format.h>

#include "tenon/dialect/parse_mlir.h"
#include "tenon/reference/evaluate_mlir.h"

namespace tenon::reference {
namespace {

// @main, or the only function with a body.
Result<mlir::func::FuncOp> EntryOf(mlir::ModuleOp module) {
  if (auto main = module.lookupSymbol<mlir::func::FuncOp>("main"); main && !main.isExternal()) return main;
  mlir::func::FuncOp only;
  for (mlir::func::FuncOp function : module.getOps<mlir::func::FuncOp>()) {
    if (function.isExternal()) continue;
    if (only) return InvalidArgument("the module has several functions and none is called @main");
    only = function;
  }
  if (!only) return InvalidArgument("the module has no function");
  return only;
}

bool Fits(const Shape& wanted, const Value& got) {
  if (wanted.dtype == DType::kInvalid) return got.is_tuple();
  if (got.shape().dtype != wanted.dtype || got.rank() != wanted.rank()) return false;
  for (size_t i = 0; i < wanted.rank(); ++i) {
    if (wanted.dims[i] >= 0 && wanted.dims[i] != got.dims()[i]) return false;
  }
  return true;
}

Result<std::vector<Value>> RunFunction(const PreparedModule& module, const PreparedFunction& function,
                                       std::span<const Value> args, const RunOptions& options) {
  FloatEnvironment environment(options.flush_denormals);
  Evaluator evaluator(module, options, environment.saved());
  return evaluator.Call(function, {args.begin(), args.end()});
}

}  // namespace

struct Program::Impl {
  dialect::Context context;
  dialect::OwnedModule module;
  std::unique_ptr<PreparedModule> prepared;
  const PreparedFunction* entry = nullptr;
  std::string name;
  std::vector<Shape> inputs, outputs;
};

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::~Program() = default;
const std::string& Program::name() const { return impl_->name; }
const std::vector<Shape>& Program::inputs() const { return impl_->inputs; }
const std::vector<Shape>& Program::outputs() const { return impl_->outputs; }

Result<std::unique_ptr<Program>> Program::Load(std::string_view stablehlo) {
  auto impl = std::make_unique<Impl>();
  TENON_ASSIGN_OR_RETURN(impl->module, dialect::Parse(impl->context, stablehlo));
  mlir::ModuleOp module = dialect::AsModule(impl->module);
  TENON_ASSIGN_OR_RETURN(mlir::func::FuncOp entry, EntryOf(module));
  TENON_ASSIGN_OR_RETURN(impl->prepared, PreparedModule::Make(module));
  impl->entry = impl->prepared->Find(entry.getName());
  impl->name = module.getName().value_or("main").str();
  for (mlir::Type type : entry.getArgumentTypes()) impl->inputs.push_back(ShapeOf(type));
  for (mlir::Type type : entry.getResultTypes()) impl->outputs.push_back(ShapeOf(type));
  return std::unique_ptr<Program>(new Program(std::move(impl)));
}

Result<std::vector<Value>> Program::Run(std::span<const Value> args, const RunOptions& options) const {
  if (args.size() != inputs().size()) {
    return InvalidArgument(fmt::format("{} takes {} arguments, {} were given", name(), inputs().size(), args.size()));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (!Fits(inputs()[i], args[i])) {
      return InvalidArgument(fmt::format("argument {} of {} is {}, wanted {}", i, name(), ToString(args[i].shape()),
                                         ToString(inputs()[i])));
    }
  }
  return RunFunction(*impl_->prepared, *impl_->entry, args, options);
}

Result<std::vector<Value>> EvaluateFunction(mlir::func::FuncOp function, std::span<const Value> args,
                                            const RunOptions& options) {
  auto module = function->getParentOfType<mlir::ModuleOp>();
  if (!module) return InvalidArgument("a function outside of a module cannot be evaluated");
  TENON_ASSIGN_OR_RETURN(std::unique_ptr<PreparedModule> prepared, PreparedModule::Make(module));
  const PreparedFunction* entry = prepared->Find(function.getName());
  if (entry == nullptr) return InvalidArgument(fmt::format("the function @{} has no body", function.getName().str()));
  return RunFunction(*prepared, *entry, args, options);
}

}  // namespace tenon::reference
