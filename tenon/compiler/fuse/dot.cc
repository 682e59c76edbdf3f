// dot_general to the matrix product driver.

#include <algorithm>

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/kernels/gemm/config.h"
#include "tenon/kernels/gemm/signature.h"

namespace tenon::compiler {
namespace {

/// Dims of a view that must act as one: extent and stride of the run, if they form one.
struct DimRun {
  int64_t extent = 1;
  int64_t stride = 0;
};
bool AsRun(const View& view, const std::vector<size_t>& dims, DimRun& run) {
  run = {1, 0};
  int64_t expect = 0;
  for (size_t k = dims.size(); k-- > 0;) {
    const int64_t n = view.dims[dims[k]];
    if (n == 1) continue;
    if (run.extent == 1) {
      run.stride = view.strides[dims[k]];
    } else if (view.strides[dims[k]] != expect) {
      return false;
    }
    run.extent *= n;
    expect = view.strides[dims[k]] * n;
  }
  return true;
}

}  // namespace

Status Fuser::EmitDot(NodeId id, plan::Seq& out) {
  const Node& node = p_[id];
  const DType a_type = p_.shape(node.in[0]).dtype;
  const DType b_type = p_.shape(node.in[1]).dtype;
  const auto& [a_batch, b_batch, a_contracting, b_contracting] = node.attrs<DotAttrs>();
  kernels::GemmSignature s;
  s.a_type = a_type;
  s.b_type = b_type;
  s.c_type = node.shape().dtype;
  auto has = [](const Dims& list, size_t d) {
    return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
  };
  auto positions = [](const Dims& list) { return std::vector<size_t>(list.begin(), list.end()); };
  if (!kernels::Verify(kernels::DenseGemm(a_type, b_type, s.c_type, 1, 1, 1)).ok()) return EmitEvaluate(id, out);

  TENON_ASSIGN_OR_RETURN(View a, ViewOf(node.in[0], out));
  TENON_ASSIGN_OR_RETURN(View b, ViewOf(node.in[1], out));
  std::vector<size_t> a_free;
  std::vector<size_t> b_free;
  for (size_t d = 0; d < a.dims.size(); ++d) {
    if (!has(a_batch, d) && !has(a_contracting, d)) a_free.push_back(d);
  }
  for (size_t d = 0; d < b.dims.size(); ++d) {
    if (!has(b_batch, d) && !has(b_contracting, d)) b_free.push_back(d);
  }
  // Contracted dims in the order in which the left operand has them, outermost first.
  std::vector<size_t> order(a_contracting.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return a_contracting[x] < a_contracting[y]; });
  std::vector<size_t> a_con;
  std::vector<size_t> b_con;
  for (size_t i : order) {
    a_con.push_back(static_cast<size_t>(a_contracting[i]));
    b_con.push_back(static_cast<size_t>(b_contracting[i]));
  }
  DimRun am;
  DimRun ak;
  DimRun bk;
  DimRun bn;
  if (!AsRun(a, a_free, am) || !AsRun(a, a_con, ak)) {
    TENON_ASSIGN_OR_RETURN(a, DenseViewOf(node.in[0], out));
    if (!AsRun(a, a_free, am) || !AsRun(a, a_con, ak)) {
      // Row-major and still no runs: bring the dims together.
      View packed = NewTemp({a.dtype, a.dims});
      Dims layout;
      std::vector<size_t> major = positions(a_batch);
      major.insert(major.end(), a_free.begin(), a_free.end());
      major.insert(major.end(), a_con.begin(), a_con.end());
      for (size_t k = major.size(); k-- > 0;) layout.push_back(static_cast<int64_t>(major[k]));
      packed.strides = plan::StridesOfLayout(a.dims, layout);
      Copy(a, packed, out);
      a = packed;
      if (!AsRun(a, a_free, am) || !AsRun(a, a_con, ak)) return Internal("dot operand has no runs");
    }
  }
  if (!AsRun(b, b_con, bk) || !AsRun(b, b_free, bn)) {
    View packed = NewTemp({b.dtype, b.dims});
    Dims layout;
    std::vector<size_t> major = positions(b_batch);
    major.insert(major.end(), b_con.begin(), b_con.end());
    major.insert(major.end(), b_free.begin(), b_free.end());
    for (size_t k = major.size(); k-- > 0;) layout.push_back(static_cast<int64_t>(major[k]));
    packed.strides = plan::StridesOfLayout(b.dims, layout);
    Copy(b, packed, out);
    b = packed;
    if (!AsRun(b, b_con, bk) || !AsRun(b, b_free, bn)) return Internal("dot operand has no runs");
  }
  const View c = NewTemp(node.shape());
  s.m = am.extent;
  s.n = bn.extent;
  s.k = ak.extent;
  s.a_row_stride = am.stride;
  s.a_col_stride = ak.stride;
  s.b_row_stride = bk.stride;
  s.b_col_stride = bn.stride;
  s.c_row_stride = s.n;
  s.c_col_stride = 1;
  // Batch dims, neighbours that run together in all three as one.
  std::vector<kernels::GemmBatchDim> batch;
  for (size_t i = 0; i < a_batch.size(); ++i) {
    const size_t da = static_cast<size_t>(a_batch[i]);
    const size_t db = static_cast<size_t>(b_batch[i]);
    if (a.dims[da] == 1) continue;
    kernels::GemmBatchDim d{a.dims[da], a.strides[da], b.strides[db], c.strides[i]};
    if (!batch.empty() && batch.back().a_stride == d.a_stride * d.extent &&
        batch.back().b_stride == d.b_stride * d.extent && batch.back().c_stride == d.c_stride * d.extent) {
      d.extent *= batch.back().extent;
      batch.back() = d;
    } else {
      batch.push_back(d);
    }
  }
  // A matrix stretched over one batch dim alone joins the rows.
  if (batch.size() > s.batch.size()) return EmitEvaluate(id, out);
  if (batch.size() == 1 && batch[0].b_stride == 0 && batch[0].a_stride == s.a_row_stride * s.m &&
      batch[0].c_stride == s.m * s.n) {
    s.m *= batch[0].extent;
    batch.clear();
  }
  for (size_t i = 0; i < batch.size(); ++i) s.batch[i] = batch[i];
  if (!kernels::Verify(s).ok()) return EmitEvaluate(id, out);
  plan::DriverStep step;
  step.driver = "gemm";
  step.config = kernels::ToConfig(s);
  step.inputs = {Slot(a), Slot(b)};
  step.outputs = {Slot(c)};
  const kernels::GemmCost cost = kernels::EstimateCost(s);
  step.cost_ns = static_cast<int64_t>(cost.time_ns);
  f_.flops += cost.flops;
  Bind({id, 0}, c);
  out.push_back({std::move(step)});
  return OkStatus();
}

}  // namespace tenon::compiler
