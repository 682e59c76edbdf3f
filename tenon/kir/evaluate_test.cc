#include "tenon/kir/evaluate.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "tenon/kir/builder.h"

namespace tenon::kir {
namespace {

template <class T>
BufferRef Ref(std::vector<T>& v) {
  return {v.data(), v.data(), static_cast<int64_t>(v.size() * sizeof(T))};
}

// One operation on literals.
uint64_t Apply(Op op, DType type, DType in_type, std::vector<uint64_t> in, uint8_t imm = 0, uint32_t attr = 0,
               bool flush = true) {
  Graph g;
  Node node{op, type, imm, attr, {}};
  for (size_t i = 0; i < in.size(); ++i) {
    const DType t = op == Op::kSelect && i == 0 ? DType::kPred : in_type;
    g.arguments.push_back(t);
    g.nodes.push_back({Op::kArgument, t, static_cast<uint8_t>(i), 0, {}});
    node.in.push_back(static_cast<Val>(i));
  }
  g.nodes.push_back(node);
  g.results = {static_cast<Val>(in.size())};
  EXPECT_TRUE(Verify(g).ok()) << Verify(g).ToString();
  return (*Evaluate(g, in, flush))[0];
}

uint32_t F(float x) { return std::bit_cast<uint32_t>(x); }
constexpr auto f32 = DType::kF32;
constexpr auto s8 = DType::kS8;

TEST(EvaluateScalar, IntegersWrapAndDivideAsStated) {
  EXPECT_EQ(Apply(Op::kAdd, s8, s8, {0x7f, 1}), 0x80u);
  EXPECT_EQ(Apply(Op::kDiv, s8, s8, {0x80, 0xff}), 0x80u);  // MIN / -1
  EXPECT_EQ(Apply(Op::kRem, s8, s8, {0x80, 0xff}), 0u);
  EXPECT_EQ(Apply(Op::kDiv, s8, s8, {7, 0}), 0xffu);
  EXPECT_EQ(Apply(Op::kRem, s8, s8, {7, 0}), 7u);
  EXPECT_EQ(Apply(Op::kDiv, s8, s8, {0xf9, 2}), 0xfdu);  // -7 / 2 = -3
  EXPECT_EQ(Apply(Op::kRem, s8, s8, {0xf9, 2}), 0xffu);  // -7 % 2 = -1
  EXPECT_EQ(Apply(Op::kDiv, DType::kU8, DType::kU8, {0xf9, 2}), 0x7cu);
  EXPECT_EQ(Apply(Op::kMin, s8, s8, {0x80, 1}), 0x80u);
  EXPECT_EQ(Apply(Op::kMin, DType::kU8, DType::kU8, {0x80, 1}), 1u);
  EXPECT_EQ(Apply(Op::kAbs, s8, s8, {0x80}), 0x80u);
  EXPECT_EQ(Apply(Op::kSign, s8, s8, {0x80}), 0xffu);
  EXPECT_EQ(Apply(Op::kMul, DType::kS4, DType::kS4, {7, 7}), 1u);  // 49 mod 16
}

TEST(EvaluateScalar, ShiftsTakeAnyAmount) {
  EXPECT_EQ(Apply(Op::kShl, s8, s8, {1, 7}), 0x80u);
  EXPECT_EQ(Apply(Op::kShl, s8, s8, {1, 8}), 0u);
  EXPECT_EQ(Apply(Op::kShrLogical, s8, s8, {0x80, 0xff}), 0u);
  EXPECT_EQ(Apply(Op::kShrArith, s8, s8, {0x80, 0xff}), 0xffu);
  EXPECT_EQ(Apply(Op::kShrArith, DType::kU8, DType::kU8, {0x80, 200}), 0xffu);
  EXPECT_EQ(Apply(Op::kShrArith, s8, s8, {0x40, 3}), 8u);
  EXPECT_EQ(Apply(Op::kClz, s8, s8, {0}), 8u);
  EXPECT_EQ(Apply(Op::kClz, DType::kU4, DType::kU4, {1}), 3u);
  EXPECT_EQ(Apply(Op::kPopcnt, s8, s8, {0xff}), 8u);
}

TEST(EvaluateScalar, PredsAreLogical) {
  const auto p = DType::kPred;
  EXPECT_EQ(Apply(Op::kAdd, p, p, {1, 1}), 1u);
  EXPECT_EQ(Apply(Op::kMul, p, p, {1, 0}), 0u);
  EXPECT_EQ(Apply(Op::kNot, p, p, {1}), 0u);
  EXPECT_EQ(Apply(Op::kCompare, p, p, {0, 1}, kLt), 1u);
  EXPECT_EQ(Apply(Op::kSelect, f32, f32, {0, 5, 6}), 6u);
}

TEST(EvaluateScalar, MinAndMaxOrderZerosAndKeepNaN) {
  EXPECT_EQ(Apply(Op::kMin, f32, f32, {F(0.f), F(-0.f)}), F(-0.f));
  EXPECT_EQ(Apply(Op::kMin, f32, f32, {F(-0.f), F(0.f)}), F(-0.f));
  EXPECT_EQ(Apply(Op::kMax, f32, f32, {F(-0.f), F(0.f)}), F(0.f));
  EXPECT_EQ(Apply(Op::kMax, f32, f32, {F(0.f), F(-0.f)}), F(0.f));
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(static_cast<uint32_t>(Apply(Op::kMax, f32, f32, {F(NAN), F(1.f)})))));
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(static_cast<uint32_t>(Apply(Op::kMin, f32, f32, {F(1.f), F(NAN)})))));
}

TEST(EvaluateScalar, RoundsToIntegers) {
  EXPECT_EQ(Apply(Op::kRoundEven, f32, f32, {F(2.5f)}), F(2.f));
  EXPECT_EQ(Apply(Op::kRoundAway, f32, f32, {F(2.5f)}), F(3.f));
  EXPECT_EQ(Apply(Op::kRoundAway, f32, f32, {F(0.49999997f)}), F(0.f));
  EXPECT_EQ(Apply(Op::kCeil, f32, f32, {F(-0.5f)}), F(-0.f));
  EXPECT_EQ(Apply(Op::kRem, f32, f32, {F(-4.f), F(2.f)}), F(-0.f));
  EXPECT_EQ(Apply(Op::kSign, f32, f32, {F(-0.f)}), F(-0.f));
}

TEST(EvaluateScalar, NarrowFloatsRoundAfterEachOperation) {
  const auto bf = DType::kBF16;
  EXPECT_EQ(Apply(Op::kAdd, bf, bf, {LiteralBits(bf, 256.0), LiteralBits(bf, 1.0)}), LiteralBits(bf, 256.0));
  const auto h = DType::kF16;
  EXPECT_EQ(Apply(Op::kAdd, h, h, {LiteralBits(h, 2048.0), LiteralBits(h, 1.0)}), LiteralBits(h, 2048.0));
  EXPECT_EQ(Apply(Op::kAdd, h, h, {1, 1}), 2u);  // f16 subnormals are normal in f32
  EXPECT_EQ(Apply(Op::kMul, h, h, {LiteralBits(h, 256.0), LiteralBits(h, 256.0)}), 0x7c00u);
}

TEST(EvaluateScalar, Converts) {
  EXPECT_EQ(Apply(Op::kConvert, DType::kS32, f32, {F(-1.9f)}), 0xffffffffu);
  EXPECT_EQ(Apply(Op::kConvert, DType::kS32, f32, {F(3e9f)}), 0x7fffffffu);
  EXPECT_EQ(Apply(Op::kConvert, DType::kS32, f32, {F(NAN)}), 0u);
  EXPECT_EQ(Apply(Op::kConvert, DType::kU8, f32, {F(-1.f)}), 0u);
  EXPECT_EQ(Apply(Op::kConvert, DType::kS4, f32, {F(100.f)}), 7u);
  EXPECT_EQ(Apply(Op::kConvert, DType::kPred, f32, {F(-0.5f)}), 1u);
  EXPECT_EQ(Apply(Op::kConvert, DType::kPred, f32, {F(-0.f)}), 0u);
  EXPECT_EQ(Apply(Op::kConvert, DType::kS4, DType::kS32, {static_cast<uint32_t>(-9)}), 7u);
  EXPECT_EQ(Apply(Op::kConvert, f32, DType::kU64, {~uint64_t{0}}), F(0x1p64f));
  EXPECT_EQ(Apply(Op::kConvert, DType::kS64, s8, {0xff}), ~uint64_t{0});
  EXPECT_EQ(Apply(Op::kConvert, DType::kF16, DType::kS32, {65519}), 0x7bffu);
  EXPECT_EQ(Apply(Op::kConvert, DType::kF16, DType::kS32, {65520}), 0x7c00u);
  // Through f32: 1 + 2^-11 + 2^-30 becomes a tie there, and the tie goes to even.
  EXPECT_EQ(Apply(Op::kConvert, DType::kF16, DType::kF64, {std::bit_cast<uint64_t>(1 + 0x1p-11 + 0x1p-30)}), 0x3c00u);
}

TEST(EvaluateScalar, FlushesDenormalsOfArithmeticOnly) {
  const uint64_t tiny = 1, negative_tiny = 0x80000001;
  const uint64_t one = F(1.f);
  EXPECT_EQ(Apply(Op::kMul, f32, f32, {negative_tiny, one}), 0x80000000u);
  EXPECT_EQ(Apply(Op::kMul, f32, f32, {tiny, one}, 0, 0, /*flush=*/false), tiny);
  EXPECT_EQ(Apply(Op::kAdd, f32, f32, {tiny, tiny}), 0u);
  EXPECT_EQ(Apply(Op::kMax, f32, f32, {tiny, 0}), 0u);
  EXPECT_EQ(Apply(Op::kCompare, DType::kPred, f32, {tiny, 0}, kEq), 1u);
  EXPECT_EQ(Apply(Op::kCompare, DType::kPred, f32, {tiny, 0}, kEq | kTotalOrder), 0u);
  EXPECT_EQ(Apply(Op::kNeg, f32, f32, {tiny}), negative_tiny);
  EXPECT_EQ(Apply(Op::kAbs, f32, f32, {negative_tiny}), tiny);
  EXPECT_EQ(Apply(Op::kSelect, f32, f32, {1, tiny, 0}), tiny);
  EXPECT_EQ(Apply(Op::kConvert, DType::kF64, f32, {tiny}), 0u);
  EXPECT_EQ(Apply(Op::kConvert, f32, DType::kBF16, {1}), 0x10000u);
  EXPECT_EQ(Apply(Op::kConvert, DType::kBF16, f32, {0x10000}), 0u);
  // Not tiny once rounded: 2^-126 - 2^-151 is; 2^-126 - 2^-150 stays below.
  EXPECT_EQ(Apply(Op::kConvert, f32, DType::kF64, {std::bit_cast<uint64_t>(0x1p-126 - 0x1p-151)}), 0x00800000u);
  EXPECT_EQ(Apply(Op::kConvert, f32, DType::kF64, {std::bit_cast<uint64_t>(0x1p-126 - 0x1p-150)}), 0u);
}

TEST(EvaluateScalar, ReducePrecision) {
  const auto e5m10 = [](float x) { return Apply(Op::kReducePrecision, f32, f32, {F(x)}, 0, 5 << 8 | 10); };
  EXPECT_EQ(e5m10(65520.f), F(INFINITY));
  EXPECT_EQ(e5m10(-65519.f), F(-65504.f));
  EXPECT_EQ(e5m10(6e-5f), 0u);
  EXPECT_EQ(e5m10(1 + 0x1p-11f), F(1.f));
  EXPECT_EQ(e5m10(1 + 0x3p-11f), F(1 + 0x1p-9f));
  EXPECT_EQ(Apply(Op::kReducePrecision, f32, f32, {F(1.75f)}, 0, 8 << 8 | 0), F(2.f));
}

TEST(EvaluateScalar, TotalOrder) {
  const auto less = [](float a, float b) {
    return Apply(Op::kCompare, DType::kPred, f32, {F(a), F(b)}, kLt | kTotalOrder);
  };
  EXPECT_EQ(less(-0.f, 0.f), 1u);
  EXPECT_EQ(less(INFINITY, NAN), 1u);
  EXPECT_EQ(less(-NAN, -INFINITY), 1u);
  EXPECT_EQ(Apply(Op::kCompare, DType::kPred, f32, {F(NAN), F(1.f)}, kNe), 1u);
  EXPECT_EQ(Apply(Op::kCompare, DType::kPred, f32, {F(NAN), F(1.f)}, kGe), 0u);
}

TEST(Evaluate, TransposesReversesAndPads) {
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(4)), j = b.AddDim(Size::Of(2));
  const Buf in = b.AddDense(BufKind::kArg, f32, {2, 2}), out = b.AddDense(BufKind::kOut, f32, {4, 2});
  // out[i][j] = in[1-j][i-1] where 1 <= i < 3, else 9.
  kir::Read r{in, {At(j, Size::Of(-1), Size::Of(1)), At(i, Size::Of(1), Size::Of(-1))}, {}, b.ConstF32(9)};
  r.guard.push_back({At(i), Size::Of(1), Size::Of(3), 1});
  Stage s;
  s.dims = {i, j};
  s.stores.push_back({out, {At(i), At(j)}, {}, b.Read(r)});
  b.AddStage(s);
  const Kernel k = b.Finish();
  ASSERT_TRUE(Verify(k).ok()) << Verify(k).ToString();
  std::vector<float> x = {1, 2, 3, 4}, y(8);
  const BufferRef refs[] = {Ref(x), Ref(y)};
  ASSERT_TRUE(Evaluate(k, refs, {}).ok());
  EXPECT_EQ(y, (std::vector<float>{9, 9, 3, 1, 4, 2, 9, 9}));
}

TEST(Evaluate, AStoreActsOnlyWhereItsGuardHolds) {
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(6));
  const Buf out = b.AddDense(BufKind::kOut, f32, {3});
  // Acts at i = 1 and 3, on elements 0 and 2.
  Stage s;
  s.dims = {i};
  kir::Store st{out, {At(i, Size::Of(1), Size::Of(-1))}, {}, b.ConstF32(7)};
  st.guard.push_back({At(i), Size::Of(1), Size::Of(4), 2});
  s.stores.push_back(st);
  b.AddStage(s);
  const Kernel k = b.Finish();
  ASSERT_TRUE(Verify(k).ok());
  std::vector<float> y = {0, 0, 0};
  const BufferRef refs[] = {Ref(y)};
  ASSERT_TRUE(Evaluate(k, refs, {}).ok());
  EXPECT_EQ(y, (std::vector<float>{7, 0, 7}));
}

// sum over n elements of x, in the given order.
Kernel Sum(int64_t n, ReduceOrder order, float init) {
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(n), DimKind::kReduce);
  const Buf in = b.AddDense(BufKind::kArg, f32, {n}), out = b.AddDense(BufKind::kOut, f32, {});
  Stage s;
  s.dims = {i};
  const Val x = b.Read(in, {At(i)});
  const Val sum = b.AddReduce(s, 1u << i, Op::kAdd, x, b.ConstF32(init), order, b.ConstF32(-0.f));
  s.stores.push_back({out, {}, {}, sum});
  b.AddStage(s);
  return b.Finish();
}

float RunSum(const Kernel& k, std::vector<float> x) {
  EXPECT_TRUE(Verify(k).ok()) << Verify(k).ToString();
  std::vector<float> y(1);
  const BufferRef refs[] = {Ref(x), Ref(y)};
  EXPECT_TRUE(Evaluate(k, refs, {}).ok());
  return y[0];
}

TEST(Evaluate, SequentialReductionGoesLeftToRight) {
  EXPECT_EQ(RunSum(Sum(4, ReduceOrder::kSequential, 1), {0x1p24f, 1, 1, -0x1p24f}), 0.f);
  EXPECT_EQ(RunSum(Sum(0, ReduceOrder::kSequential, 5), {}), 5.f);
}

TEST(Evaluate, LanesMeetInTheStatedTree) {
  // L = 16, W = 64. Elements 0 and 16 meet first; 2^24 + 1 loses the 1, and the 2^24 goes away with its negative from
  // elements 32 + 48.
  std::vector<float> x(64, 0.f);
  x[0] = 0x1p24f;
  x[16] = 1;
  x[32] = -0x1p24f;
  EXPECT_EQ(RunSum(Sum(64, ReduceOrder::kLanes, 0), x), 0.f);
  // Elements 0 and 64 share an accumulator; 8 meets 0 only in the first halving.
  std::vector<float> y(130, 0.f);
  y[0] = 0x1p24f;
  y[64] = -0x1p24f;
  y[8] = 1;
  EXPECT_EQ(RunSum(Sum(130, ReduceOrder::kLanes, 0), y), 1.f);
  EXPECT_EQ(RunSum(Sum(0, ReduceOrder::kLanes, -0.f), {}), 0.f);
  EXPECT_TRUE(std::signbit(RunSum(Sum(0, ReduceOrder::kLanes, -0.f), {})));
  std::vector<float> z(1000);
  std::iota(z.begin(), z.end(), 0.f);
  EXPECT_EQ(RunSum(Sum(1000, ReduceOrder::kLanes, 1), z), 499501.f);
}

TEST(Evaluate, RowWiseChainThroughALocalBuffer) {
  // Rows: y = (x - max x) / sum |x - max x|.
  KernelBuilder b;
  const DimId row = b.AddDim(Size::Of(2));
  const DimId j = b.AddDim(Size::Of(3), DimKind::kReduce), c = b.AddDim(Size::Of(3));
  b.kernel().outer = 1;
  const Buf in = b.AddDense(BufKind::kArg, f32, {2, 3}), out = b.AddDense(BufKind::kOut, f32, {2, 3});
  const Buf local = b.AddDense(BufKind::kLocal, f32, {3});
  const Val x = b.Read(in, {At(row), At(j)});
  Stage one;
  one.dims = {j};
  const Val max = b.AddReduce(one, 1u << j, Op::kMax, x, b.ConstF32(-INFINITY));
  b.AddStage(one);
  Stage two;
  two.dims = {j};
  const Val d = b.Sub(x, max);
  const Val sum = b.AddReduce(two, 1u << j, Op::kAdd, b.Abs(d), b.ConstF32(0));
  two.stores.push_back({local, {At(j)}, {}, d});
  b.AddStage(two);
  Stage three;
  three.dims = {c};
  three.stores.push_back({out, {At(row), At(c)}, {}, b.Div(b.Read(local, {At(c)}), sum)});
  b.AddStage(three);
  b.kernel().split = {1, Size::Of(1)};
  const Kernel k = b.Finish();
  ASSERT_TRUE(Verify(k).ok()) << Verify(k).ToString();
  std::vector<float> v = {1, 2, 3, 8, 4, 0}, y(6);
  const BufferRef refs[] = {Ref(v), Ref(y), {}};
  ASSERT_TRUE(Evaluate(k, refs, {}).ok());
  EXPECT_EQ(y, (std::vector<float>{-2.f / 3, -1.f / 3, 0, 0, -4.f / 12, -8.f / 12}));
  EXPECT_EQ(LocalBytes(k, nullptr), 64);
  EXPECT_EQ(NumPieces(k, nullptr), 2);
  const auto deps = DependentDims(k);
  EXPECT_EQ(deps[x], 0b011u);
  EXPECT_EQ(deps[max], 0b001u);
  EXPECT_EQ(deps[sum], 0b001u);
}

TEST(Evaluate, ReadingALocalBufferBeforeItsStoreIsAnError) {
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(2));
  const Buf local = b.AddDense(BufKind::kLocal, f32, {2}), out = b.AddDense(BufKind::kOut, f32, {2});
  Stage s;
  s.dims = {i};
  s.stores.push_back({out, {At(i)}, {}, b.Read(local, {At(i)})});
  b.AddStage(s);
  std::vector<float> y(2);
  const BufferRef refs[] = {{}, Ref(y)};
  EXPECT_FALSE(Evaluate(b.Finish(), refs, {}).ok());
}

TEST(Evaluate, LoopsCarryAllValuesAtOnce) {
  // (a, b) = (b, a + b), ten times or while b < 50.
  for (bool counted : {true, false}) {
    KernelBuilder b;
    const Buf out = b.AddDense(BufKind::kOut, DType::kS32, {2});
    Loop l;
    l.id = b.NewId();
    l.types = {DType::kS32, DType::kS32};
    l.init = {b.ConstS32(0), b.ConstS32(1)};
    const Val x = b.Carried(l.id, 0, DType::kS32), y = b.Carried(l.id, 1, DType::kS32);
    l.next = {y, b.Add(x, y)};
    if (counted) {
      l.trip_count = Size::Of(10);
    } else {
      l.condition = b.Compare(kLt, y, b.ConstS32(50));
    }
    b.AddLoop(l);
    Stage s;
    s.stores.push_back({out, {AtOffset(Size::Of(0))}, {}, x});
    s.stores.push_back({out, {AtOffset(Size::Of(1))}, {}, y});
    b.AddStage(s);
    const Kernel k = b.Finish();
    ASSERT_TRUE(Verify(k).ok()) << Verify(k).ToString();
    std::vector<int32_t> got(2);
    const BufferRef refs[] = {Ref(got)};
    ASSERT_TRUE(Evaluate(k, refs, {}).ok());
    EXPECT_EQ(got, counted ? (std::vector<int32_t>{55, 89}) : (std::vector<int32_t>{34, 55}));
  }
}

TEST(Evaluate, GathersAndScattersInRowMajorOrder) {
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(4), DimKind::kSerial);
  const Buf idx = b.AddDense(BufKind::kArg, DType::kS32, {4}), out = b.AddDense(BufKind::kOut, f32, {3});
  const Val at = b.Read(idx, {At(i)});
  Stage s;
  s.dims = {i};
  kir::Store st{out, {AtStart(at)}, {}, b.Convert(f32, b.Index(i))};
  st.guard.push_back({AtStart(at), Size::Of(0), Size::Of(3), 1});
  st.order = StoreOrder::kRowMajor;
  st.combine = static_cast<int32_t>(b.AddGraph(BinaryGraph(Op::kSub, f32)));
  s.stores.push_back(st);
  b.AddStage(s);
  const Kernel k = b.Finish();
  ASSERT_TRUE(Verify(k).ok()) << Verify(k).ToString();
  std::vector<int32_t> where = {2, -1, 2, 0};
  std::vector<float> y = {10, 10, 10};
  const BufferRef refs[] = {Ref(where), Ref(y)};
  ASSERT_TRUE(Evaluate(k, refs, {}).ok());
  EXPECT_EQ(y, (std::vector<float>{7, 10, 8}));
}

TEST(Evaluate, ComplexPartsAreSeparate) {
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(2));
  const Buf in = b.AddDense(BufKind::kArg, DType::kC64, {2}), out = b.AddDense(BufKind::kOut, DType::kC64, {2});
  Stage s;
  s.dims = {i};
  s.stores.push_back({out, {At(i)}, {}, b.Read(in, {At(i)}, 1), 0});
  s.stores.push_back({out, {At(i)}, {}, b.Neg(b.Read(in, {At(i)}, 0)), 1});
  b.AddStage(s);
  const Kernel k = b.Finish();
  ASSERT_TRUE(Verify(k).ok()) << Verify(k).ToString();
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  const BufferRef refs[] = {Ref(x), Ref(y)};
  ASSERT_TRUE(Evaluate(k, refs, {}).ok());
  EXPECT_EQ(y, (std::vector<float>{2, -1, 4, -3}));
}

TEST(Evaluate, ParamsGiveExtentsStridesAndOffsets) {
  KernelBuilder b;
  const int32_t n = b.AddParam(), stride = b.AddParam();
  const DimId i = b.AddDim(Size::Param(n));
  const Buf in = b.AddBuffer(BufKind::kArg, f32, {Size::Param(n)}, {Size::Param(stride)});
  const Buf out = b.AddBuffer(BufKind::kOut, f32, {Size::Param(n)}, {Size::Of(1)});
  Stage s;
  s.dims = {i};
  s.stores.push_back({out, {At(i)}, {}, b.Read(in, {At(i)})});
  b.AddStage(s);
  const Kernel k = b.Finish();
  std::vector<float> x = {1, 2, 3, 4, 5}, y(3);
  const BufferRef refs[] = {Ref(x), Ref(y)};
  const int64_t params[] = {3, 2};
  ASSERT_TRUE(Evaluate(k, refs, params).ok());
  EXPECT_EQ(y, (std::vector<float>{1, 3, 5}));
  const int64_t too_far[] = {3, 3};
  EXPECT_FALSE(Evaluate(k, refs, too_far).ok());
  EXPECT_FALSE(Evaluate(k, refs, {}).ok());
}

}  // namespace
}  // namespace tenon::kir
