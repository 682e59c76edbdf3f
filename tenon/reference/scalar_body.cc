#include "tenon/reference/scalar_body.h"

#include <fmt/format.h>

#include <cstring>

#include "llvm/ADT/DenseMap.h"

namespace tenon::reference {
namespace {

bool IsScalar(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 && ByteWidth(ElementTypeOf(tensor.getElementType())) > 0;
}

// Operations that hand a scalar on as it is.
bool IsIdentity(llvm::StringRef name) {
  return name == "stablehlo.reshape" || name == "stablehlo.broadcast_in_dim" ||
         name == "stablehlo.optimization_barrier" || name == "stablehlo.transpose";
}

}  // namespace

std::shared_ptr<const ScalarBody> ScalarBody::Make(const PreparedBlock& block) {
  auto body = std::make_shared<ScalarBody>();
  llvm::DenseMap<int, int> register_of;  // by slot
  const auto fresh = [&] { return body->num_registers++; };
  for (int slot : block.arguments) {
    body->arguments.push_back(slot < 0 ? -1 : fresh());
    if (slot >= 0) register_of[slot] = body->arguments.back();
  }
  const auto read = [&](int slot, int width) {
    auto [it, is_new] = register_of.try_emplace(slot, -1);
    if (is_new) {
      // Not made in this block: a value that the region captures.
      it->second = fresh();
      body->filled.push_back({it->second, width, Value(), slot});
    }
    return it->second;
  };
  for (const Step& step : block.steps) {
    for (mlir::Type type : step.op->getResultTypes()) {
      if (!IsScalar(type)) return nullptr;
    }
    for (mlir::Type type : step.op->getOperandTypes()) {
      if (!IsScalar(type)) return nullptr;
    }
    const auto width = [&](size_t i) {
      return ByteWidth(
          ElementTypeOf(mlir::cast<mlir::RankedTensorType>(step.op->getOperand(static_cast<unsigned>(i)).getType())
                            .getElementType()));
    };
    if (step.constant.is_array()) {
      if (step.results[0] < 0) continue;
      const int reg = fresh();
      register_of[step.results[0]] = reg;
      body->filled.push_back({reg, ByteWidth(step.constant.dtype()), step.constant, -1});
    } else if (step.kernel) {
      Instruction instruction{step.kernel, {}, 0};
      for (size_t i = 0; i < step.operands.size(); ++i) instruction.inputs[i] = read(step.operands[i].slot, width(i));
      instruction.output = fresh();
      if (step.results[0] >= 0) register_of[step.results[0]] = instruction.output;
      body->instructions.push_back(instruction);
    } else if (IsIdentity(step.op->getName().getStringRef()) && step.operands.size() == 1 && step.results.size() == 1) {
      const int reg = read(step.operands[0].slot, width(0));
      if (step.results[0] >= 0) register_of[step.results[0]] = reg;
    } else {
      return nullptr;
    }
  }
  for (size_t i = 0; i < block.returned.size(); ++i)
    body->results.push_back(read(block.returned[i].slot, ByteWidth(block.returned_types[i])));
  return body;
}

Result<Computation> Computation::Bind(const OpContext& context, unsigned region) {
  const PreparedBlock& block = context.block(region);
  Computation computation(context.evaluator, context.frame, block);
  const auto check = [&](mlir::Type type) { return IsScalar(type); };
  mlir::Block& mlir_block = context.region(region).front();
  for (mlir::Type type : mlir_block.getArgumentTypes()) {
    if (!check(type)) return Unimplemented("a body whose arguments are not scalars");
  }
  for (mlir::Type type : mlir_block.getTerminator()->getOperandTypes()) {
    if (!check(type)) return Unimplemented("a body whose results are not scalars");
  }
  if (const ScalarBody* body = block.scalar.get()) {
    computation.registers_ =
        std::shared_ptr<std::byte[]>(new std::byte[static_cast<size_t>(body->num_registers + 1) * kLanes * 16]());
    computation.current_.resize(static_cast<size_t>(body->num_registers));
    for (int r = 0; r < body->num_registers; ++r)
      computation.current_[static_cast<size_t>(r)] = computation.Register(r);
    for (const ScalarBody::Filled& filled : body->filled) {
      const Value& value = filled.slot >= 0 ? context.frame[static_cast<size_t>(filled.slot)] : filled.constant;
      if (!value.is_array()) return Internal("a captured scalar has no value");
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        std::memcpy(computation.Register(filled.reg) + lane * filled.width, value.bytes(),
                    static_cast<size_t>(filled.width));
      }
    }
  }
  return computation;
}

Status Computation::Apply(int64_t n, std::span<const void* const> args, std::span<void* const> results) {
  const ScalarBody* body = block_->scalar.get();
  if (body == nullptr) return ApplyGenerally(n, args, results);
  for (size_t i = 0; i < args.size(); ++i) {
    if (body->arguments[i] >= 0) current_[static_cast<size_t>(body->arguments[i])] = args[i];
  }
  for (const ScalarBody::Instruction& instruction : body->instructions) {
    const void* inputs[kMaxKernelOperands];
    for (size_t i = 0; i < kMaxKernelOperands; ++i) inputs[i] = current_[static_cast<size_t>(instruction.inputs[i])];
    instruction.kernel.Run(inputs, Register(instruction.output), n);
  }
  // Results may overwrite the arguments, and an argument may be a result: take copies of those first.
  std::byte held[4][kLanes * 16];
  if (results.size() == 1) {
    std::memmove(results[0], current_[static_cast<size_t>(body->results[0])],
                 static_cast<size_t>(n * ByteWidth(result_type(0))));
    return OkStatus();
  }
  std::vector<std::byte> more(results.size() > 4 ? results.size() * kLanes * 16 : 0);
  const auto copy = [&](size_t i) { return more.empty() ? held[i] : more.data() + i * kLanes * 16; };
  for (size_t i = 0; i < results.size(); ++i) {
    std::memcpy(copy(i), current_[static_cast<size_t>(body->results[i])],
                static_cast<size_t>(n * ByteWidth(result_type(i))));
  }
  for (size_t i = 0; i < results.size(); ++i)
    std::memcpy(results[i], copy(i), static_cast<size_t>(n * ByteWidth(result_type(i))));
  return OkStatus();
}

Status Computation::ApplyGenerally(int64_t n, std::span<const void* const> args, std::span<void* const> results) {
  for (int64_t lane = 0; lane < n; ++lane) {
    std::vector<Value> values;
    for (size_t i = 0; i < args.size(); ++i) {
      const auto width = static_cast<size_t>(ByteWidth(argument_type(i)));
      TENON_ASSIGN_OR_RETURN(
          Value value,
          Value::Copy({argument_type(i), {}},
                      {static_cast<const std::byte*>(args[i]) + static_cast<size_t>(lane) * width, width}));
      values.push_back(std::move(value));
    }
    TENON_ASSIGN_OR_RETURN(std::vector<Value> returned, evaluator_->RunBlock(*block_, *frame_, std::move(values)));
    for (size_t i = 0; i < results.size(); ++i) {
      const auto width = static_cast<size_t>(ByteWidth(result_type(i)));
      std::memcpy(static_cast<std::byte*>(results[i]) + static_cast<size_t>(lane) * width, returned[i].bytes(), width);
    }
  }
  return OkStatus();
}

}  // namespace tenon::reference
