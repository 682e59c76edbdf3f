#include "tenon/compiler/fuse/alignment.h"

#include <algorithm>

namespace tenon::compiler {

Alignment IdentityAlignment(size_t rank) {
  Alignment a;
  for (size_t i = 0; i < rank; ++i) a.push_back(static_cast<int8_t>(i));
  return a;
}

Alignment NoAlignment(size_t rank) { return Alignment(rank, int8_t{-1}); }

void Meet(Alignment& a, const Alignment& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) a[i] = -1;
  }
}

Alignment AlignmentBelow(const Program& program, const GraphNode& user, uint32_t operand, const Alignment& result) {
  const Shape& from = program.shape(user.in[operand]);
  Alignment a = NoAlignment(from.rank());
  if (from.rank() == 0) return a;
  switch (user.op) {
    case OpCode::kBroadcast:
      for (size_t i = 0; i < from.rank(); ++i) {
        const size_t to = static_cast<size_t>(user.attrs<BroadcastAttrs>().broadcast_dimensions[i]);
        if (from.dims[i] == user.shape().dims[to]) a[i] = result[to];
      }
      break;
    case OpCode::kTranspose:
      for (size_t i = 0; i < from.rank(); ++i)
        a[static_cast<size_t>(user.attrs<TransposeAttrs>().permutation[i])] = result[i];
      break;
    case OpCode::kReshape: {
      // Dims that line up one to one, extents of one apart.
      size_t i = 0;
      size_t j = 0;
      int64_t before_i = 1;
      int64_t before_j = 1;
      const Dims& to = user.shape().dims;
      while (i < from.rank() && j < to.size()) {
        if (before_i == before_j && from.dims[i] == to[j]) {
          a[i] = result[j];
          before_i *= from.dims[i++];
          before_j *= to[j++];
        } else if (before_i * from.dims[i] <= before_j * to[j]) {
          before_i *= from.dims[i++];
        } else {
          before_j *= to[j++];
        }
      }
      break;
    }
    case OpCode::kReverse:
      a = result;
      for (int64_t d : user.attrs<ReverseAttrs>().dimensions) a[static_cast<size_t>(d)] = -1;
      break;
    case OpCode::kSlice:
    case OpCode::kPad:
    case OpCode::kDynamicSlice:
      if (operand != 0) break;
      for (size_t i = 0; i < from.rank(); ++i) {
        const bool same = from.dims[i] == user.shape().dims[i] &&
                          (user.op != OpCode::kPad || user.attrs<PadAttrs>().edge_padding_low[i] == 0);
        if (same) a[i] = result[i];
      }
      break;
    case OpCode::kConcatenate:
      for (size_t i = 0; i < from.rank(); ++i) {
        if (static_cast<int64_t>(i) != user.attrs<ConcatenateAttrs>().dimension) a[i] = result[i];
      }
      break;
    case OpCode::kReduce: {
      if (operand >= user.in.size() / 2) break;
      const Dims& over = user.attrs<ReduceAttrs>().dimensions;
      size_t kept = 0;
      for (size_t i = 0; i < from.rank(); ++i) {
        if (std::find(over.begin(), over.end(), static_cast<int64_t>(i)) == over.end()) a[i] = result[kept++];
      }
      break;
    }
    case OpCode::kGather:
    case OpCode::kDynamicUpdate:
      break;
    default:
      if (KindOfOp(user.op) == OpKind::kElementwise && from.dims == user.shape().dims) a = result;
  }
  return a;
}

}  // namespace tenon::compiler
