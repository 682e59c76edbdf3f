// reduce and map.

#include <algorithm>
#include <cstring>

#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"
#include "tenon/reference/scalar_body.h"

namespace tenon::reference {
namespace {

// Folds `rows` rows of `lanes` elements, first to last, into `accumulators` (one array of `lanes` elements per result).
Status FoldRows(Computation& body, int64_t rows, int64_t lanes, std::span<const std::byte* const> inputs,
                std::span<std::byte* const> accumulators) {
  const size_t n = inputs.size();
  std::vector<const void*> args(2 * n);
  std::vector<void*> results(n);
  for (int64_t first = 0; first < lanes; first += kLanes) {
    const int64_t count = std::min(kLanes, lanes - first);
    for (int64_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < n; ++i) {
        results[i] = accumulators[i] + first * ByteWidth(body.result_type(i));
        args[i] = results[i];
        args[n + i] = inputs[i] + (row * lanes + first) * ByteWidth(body.argument_type(n + i));
      }
      TENON_RETURN_IF_ERROR(body.Apply(count, args, results));
    }
  }
  return OkStatus();
}

// Whether a fold of this body may be done piece by piece, the pieces' results folded afterwards: a single operation of
// accumulator and element that can be regrouped, in a type that is not summed in the order of the elements by XLA's CPU
// backend (the narrow floats are).
bool MayChunk(const PreparedBlock& block) {
  const bool regroups = std::any_of(block.steps.begin(), block.steps.end(), [](const Step& step) {
    return mlir::isa<stablehlo::AddOp, stablehlo::MulOp, stablehlo::MinOp, stablehlo::MaxOp, stablehlo::AndOp,
                     stablehlo::OrOp, stablehlo::XorOp>(step.op);
  });
  if (!regroups) return false;
  const ScalarBody* body = block.scalar.get();
  if (body == nullptr || body->instructions.size() != 1 || body->arguments.size() != 2 || !body->filled.empty())
    return false;
  if (body->results[0] != body->instructions[0].output || body->arguments[0] < 0 || body->arguments[1] < 0)
    return false;
  const DType type = block.argument_types[0];
  return block.argument_types[1] == type && block.returned_types[0] == type && !(IsFloat(type) && DTypeBits(type) < 32);
}

// A sum of 2^24 numbers one after the other would lose all the late ones; so do long folds in pieces of this length.
constexpr int64_t kChunk = 1024;

// The same fold for one input of [rows, lanes] that MayChunk: first every chunk by itself, beginning with its first
// element, then their results in order.
Status FoldInChunks(Computation& body, int64_t rows, int64_t lanes, const Value& input, std::byte* accumulators) {
  const int64_t chunks = rows / kChunk;
  const int64_t width = ByteWidth(input.dtype());
  const Value head = input.WithShape({input.dtype(), {chunks, kChunk, lanes}});  // the rest of the rows stays behind
  TENON_ASSIGN_OR_RETURN(Value by_step, Transpose(head, {1, 0, 2}));
  TENON_ASSIGN_OR_RETURN(Value partial, Value::Allocate({input.dtype(), {chunks, lanes}}));
  std::memcpy(partial.mutable_bytes(), by_step.bytes(), static_cast<size_t>(partial.size_bytes()));
  const std::byte* rest_of_steps[] = {by_step.bytes() + partial.size_bytes()};
  std::byte* partials[] = {partial.mutable_bytes()};
  TENON_RETURN_IF_ERROR(FoldRows(body, kChunk - 1, chunks * lanes, rest_of_steps, partials));
  std::byte* total[] = {accumulators};
  if (chunks >= 2 * kChunk) {
    TENON_RETURN_IF_ERROR(FoldInChunks(body, chunks, lanes, partial, accumulators));
  } else {
    const std::byte* pieces[] = {partial.bytes()};
    TENON_RETURN_IF_ERROR(FoldRows(body, chunks, lanes, pieces, total));
  }
  const int64_t tail_rows = rows - chunks * kChunk;
  if (tail_rows == 0) return OkStatus();
  // The rest is a chunk too: its elements must meet each other before they meet the large total.
  const int64_t row_bytes = lanes * width;
  const std::byte* tail = input.bytes() + chunks * kChunk * row_bytes;
  TENON_ASSIGN_OR_RETURN(Value tail_piece, Value::Allocate({input.dtype(), {lanes}}));
  std::memcpy(tail_piece.mutable_bytes(), tail, static_cast<size_t>(row_bytes));
  const std::byte* tail_rest[] = {tail + row_bytes};
  std::byte* tail_total[] = {tail_piece.mutable_bytes()};
  TENON_RETURN_IF_ERROR(FoldRows(body, tail_rows - 1, lanes, tail_rest, tail_total));
  const std::byte* tail_result[] = {tail_piece.bytes()};
  return FoldRows(body, 1, lanes, tail_result, total);
}

Status Reduce(OpContext& context) {
  const size_t n = context.operands.size() / 2;
  TENON_RETURN_IF_ERROR(CheckSameDims(context, 0, n));
  const Dims reduced = IntsAttr(context.op, "dimensions");
  TENON_ASSIGN_OR_RETURN(Computation body, Computation::Bind(context, 0));
  // Reduced dimensions first, the others behind: rows to fold, and the lanes of a row.
  Dims order, kept;
  for (size_t d = 0; d < context.in(0).rank(); ++d) {
    if (Contains(Span(reduced), static_cast<int64_t>(d))) order.push_back(static_cast<int64_t>(d));
  }
  int64_t rows = 1;
  for (int64_t d : order) rows *= context.in(0).dims()[static_cast<size_t>(d)];
  for (size_t d = 0; d < context.in(0).rank(); ++d) {
    if (Contains(Span(reduced), static_cast<int64_t>(d))) continue;
    order.push_back(static_cast<int64_t>(d));
    kept.push_back(context.in(0).dims()[d]);
  }
  const int64_t lanes = NumElements(Span(kept));
  std::vector<Value> inputs, accumulators;
  std::vector<const std::byte*> input_bytes;
  std::vector<std::byte*> accumulator_bytes;
  for (size_t i = 0; i < n; ++i) {
    TENON_ASSIGN_OR_RETURN(Value arranged, Transpose(context.in(i), order));
    TENON_ASSIGN_OR_RETURN(arranged, ConvertTo(arranged, body.argument_type(n + i)));
    TENON_ASSIGN_OR_RETURN(Value init, ConvertTo(context.in(n + i), body.argument_type(i)));
    TENON_ASSIGN_OR_RETURN(Value accumulator, Value::Allocate({body.result_type(i), kept}));
    FillElements(ByteWidth(init.dtype()), lanes, accumulator.mutable_bytes(), init.bytes());
    inputs.push_back(std::move(arranged));
    accumulators.push_back(std::move(accumulator));
    input_bytes.push_back(inputs.back().bytes());
    accumulator_bytes.push_back(accumulators.back().mutable_bytes());
  }
  if (rows >= 2 * kChunk && MayChunk(context.block(0))) {
    TENON_RETURN_IF_ERROR(FoldInChunks(body, rows, lanes, inputs[0], accumulator_bytes[0]));
  } else {
    TENON_RETURN_IF_ERROR(FoldRows(body, rows, lanes, input_bytes, accumulator_bytes));
  }
  context.results = std::move(accumulators);
  return OkStatus();
}

Status Map(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Computation body, Computation::Bind(context, 0));
  const size_t n = context.operands.size();
  TENON_RETURN_IF_ERROR(CheckSameDims(context, 0, n));
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({body.result_type(0), context.in(0).shape().dims}));
  std::vector<const void*> args(n);
  for (int64_t first = 0; first < out.num_elements(); first += kLanes) {
    for (size_t i = 0; i < n; ++i) args[i] = context.in(i).bytes() + first * ByteWidth(context.in(i).dtype());
    void* results[] = {out.mutable_bytes() + first * ByteWidth(out.dtype())};
    TENON_RETURN_IF_ERROR(body.Apply(std::min(kLanes, out.num_elements() - first), args, results));
  }
  return context.Return(std::move(out));
}

constexpr OpEntry kOps[] = {{"stablehlo.reduce", &Reduce}, {"stablehlo.map", &Map}};

}  // namespace

std::span<const OpEntry> ReduceOps() { return kOps; }

}  // namespace tenon::reference
