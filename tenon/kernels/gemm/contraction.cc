// From a contraction over strided arrays to a matrix product.

#include <fmt/format.h>

#include <algorithm>

#include "tenon/kernels/gemm/family.h"

namespace tenon::kernels::gemm {
namespace {

/// Dims of an array that act as one: extent and stride of the run.
struct Run {
  int64_t extent = 1;
  int64_t stride = 0;
};

/// False when the dims, outermost first, form no run.
bool AsRun(const StridedArray& array, const Dims& dims, Run& run) {
  run = {};
  int64_t expect = 0;
  for (size_t k = dims.size(); k-- > 0;) {
    const auto d = static_cast<size_t>(dims[k]);
    const int64_t n = array.dims[d];
    if (n == 1) continue;
    if (run.extent == 1) {
      run.stride = array.strides[d];
    } else if (array.strides[d] != expect) {
      return false;
    }
    run.extent *= n;
    expect = array.strides[d] * n;
  }
  return true;
}

void Append(Dims& to, const Dims& more) {
  for (int64_t d : more) to.push_back(d);
}

/// The dims of an operand that are neither of the two lists. False when the lists do not name different dims of it.
bool FreeDims(size_t rank, const Dims& batch, const Dims& contracting, Dims& free) {
  std::vector<bool> named(rank, false);
  for (const Dims* list : {&batch, &contracting}) {
    for (int64_t d : *list) {
      if (d < 0 || d >= static_cast<int64_t>(rank) || named[static_cast<size_t>(d)]) return false;
      named[static_cast<size_t>(d)] = true;
    }
  }
  for (size_t d = 0; d < rank; ++d) {
    if (!named[d]) free.push_back(static_cast<int64_t>(d));
  }
  return true;
}

bool IsMade(const StridedArray& array) { return array.type == DType::kInvalid; }

/// An input that a hook makes, as if it lay densely in the order matrices, rows, columns.
StridedArray MadeInput(DType type, const Dims& extents, const Dims& batch, const Dims& rows, const Dims& cols) {
  StridedArray array{type, extents, Dims(extents.size(), 0)};
  int64_t stride = 1;
  for (const Dims* list : {&cols, &rows, &batch}) {
    for (size_t i = list->size(); i-- > 0;) {
      const auto d = static_cast<size_t>((*list)[i]);
      array.strides[d] = stride;
      stride *= std::max<int64_t>(extents[d], 1);
    }
  }
  return array;
}

}  // namespace

Result<GemmForm> FormOf(const GemmConfig& config, const drivers::Operands& operands) {
  if (operands.inputs.size() != 2 || operands.outputs.size() != 1) {
    return InvalidArgument(
        fmt::format("{} inputs and {} outputs, wanted 2 and 1", operands.inputs.size(), operands.outputs.size()));
  }
  StridedArray a = operands.inputs[0], b = operands.inputs[1];
  const StridedArray& c = operands.outputs[0];
  const bool makes_a = IsMade(a), makes_b = IsMade(b);
  if ((!makes_a && !config.made_lhs.empty()) || (!makes_b && !config.made_rhs.empty()) ||
      (!makes_a && !makes_b && config.made_type != DType::kInvalid)) {
    return InvalidArgument("extents of an input that no hook makes");
  }
  if (makes_a) a.dims = config.made_lhs;
  if (makes_b) b.dims = config.made_rhs;
  for (const Dims* made : {&config.made_lhs, &config.made_rhs}) {
    int64_t count = 1;
    for (int64_t d : *made) {
      if (d < 0 || __builtin_mul_overflow(count, std::max<int64_t>(d, 1), &count))
        return InvalidArgument(fmt::format("an input of extents {} that a hook makes", DimsToString(*made)));
    }
  }
  const drivers::Contraction& n = config.contraction;
  Dims a_free, b_free;
  if (n.lhs_batch.size() != n.rhs_batch.size() || n.lhs_contracting.size() != n.rhs_contracting.size() ||
      !FreeDims(a.dims.size(), n.lhs_batch, n.lhs_contracting, a_free) ||
      !FreeDims(b.dims.size(), n.rhs_batch, n.rhs_contracting, b_free)) {
    return InvalidArgument("dims that no operand has, or that are named twice");
  }
  // Contracted dims in the order in which the left operand has them.
  SmallVector<size_t, 4> order;
  for (size_t i = 0; i < n.lhs_contracting.size(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](size_t x, size_t y) { return n.lhs_contracting[x] < n.lhs_contracting[y]; });
  Dims a_con, b_con;
  for (size_t i : order) {
    a_con.push_back(n.lhs_contracting[i]);
    b_con.push_back(n.rhs_contracting[i]);
  }
  if (makes_a) a = MadeInput(config.made_type, a.dims, n.lhs_batch, a_free, a_con);
  if (makes_b) b = MadeInput(config.made_type, b.dims, n.rhs_batch, b_con, b_free);

  // What the operands share has one extent in both, and the result has the rest.
  const auto extent = [](const StridedArray& array, int64_t d) { return array.dims[static_cast<size_t>(d)]; };
  Dims wanted;
  for (size_t i = 0; i < n.lhs_batch.size(); ++i) {
    wanted.push_back(extent(a, n.lhs_batch[i]));
    if (extent(b, n.rhs_batch[i]) != wanted.back()) return InvalidArgument("batch dims of different extents");
  }
  for (size_t i = 0; i < a_con.size(); ++i) {
    if (extent(a, a_con[i]) != extent(b, b_con[i])) return InvalidArgument("contracted dims of different extents");
  }
  for (int64_t d : a_free) wanted.push_back(extent(a, d));
  for (int64_t d : b_free) wanted.push_back(extent(b, d));
  if (!(c.dims == wanted)) {
    return InvalidArgument(
        fmt::format("a result of extents {}, wanted {}", DimsToString(c.dims), DimsToString(wanted)));
  }

  GemmForm form;
  GemmDims& dims = form.dims;
  dims.a_batch = n.lhs_batch;
  dims.b_batch = n.rhs_batch;
  dims.a_rows = a_free;
  dims.a_cols = a_con;
  dims.b_rows = b_con;
  dims.b_cols = b_free;
  int64_t next = 0;
  for (auto [list, count] : {std::pair(&dims.c_batch, n.lhs_batch.size()), std::pair(&dims.c_rows, a_free.size()),
                             std::pair(&dims.c_cols, b_free.size())}) {
    for (size_t i = 0; i < count; ++i) list->push_back(next++);
  }
  Run am, ak, bk, bn, cm, cn;
  if (!AsRun(a, dims.a_rows, am) || !AsRun(a, dims.a_cols, ak)) return InvalidArgument("lhs has no rows and columns");
  if (!AsRun(b, dims.b_rows, bk) || !AsRun(b, dims.b_cols, bn)) return InvalidArgument("rhs has no rows and columns");
  if (!AsRun(c, dims.c_rows, cm) || !AsRun(c, dims.c_cols, cn)) return InvalidArgument("the result has no rows");
  GemmSignature& s = form.signature;
  s.a_type = a.type;
  s.b_type = b.type;
  s.c_type = c.type;
  s.accumulate = config.accumulate;
  s.m = am.extent;
  s.n = bn.extent;
  s.k = ak.extent;
  s.a_row_stride = am.stride;
  s.a_col_stride = ak.stride;
  s.b_row_stride = bk.stride;
  s.b_col_stride = bn.stride;
  s.c_row_stride = s.m == 1 ? s.n : cm.stride;
  s.c_col_stride = s.n == 1 ? 1 : cn.stride;
  // Batch dims, neighbours that run together in all three as one.
  SmallVector<GemmBatchDim, kMaxGemmBatchDims> batch;
  for (size_t i = 0; i < n.lhs_batch.size(); ++i) {
    const auto da = static_cast<size_t>(n.lhs_batch[i]), db = static_cast<size_t>(n.rhs_batch[i]);
    if (a.dims[da] == 1) continue;
    GemmBatchDim d{a.dims[da], a.strides[da], b.strides[db], c.strides[i]};
    if (!batch.empty() && batch.back().a_stride == d.a_stride * d.extent &&
        batch.back().b_stride == d.b_stride * d.extent && batch.back().c_stride == d.c_stride * d.extent) {
      d.extent *= batch.back().extent;
      batch.back() = d;
    } else {
      batch.push_back(d);
    }
  }
  if (batch.size() > s.batch.size()) {
    return InvalidArgument(
        fmt::format("{} batch dims that do not run on, wanted at most {}", batch.size(), s.batch.size()));
  }
  // A matrix stretched over one batch dim alone joins the rows.
  if (batch.size() == 1 && batch[0].b_stride == 0 && batch[0].a_stride == s.a_row_stride * s.m &&
      batch[0].c_stride == s.m * s.c_row_stride) {
    s.m *= batch[0].extent;
    batch.clear();
    for (auto [matrices, rows] : {std::pair(&dims.a_batch, &dims.a_rows), std::pair(&dims.c_batch, &dims.c_rows)}) {
      Append(*matrices, *rows);
      *rows = *matrices;
      matrices->clear();
    }
    dims.b_batch.clear();
  }
  for (size_t i = 0; i < batch.size(); ++i) s.batch[i] = batch[i];
  TENON_RETURN_IF_ERROR(Verify(s));
  return form;
}

}  // namespace tenon::kernels::gemm
