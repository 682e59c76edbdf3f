#include "tenon/reference/evaluator.h"

#include <fmt/format.h>

#include <cstring>

#include "tenon/dialect/parse_mlir.h"

namespace tenon::reference {
namespace {

// Counts how deep blocks and calls lie inside each other.
class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

// The value as an array of `dims`: itself, or a scalar in every element.
Result<Value> Spread(const Value& value, std::span<const int64_t> dims) {
  if (value.rank() == dims.size()) return value;
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({value.dtype(), Dims(dims.begin(), dims.end())}));
  const auto width = static_cast<size_t>(ByteWidth(value.dtype()));
  for (int64_t i = 0; i < out.num_elements(); ++i)
    std::memcpy(out.mutable_bytes() + static_cast<size_t>(i) * width, value.bytes(), width);
  return out;
}

}  // namespace

Status Evaluator::CheckCancelled() const {
  if (options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed))
    return Cancelled("the run was cancelled");
  return OkStatus();
}

Result<std::optional<std::vector<Value>>> Evaluator::CallHandler(const CustomCall& call) const {
  if (!options_.custom_call) return std::optional<std::vector<Value>>();
  const uint64_t mine = FloatEnvironment::Read();
  FloatEnvironment::Write(caller_float_environment_);
  auto result = options_.custom_call(call);
  FloatEnvironment::Write(mine);
  return result;
}

Result<std::vector<Value>> Evaluator::Call(const PreparedFunction& function, std::vector<Value> args) {
  Frame frame(static_cast<size_t>(function.num_slots));
  return RunBlock(*function.body, frame, std::move(args));
}

Result<std::vector<Value>> Evaluator::RunBlock(const PreparedBlock& block, Frame& frame, std::vector<Value> args) {
  DepthGuard guard(depth_);
  if (depth_ > options_.max_depth) {
    return ResourceExhausted(
        fmt::format("calls and regions lie more than {} deep inside each other", options_.max_depth));
  }
  if (args.size() != block.arguments.size()) {
    return InvalidArgument(
        fmt::format("{} arguments were given to a block that takes {}", args.size(), block.arguments.size()));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (block.arguments[i] >= 0) frame[static_cast<size_t>(block.arguments[i])] = std::move(args[i]);
  }
  args.clear();
  for (const Step& step : block.steps) TENON_RETURN_IF_ERROR(RunStep(step, frame));
  std::vector<Value> returned;
  returned.reserve(block.returned.size());
  for (const Step::Use& use : block.returned) {
    Value& value = frame[static_cast<size_t>(use.slot)];
    returned.push_back(use.last ? std::move(value) : value);
  }
  return returned;
}

Status Evaluator::RunStep(const Step& step, Frame& frame) {
  if (step.constant.is_array()) {
    if (step.results[0] >= 0) frame[static_cast<size_t>(step.results[0])] = step.constant;
    return OkStatus();
  }
  const auto locate = [&](Status status) {
    if (located_) return status;
    located_ = true;
    return status.WithContext(dialect::Describe(step.op));
  };
  if (Status cancelled = CheckCancelled(); !cancelled.ok()) return locate(cancelled);
  if (step.handler == nullptr) {
    return locate(
        Unimplemented(fmt::format("the evaluator has no {} for these types", step.op->getName().getStringRef().str())));
  }
  std::vector<Value> operands, results;
  operands.reserve(step.operands.size());
  for (const Step::Use& use : step.operands) {
    Value& value = frame[static_cast<size_t>(use.slot)];
    operands.push_back(use.last ? std::move(value) : value);
  }
  OpContext context{*this, step, step.op, operands, frame, results};
  if (Status status = step.handler(context); !status.ok()) return locate(status);
  if (results.size() != step.results.size()) {
    return locate(
        Internal(fmt::format("{} results were made where {} are wanted", results.size(), step.results.size())));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (step.results[i] >= 0) frame[static_cast<size_t>(step.results[i])] = std::move(results[i]);
  }
  for (int slot : step.dead) frame[static_cast<size_t>(slot)] = Value();
  return OkStatus();
}

Status CheckSameDims(const OpContext& context, size_t first, size_t count) {
  for (size_t i = first + 1; i < first + count; ++i) {
    if (context.in(i).shape().dims != context.in(first).shape().dims) {
      return InvalidArgument(fmt::format("operands of shapes {} and {} meet", ToString(context.in(first).shape()),
                                         ToString(context.in(i).shape())));
    }
  }
  return OkStatus();
}

Result<Value> AllocateResult(const OpContext& context, size_t i) {
  Shape shape = context.result_shape(i);
  for (int64_t d : shape.dims) {
    if (d < 0) return Unimplemented("a result whose shape is not static");
  }
  return Value::Allocate(std::move(shape));
}

Status RunElementwise(OpContext& context) {
  // The shape is that of an operand of full rank: result types may be dynamic, and clamp and select take some scalars.
  size_t full = 0;
  for (size_t i = 1; i < context.operands.size(); ++i) {
    if (context.operands[i].rank() > context.operands[full].rank()) full = i;
  }
  const Dims dims = context.operands[full].shape().dims;
  const void* inputs[kMaxKernelOperands] = {};
  const DType type = context.result_shape().dtype;
  Value out;
  for (size_t i = 0; i < context.operands.size(); ++i) {
    Value& operand = context.operands[i];
    TENON_ASSIGN_OR_RETURN(operand, Spread(operand, dims));
    if (operand.shape().dims != dims) {
      return InvalidArgument(
          fmt::format("operands of shapes {} and {} meet", ToString(operand.shape()), DimsToString(dims)));
    }
    inputs[i] = operand.bytes();
    // An operand that nobody else holds and whose elements are as wide becomes the result.
    if (out.is_token() && operand.unique() && ByteWidth(operand.dtype()) == ByteWidth(type)) out = std::move(operand);
  }
  const Shape shape{type, dims};
  if (out.is_token()) {
    TENON_ASSIGN_OR_RETURN(out, Value::Allocate(shape));
  } else {
    out = std::move(out).WithShape(shape);
  }
  context.step.kernel.Run(inputs, out.mutable_bytes(), out.num_elements());
  return context.Return(std::move(out));
}

}  // namespace tenon::reference
