#include "tenon/emit_llvm/testing/kernels.h"

#include "tenon/base/neutral.h"
#include "tenon/kir/builder.h"

namespace tenon::emit_llvm::testing {

using namespace kir;  // NOLINT: this file is nothing but KIR

namespace {
constexpr DType f32 = DType::kF32;

Kernel WithSplit(KernelBuilder& b, DimMask dims, int64_t grain) {
  b.kernel().split = {dims, Size::Of(grain)};
  return b.Finish();
}
}  // namespace

Kernel AddKernel(DType type) {
  KernelBuilder b;
  const Size n = Size::Param(b.AddParam());
  const DimId i = b.AddDim(n);
  const Buf x = b.AddBuffer(BufKind::kArg, type, {n}, {Size::Of(1)});
  const Buf y = b.AddBuffer(BufKind::kArg, type, {n}, {Size::Of(1)});
  const Buf out = b.AddBuffer(BufKind::kOut, type, {n}, {Size::Of(1)});
  Stage s;
  s.dims = {i};
  s.stores.push_back({.buf = out, .at = {At(i)}, .guard = {}, .value = b.Add(b.Read(x, {At(i)}), b.Read(y, {At(i)}))});
  b.AddStage(s);
  return WithSplit(b, 1, 16384);
}

Kernel ChainKernel() {
  KernelBuilder b;
  const Size n = Size::Param(b.AddParam());
  const DimId i = b.AddDim(n);
  const Buf bx = b.AddBuffer(BufKind::kArg, f32, {n}, {Size::Of(1)});
  const Buf by = b.AddBuffer(BufKind::kArg, f32, {n}, {Size::Of(1)});
  const Buf out = b.AddBuffer(BufKind::kOut, f32, {n}, {Size::Of(1)});
  const Val x = b.Read(bx, {At(i)});
  const Val y = b.Read(by, {At(i)});
  const Val t = b.MathOrDie("tanh", {b.Fma(x, y, b.ConstF32(1))});
  const Val e = b.MathOrDie("exponential", {b.Mul(b.Neg(x), x)});
  Stage s;
  s.dims = {i};
  s.stores.push_back({.buf = out, .at = {At(i)}, .guard = {}, .value = b.Mul(t, e)});
  b.AddStage(s);
  return WithSplit(b, 1, 16384);
}

Kernel RowSumKernel(DType type, ReduceOrder order) {
  KernelBuilder b;
  const Size rows = Size::Param(b.AddParam());
  const Size cols = Size::Param(b.AddParam());
  const DimId r = b.AddDim(rows);
  const DimId c = b.AddDim(cols, DimKind::kReduce);
  b.kernel().outer = 1;
  const Buf x = b.AddBuffer(BufKind::kArg, type, {rows, cols}, {cols, Size::Of(1)});
  const Buf out = b.AddBuffer(BufKind::kOut, type, {rows}, {Size::Of(1)});
  const Val zero = b.Const(type, 0);
  const Val identity = IsFloat(type) ? b.Const(type, -0.0) : zero;
  Stage s;
  s.dims = {c};
  const Val sum = b.AddReduce(s, 1u << c, Op::kAdd, b.Read(x, {At(r), At(c)}), zero, order,
                              order == ReduceOrder::kLanes ? identity : kNone);
  s.stores.push_back({.buf = out, .at = {At(r)}, .guard = {}, .value = sum});
  b.AddStage(s);
  return WithSplit(b, 1, 4);
}

Kernel ColumnSumKernel(DType type, ReduceOrder order, bool outer) {
  KernelBuilder b;
  const Size rows = Size::Param(b.AddParam());
  const Size cols = Size::Param(b.AddParam());
  const DimId c = b.AddDim(cols);
  const DimId r = b.AddDim(rows, DimKind::kReduce);
  b.kernel().outer = outer ? 1 : 0;
  const Buf x = b.AddBuffer(BufKind::kArg, type, {rows, cols}, {cols, Size::Of(1)});
  const Buf out = b.AddBuffer(BufKind::kOut, type, {cols}, {Size::Of(1)});
  const Val zero = b.Const(type, 0);
  const Val identity = IsFloat(type) ? b.Const(type, -0.0) : zero;
  Stage s;
  if (outer) {
    s.dims = {r};
  } else {
    s.dims = {c, r};
  }
  const Val sum = b.AddReduce(s, 1u << r, Op::kAdd, b.Read(x, {At(r), At(c)}), zero, order,
                              order == ReduceOrder::kLanes ? identity : kNone);
  s.stores.push_back({.buf = out, .at = {At(c)}, .guard = {}, .value = sum});
  b.AddStage(s);
  return WithSplit(b, 1, 1024);
}

Kernel SoftmaxKernel() {
  KernelBuilder b;
  const Size rows = Size::Param(b.AddParam());
  const Size cols = Size::Param(b.AddParam());
  const DimId r = b.AddDim(rows);
  const DimId c1 = b.AddDim(cols, DimKind::kReduce);
  const DimId c2 = b.AddDim(cols, DimKind::kReduce);
  const DimId c3 = b.AddDim(cols);
  b.kernel().outer = 1;
  const Buf x = b.AddBuffer(BufKind::kArg, f32, {rows, cols}, {cols, Size::Of(1)});
  const Buf out = b.AddBuffer(BufKind::kOut, f32, {rows, cols}, {cols, Size::Of(1)});
  const Buf local = b.AddBuffer(BufKind::kLocal, f32, {cols}, {Size::Of(1)});
  const Val lowest = b.Const(f32, -__builtin_inf());
  Stage s1;
  s1.dims = {c1};
  const Val max = b.AddReduce(s1, 1u << c1, Op::kMax, b.Read(x, {At(r), At(c1)}), lowest, ReduceOrder::kLanes, lowest);
  b.AddStage(s1);
  Stage s2;
  s2.dims = {c2};
  const Val e = b.MathOrDie("exponential", {b.Sub(b.Read(x, {At(r), At(c2)}), max)});
  s2.stores.push_back({.buf = local, .at = {At(c2)}, .guard = {}, .value = e});
  const Val sum = b.AddReduce(s2, 1u << c2, Op::kAdd, e, b.ConstF32(0), ReduceOrder::kLanes, b.Const(f32, -0.0));
  b.AddStage(s2);
  Stage s3;
  s3.dims = {c3};
  s3.stores.push_back({.buf = out,
                       .at = {At(r), At(c3)},
                       .guard = {},
                       .value = b.Mul(b.Read(local, {At(c3)}), b.Div(b.ConstF32(1), sum))});
  b.AddStage(s3);
  return WithSplit(b, 1, 4);
}

Kernel ArgmaxKernel(DType index_type) {
  KernelBuilder b;
  const Size rows = Size::Param(b.AddParam());
  const Size cols = Size::Param(b.AddParam());
  const DimId r = b.AddDim(rows);
  const DimId c = b.AddDim(cols, DimKind::kReduce);
  b.kernel().outer = 1;
  const Buf x = b.AddBuffer(BufKind::kArg, f32, {rows, cols}, {cols, Size::Of(1)});
  const Buf value_out = b.AddBuffer(BufKind::kOut, f32, {rows}, {Size::Of(1)});
  const Buf index_out = b.AddBuffer(BufKind::kOut, index_type, {rows}, {Size::Of(1)});
  // A larger value wins, then a NaN, then the lower index.
  GraphBuilder g({f32, index_type, f32, index_type});
  const Val better = g.Or(g.Compare(kGt, g.Argument(0), g.Argument(2)), g.Compare(kNe, g.Argument(0), g.Argument(0)));
  const Val tie = g.And(g.Compare(kEq, g.Argument(0), g.Argument(2)), g.Compare(kLt, g.Argument(1), g.Argument(3)));
  const Val value = g.Select(better, g.Argument(0), g.Argument(2));
  const Val index = g.Select(g.Or(better, tie), g.Argument(1), g.Argument(3));
  const uint32_t combiner = b.AddGraph(g.Finish({value, index}));
  const Val lowest = b.Const(f32, -__builtin_inf());
  const Val most = b.ConstBits(index_type, HighestBits(index_type));
  Reduce reduce;
  reduce.id = b.NewId();
  reduce.dims = 1u << c;
  reduce.in = {b.Read(x, {At(r), At(c)}), b.Convert(index_type, b.Index(c))};
  reduce.init = {lowest, b.Const(index_type, 0)};
  reduce.combiner = combiner;
  reduce.order = ReduceOrder::kLanes;
  reduce.identity = {lowest, most};
  Stage s;
  s.dims = {c};
  s.stores.push_back({.buf = value_out, .at = {At(r)}, .guard = {}, .value = b.Reduced(reduce.id, 0, f32)});
  s.stores.push_back({.buf = index_out, .at = {At(r)}, .guard = {}, .value = b.Reduced(reduce.id, 1, index_type)});
  s.reduces.push_back(reduce);
  b.AddStage(s);
  return WithSplit(b, 1, 8);
}

Kernel TransposeKernel(DType type, bool bias) {
  KernelBuilder b;
  const Size rows = Size::Param(b.AddParam());
  const Size cols = Size::Param(b.AddParam());
  const DimId c = b.AddDim(cols);
  const DimId r = b.AddDim(rows);
  const Buf x = b.AddBuffer(BufKind::kArg, type, {rows, cols}, {cols, Size::Of(1)});
  const Buf extra = bias ? b.AddBuffer(BufKind::kArg, type, {cols}, {Size::Of(1)}) : kNoBuf;
  const Buf out = b.AddBuffer(BufKind::kOut, type, {cols, rows}, {rows, Size::Of(1)});
  Val v = b.Read(x, {At(r), At(c)});
  if (bias) v = b.Add(v, b.Read(extra, {At(c)}));
  Stage s;
  s.dims = {c, r};
  s.stores.push_back({.buf = out, .at = {At(c), At(r)}, .guard = {}, .value = v});
  b.AddStage(s);
  return WithSplit(b, 1, 64);
}

Kernel QuarterTurnKernel(DType type, int64_t rows, int64_t cols) {
  KernelBuilder b;
  const DimId c = b.AddDim(Size::Of(cols));
  const DimId r = b.AddDim(Size::Of(rows));
  const Buf x = b.AddDense(BufKind::kArg, type, {rows, cols});
  const Buf out = b.AddDense(BufKind::kOut, type, {cols, rows});
  Axis down = At(c);
  down.terms[0].coef = Size::Of(-1);
  down.offset = Size::Of(cols - 1);
  Stage s;
  s.dims = {c, r};
  s.stores.push_back({.buf = out, .at = {At(c), At(r)}, .guard = {}, .value = b.Read(x, {At(r), down})});
  b.AddStage(s);
  return WithSplit(b, 1, 64);
}

Kernel LogisticKernel(int64_t steps) {
  KernelBuilder b;
  const Buf in = b.AddDense(BufKind::kArg, f32, {1});
  const Buf out = b.AddDense(BufKind::kOut, f32, {1});
  Loop loop;
  loop.id = b.NewId();
  loop.types = {f32};
  loop.init = {b.Read(in, {AtOffset(Size::Of(0))})};
  const Val c = b.Carried(loop.id, 0, f32);
  loop.next = {b.Mul(b.Mul(b.ConstF32(3.9f), c), b.Sub(b.ConstF32(1), c))};
  loop.trip_count = Size::Of(steps);
  b.AddLoop(loop);
  Stage s;
  s.stores.push_back({.buf = out, .at = {AtOffset(Size::Of(0))}, .guard = {}, .value = c});
  b.AddStage(s);
  return b.Finish();
}

Kernel NewtonKernel(int64_t steps) {
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(8));
  b.kernel().outer = 1;
  const Buf in = b.AddDense(BufKind::kArg, f32, {8});
  const Buf out = b.AddDense(BufKind::kOut, f32, {8});
  Loop loop;
  loop.id = b.NewId();
  loop.types = {f32, DType::kS32};
  loop.init = {b.Read(in, {At(i)}), b.ConstS32(0)};
  const Val x = b.Carried(loop.id, 0, f32);
  const Val n = b.Carried(loop.id, 1, DType::kS32);
  const Val square = b.Mul(x, x);
  const Val step = b.Div(b.Sub(b.Mul(square, x), b.ConstF32(2)), b.Mul(b.Mul(b.ConstF32(3), x), x));
  loop.next = {b.Sub(x, step), b.Add(n, b.ConstS32(1))};
  loop.condition = b.Compare(kLt, n, b.ConstS32(static_cast<int32_t>(steps)));
  b.AddLoop(loop);
  Stage s;
  s.stores.push_back({.buf = out, .at = {At(i)}, .guard = {}, .value = x});
  b.AddStage(s);
  return b.Finish();
}

Kernel LorenzKernel(int64_t steps) {
  KernelBuilder b;
  const Buf in = b.AddDense(BufKind::kArg, f32, {3});
  const Buf out = b.AddDense(BufKind::kOut, f32, {steps, 3});
  Loop loop;
  loop.id = b.NewId();
  loop.types = {f32, f32, f32, DType::kS64};
  for (int64_t k = 0; k < 3; ++k) loop.init.push_back(b.Read(in, {AtOffset(Size::Of(k))}));
  loop.init.push_back(b.ConstS64(0));
  const Val now[3] = {b.Carried(loop.id, 0, f32), b.Carried(loop.id, 1, f32), b.Carried(loop.id, 2, f32)};
  const Val counter = b.Carried(loop.id, 3, DType::kS64);
  struct State {
    Val x, y, z;
  };
  auto f = [&](State s) -> State {
    return {b.Mul(b.ConstF32(10), b.Sub(s.y, s.x)), b.Sub(b.Mul(s.x, b.Sub(b.ConstF32(28), s.z)), s.y),
            b.Sub(b.Mul(s.x, s.y), b.Mul(b.ConstF32(8.f / 3), s.z))};
  };
  auto axpy = [&](State s, float h, State k) -> State {
    const Val c = b.ConstF32(h);
    return {b.Add(s.x, b.Mul(c, k.x)), b.Add(s.y, b.Mul(c, k.y)), b.Add(s.z, b.Mul(c, k.z))};
  };
  const State s{now[0], now[1], now[2]};
  const float h = 0.01f;
  const State k1 = f(s);
  const State k2 = f(axpy(s, h / 2, k1));
  const State k3 = f(axpy(s, h / 2, k2));
  const State k4 = f(axpy(s, h, k3));
  auto mix = [&](Val v, Val a, Val p, Val q, Val d) {
    const Val sum = b.Add(b.Add(a, b.Mul(b.ConstF32(2), p)), b.Add(b.Mul(b.ConstF32(2), q), d));
    return b.Add(v, b.Mul(b.ConstF32(h / 6), sum));
  };
  const Val next[3] = {mix(s.x, k1.x, k2.x, k3.x, k4.x), mix(s.y, k1.y, k2.y, k3.y, k4.y),
                       mix(s.z, k1.z, k2.z, k3.z, k4.z)};
  Stage stage;
  for (size_t k = 0; k < 3; ++k) {
    loop.next.push_back(next[k]);
    stage.stores.push_back({.buf = out,
                            .at = {AtStart(counter), AtOffset(Size::Of(static_cast<int64_t>(k)))},
                            .guard = {},
                            .value = next[k]});
  }
  loop.next.push_back(b.Add(counter, b.ConstS64(1)));
  loop.trip_count = Size::Of(steps);
  loop.body.push_back(Step{stage});
  b.AddLoop(loop);
  return b.Finish();
}

}  // namespace tenon::emit_llvm::testing
