// Loop nests and accesses of every kind that fusion produces, at every level, against KIR's evaluator.
#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/emit_llvm/emit.h"
#include "tenon/emit_llvm/testing/kernels.h"
#include "tenon/emit_llvm/testing/run.h"
#include "tenon/isa/cache.h"
#include "tenon/kir/builder.h"

namespace tenon::emit_llvm {
namespace {

using namespace kir;  // NOLINT: this file is mostly KIR
using testing::CompareWithEvaluator;
constexpr DType f32 = DType::kF32;
constexpr DType s32 = DType::kS32;
constexpr DType s64 = DType::kS64;

Axis Sum(std::initializer_list<Term> terms, int64_t offset = 0) {
  Axis axis;
  for (const Term& t : terms) axis.terms.push_back(t);
  axis.offset = Size::Of(offset);
  return axis;
}
Store Put(Buf buf, SmallVector<Axis, 4> at, Val value) {
  return {.buf = buf, .at = std::move(at), .guard = {}, .value = value};
}

class Stages : public ::testing::TestWithParam<isa::IsaLevel> {
 protected:
  void SetUp() override {
    if (GetParam() > isa::DetectedIsa()) GTEST_SKIP() << "this machine lacks " << isa::IsaLevelName(GetParam());
  }
  void Expect(const Kernel& kernel, const testing::RunOptions& options = {}) {
    const std::string difference = CompareWithEvaluator(kernel, GetParam(), options);
    EXPECT_EQ(difference, "") << (difference.empty() ? "" : Print(kernel));
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, Stages, ::testing::ValuesIn(isa::kAllIsaLevels),
                         [](const auto& info) { return std::string(isa::IsaLevelName(info.param)); });

// Components of small structs: read beside one another, combined, and written beside one another.
TEST_P(Stages, NeighboursAlongAnotherDimThanTheLanes) {
  for (DType type : {f32, DType::kF64, s32, DType::kBF16, DType::kU8}) {
    for (const int64_t parts : {2, 3, 4, 7, 9, 12, 20}) {
      for (const int64_t points : {5, 77}) {
        KernelBuilder b;
        const DimId i = b.AddDim(Size::Of(points));
        const Buf x = b.AddDense(BufKind::kArg, type, {points * parts}),
                  out = b.AddDense(BufKind::kOut, type, {points * parts}),
                  some = b.AddDense(BufKind::kOut, type, {points * parts});
        Stage s;
        s.dims = {i};
        std::vector<Val> read;
        for (int64_t c = 0; c < parts; ++c) read.push_back(b.Read(x, {At(i, Size::Of(parts), Size::Of(c))}));
        for (int64_t c = 0; c < parts; ++c) {
          // Every value once, and not in the order of memory.
          const int64_t to = c * 7 % parts == 0 && c != 0 ? c : parts - 1 - c;
          const Val sum = b.Add(read[static_cast<size_t>(c)], read[static_cast<size_t>((c + 1) % parts)]);
          s.stores.push_back(Put(out, {At(i, Size::Of(parts), Size::Of(parts % 7 == 0 ? c : to))}, sum));
        }
        // Not all of them, of not all of them.
        for (int64_t c = 1; c < parts; c += 2)
          s.stores.push_back(Put(some, {At(i, Size::Of(parts), Size::Of(c))}, read[static_cast<size_t>(c - 1)]));
        b.AddStage(s);
        b.kernel().split = {1, Size::Of(points)};
        const Kernel kernel = b.Finish();
        Expect(kernel, {.indices_per_call = points > 64 ? 67 : 0, .misalign_bytes = 8});
      }
    }
  }
}

// Rows past caches bypass them, but for the vector that ends them, which begins anywhere where there are no masks.
TEST_P(Stages, RowsThatBypassCachesEndAnywhere) {
  KernelBuilder b;
  const int64_t count = isa::Caches().l3_bytes / 2 + 3;
  const DimId i = b.AddDim(Size::Of(count));
  const Buf x = b.AddDense(BufKind::kArg, DType::kU8, {count}), out = b.AddDense(BufKind::kOut, DType::kU8, {count});
  Stage s;
  s.dims = {i};
  const Val value = b.Read(x, {At(i)});
  s.stores.push_back(Put(out, {At(i)}, b.Add(value, value)));
  b.AddStage(s);
  b.kernel().split = {1, Size::Of(count)};
  Expect(b.Finish());
}

// Components that only change their places: what is taken apart and put together moves directly.
TEST_P(Stages, ComponentsInAnotherOrder) {
  for (DType type : {f32, DType::kF64, DType::kU8, DType::kS16}) {
    for (const int64_t parts : {2, 3, 4, 5, 8, 13}) {
      for (const int64_t points : {5, 77}) {
        KernelBuilder b;
        const DimId i = b.AddDim(Size::Of(points));
        const Buf x = b.AddDense(BufKind::kArg, type, {points * parts}),
                  down = b.AddDense(BufKind::kOut, type, {points * parts}),
                  turned = b.AddDense(BufKind::kOut, type, {points * parts});
        Stage s;
        s.dims = {i};
        std::vector<Val> read;
        for (int64_t c = 0; c < parts; ++c) read.push_back(b.Read(x, {At(i, Size::Of(parts), Size::Of(c))}));
        for (int64_t c = 0; c < parts; ++c)
          s.stores.push_back(
              Put(down, {At(i, Size::Of(parts), Size::Of(parts - 1 - c))}, read[static_cast<size_t>(c)]));
        for (int64_t c = 0; c < parts; ++c) {
          // One of them twice, and one that is computed.
          const Val value = c == 0 ? b.Add(read[0], read[1]) : read[static_cast<size_t>((c + c / 2) % parts)];
          s.stores.push_back(Put(turned, {At(i, Size::Of(parts), Size::Of(c))}, value));
        }
        b.AddStage(s);
        b.kernel().split = {1, Size::Of(points)};
        const Kernel kernel = b.Finish();
        Expect(kernel, {.indices_per_call = points > 64 ? 67 : 0, .misalign_bytes = 8});
      }
    }
  }
}

// Components of narrow elements beside wider ones of the same points: as many lanes as the narrow ones are shuffled in.
TEST_P(Stages, ComponentsOfTwoWidths) {
  for (DType narrow : {DType::kU8, DType::kS8, DType::kS16, DType::kBF16}) {
    for (DType wide : {f32, s32, DType::kS16}) {
      if (narrow == wide) continue;
      for (const int64_t parts : {2, 3, 4}) {
        KernelBuilder b;
        const Size points = Size::Of(83);
        const DimId i = b.AddDim(points);
        const Buf x = b.AddDense(BufKind::kArg, wide, {83 * parts}),
                  y = b.AddDense(BufKind::kArg, narrow, {83 * parts}),
                  down = b.AddDense(BufKind::kOut, narrow, {83 * parts}),
                  up = b.AddDense(BufKind::kOut, wide, {83 * parts});
        Stage s;
        s.dims = {i};
        for (int64_t c = 0; c < parts; ++c) {
          const auto at = [&](int64_t of) { return At(i, Size::Of(parts), Size::Of(of)); };
          s.stores.push_back(Put(down, {at(c)}, b.Convert(narrow, b.Read(x, {at(parts - 1 - c)}))));
          const Val widened = b.Convert(wide, b.Read(y, {at(c)}));
          s.stores.push_back(Put(up, {at(c)}, b.Add(widened, b.Read(x, {at(c)}))));
        }
        std::stable_sort(s.stores.begin(), s.stores.end(),
                         [](const Store& a, const Store& c) { return a.buf < c.buf; });
        b.AddStage(s);
        b.kernel().split = {1, Size::Of(64)};
        const Kernel kernel = b.Finish();
        Expect(kernel, {.misalign_bytes = 4});
        Expect(kernel, {.indices_per_call = 64, .misalign_bytes = 4});
      }
    }
  }
}

// The same where the first lane lies last, whether the length of the row is known when code is made or not.
TEST_P(Stages, ComponentsOfRowsThatRunDown) {
  for (DType type : {f32, DType::kF64, DType::kU8, DType::kS16}) {
    for (const int64_t parts : {2, 3, 4, 7}) {
      for (const int64_t points : {5, 77, 640}) {
        KernelBuilder b;
        const DimId i = b.AddDim(Size::Of(points));
        const Buf x = b.AddDense(BufKind::kArg, type, {points * parts}),
                  out = b.AddDense(BufKind::kOut, type, {points * parts});
        Stage s;
        s.dims = {i};
        for (int64_t c = 0; c < parts; ++c) {
          const Val read = b.Read(x, {At(i, Size::Of(-parts), Size::Of(parts * (points - 1) + (c * 2 + 1) % parts))});
          s.stores.push_back(Put(out, {At(i, Size::Of(parts), Size::Of(c))}, c == 1 ? b.Add(read, read) : read));
        }
        b.AddStage(s);
        Kernel kernel = b.Finish();
        Expect(kernel, {.misalign_bytes = 8});
        kernel.split = {1, Size::Of(points)};
        Expect(kernel, {.indices_per_call = 67, .misalign_bytes = 8});
      }
    }
  }
}

// Edges of rows of a few vectors: what guards and comparisons of places leave out is known when code is made.
TEST_P(Stages, EdgesOfShortRows) {
  for (DType type : {f32, DType::kF64, DType::kU8}) {
    for (const int64_t points : {1, 7, 16, 33, 64, 100}) {
      KernelBuilder b;
      const DimId r = b.AddDim(Size::Of(3)), i = b.AddDim(Size::Of(points));
      const Buf x = b.AddDense(BufKind::kArg, type, {3, points}), out = b.AddDense(BufKind::kOut, type, {3, points});
      const Val one = b.Const(type, int64_t{1});
      const auto neighbour = [&](int64_t by) {
        kir::Read read;
        read.buf = x;
        read.at = {At(r), At(i, Size::Of(1), Size::Of(by))};
        read.guard.push_back({.e = At(i, Size::Of(1), Size::Of(by)), .lo = Size::Of(0), .hi = Size::Of(points)});
        read.otherwise = one;
        return b.Read(read, 0);
      };
      const Val edge = b.Compare(kLt, b.Index(i), b.ConstS64(points / 2));
      const Val sum = b.Add(b.Add(neighbour(-1), neighbour(1)), neighbour(points + 5));
      Stage s;
      s.dims = {r, i};
      s.stores.push_back(Put(out, {At(r), At(i)}, b.Select(edge, sum, neighbour(-20))));
      b.AddStage(s);
      Expect(b.Finish(), {.misalign_bytes = 8});
    }
  }
}

// Rows of narrow elements that are no whole number of vectors: shorter than one, of known length and of any, in pieces,
// with edges; where points may be computed twice and where the second time would read what the first one wrote.
TEST_P(Stages, EndsOfNarrowRows) {
  for (DType type : {DType::kU8, DType::kS16, DType::kBF16, f32}) {
    for (const int64_t points : {3, 6, 11, 17, 31, 33, 50, 70, 100}) {
      for (const bool in_place : {false, true}) {
        KernelBuilder b;
        const int32_t length = b.AddParam();
        const DimId r = b.AddDim(Size::Of(5)), i = b.AddDim(Size::Of(points)), j = b.AddDim(Size::Param(length));
        const auto rows = [&](BufKind kind, Size extent) {
          return b.AddBuffer(kind, type, {Size::Of(5), extent}, {extent, Size::Of(1)});
        };
        const Buf x = rows(BufKind::kArg, Size::Of(points)), out = rows(BufKind::kOut, Size::Of(points));
        const Buf y = rows(BufKind::kArg, Size::Param(length)), any = rows(BufKind::kOut, Size::Param(length));
        if (in_place) {
          b.kernel().buffers[out].in_place_of = x;
          b.kernel().buffers[any].in_place_of = y;
        }
        const Val three = b.Const(type, int64_t{3});
        const auto grown = [&](Val v) { return b.Add(b.Mul(v, three), three); };
        Stage known, unknown;
        known.dims = {i};
        known.stores.push_back(Put(out, {At(r), At(i)}, grown(b.Read(x, {At(r), At(i)}))));
        unknown.dims = {j};
        unknown.stores.push_back(Put(any, {At(r), At(j)}, grown(b.Read(y, {At(r), At(j)}))));
        b.AddStage(known);
        b.AddStage(unknown);
        b.kernel().outer = 1;
        b.kernel().split = {1, Size::Of(2)};
        Expect(b.Finish(), {.params = {points + 1}, .misalign_bytes = 6});
      }
      // Neighbours of which some are outside, beside what belongs to the row; and pieces along the row.
      for (const bool pieces : {false, true}) {
        KernelBuilder b;
        const DimId r = b.AddDim(Size::Of(pieces ? 1 : 3)), i = b.AddDim(Size::Of(points));
        const Buf x = b.AddDense(BufKind::kArg, type, {3, points}), row = b.AddDense(BufKind::kArg, type, {3}),
                  out = b.AddDense(BufKind::kOut, type, {3, points}),
                  some = b.AddDense(BufKind::kOut, type, {3, points});
        const auto neighbour = [&](int64_t by) {
          kir::Read read{.buf = x, .at = {At(r), At(i, Size::Of(1), Size::Of(by))}, .guard = {}};
          read.guard.push_back({.e = read.at[1], .lo = Size::Of(0), .hi = Size::Of(points)});
          read.otherwise = b.Read(row, {At(r)});
          return b.Read(read);
        };
        Stage s;
        s.dims = {r, i};
        const Val sum = b.Add(b.Add(neighbour(-1), neighbour(2)), b.Read(row, {At(r)}));
        const Val first = b.Compare(kLt, b.Index(i), b.ConstS64(points / 2));
        s.stores.push_back(Put(out, {At(r), At(i)}, b.Select(first, sum, b.Read(row, {At(r)}))));
        s.stores.push_back(Put(some, {At(r), At(i)}, b.Read(x, {At(r), At(i)})));
        s.stores.back().guard.push_back({.e = At(i), .lo = Size::Of(2), .hi = Size::Of(points - 1)});
        b.AddStage(s);
        if (pieces) b.kernel().split = {3, Size::Of(1)};
        Expect(b.Finish(), {.indices_per_call = pieces ? 40 : 0, .misalign_bytes = 2});
      }
    }
  }
}

// Many values that the points of a column share are no reason to run down columns, each element of which brings a line
// of memory of its own.
TEST_P(Stages, RowsMeetManyVectors) {
  KernelBuilder b;
  const Size rows = Size::Param(b.AddParam()), columns = Size::Param(b.AddParam()), all = Size::Param(b.AddParam());
  const DimId i = b.AddDim(rows), j = b.AddDim(columns);
  const auto rows_of = [&](BufKind kind) { return b.AddBuffer(kind, f32, {all}, {Size::Of(1)}); };
  const Buf x = rows_of(BufKind::kArg), y = rows_of(BufKind::kOut);
  Axis at = At(j);
  at.terms.insert(at.terms.begin(), {i, columns});
  const auto vector = [&] { return b.Read(b.AddBuffer(BufKind::kArg, f32, {columns}, {Size::Of(1)}), {At(j)}); };
  Val shared = vector();
  for (int k = 0; k < 40; ++k) shared = b.Add(shared, vector());
  Val value = b.Add(b.Read(x, {at}), shared);
  for (int k = 0; k < 8; ++k) value = k % 2 == 0 ? b.Mul(value, vector()) : b.Max(value, vector());
  Stage s;
  s.dims = {i, j};
  s.stores.push_back(Put(y, {at}, value));
  b.AddStage(s);
  const kir::Kernel kernel = b.Finish();
  Expect(kernel, {.params = {37, 53, 37 * 53}});
  const Result<std::string> text = EmitLlvmText(kernel, {.isa = GetParam()});
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_EQ(text->find("masked.gather"), std::string::npos);
  EXPECT_EQ(text->find("masked.scatter"), std::string::npos);
}

TEST_P(Stages, StridedReversedAndBroadcastReads) {
  for (DType type : {f32, DType::kF64, DType::kBF16, DType::kU8}) {
    KernelBuilder b;
    const DimId i = b.AddDim(Size::Of(7)), j = b.AddDim(Size::Of(45));
    const Buf x = b.AddDense(BufKind::kArg, type, {7, 45}), wide = b.AddDense(BufKind::kArg, type, {7, 140});
    const Buf row = b.AddDense(BufKind::kArg, type, {45}), column = b.AddDense(BufKind::kArg, type, {7}),
              one = b.AddDense(BufKind::kArg, type, {1});
    const Buf out = b.AddDense(BufKind::kOut, type, {7, 45}), back = b.AddDense(BufKind::kOut, type, {7, 45}),
              spread = b.AddDense(BufKind::kOut, type, {7, 92});
    const Val reversed = b.Read(x, {At(i, Size::Of(-1), Size::Of(6)), At(j, Size::Of(-1), Size::Of(44))});
    const Val strided = b.Read(wide, {At(i), At(j, Size::Of(3), Size::Of(2))});
    const Val broadcast =
        b.Add(b.Add(b.Read(row, {At(j)}), b.Read(column, {At(i)})), b.Read(one, {AtOffset(Size::Of(0))}));
    Stage s;
    s.dims = {i, j};
    s.stores.push_back(Put(out, {At(i), At(j)}, b.Add(b.Add(reversed, strided), broadcast)));
    s.stores.push_back(Put(back, {At(i), At(j, Size::Of(-1), Size::Of(44))}, b.Read(x, {At(i), At(j)})));
    s.stores.push_back(Put(spread, {At(i), At(j, Size::Of(2), Size::Of(1))}, strided));
    b.AddStage(s);
    b.kernel().split = {3, Size::Of(20)};
    const Kernel kernel = b.Finish();
    Expect(kernel);
    Expect(kernel, {.seed = 2, .indices_per_call = 17});
  }
}

TEST_P(Stages, GuardsMakePadding) {
  // Edge and interior padding of both dims; the operand has 5 x 40, of which every second place of the output along j
  // holds one.
  for (DType type : {f32, DType::kS16, DType::kF64}) {
    KernelBuilder b;
    const DimId i = b.AddDim(Size::Of(9)), j = b.AddDim(Size::Of(90));
    const Buf x = b.AddDense(BufKind::kArg, type, {5, 40}), out = b.AddDense(BufKind::kOut, type, {9, 90}),
              odd = b.AddDense(BufKind::kOut, type, {9, 45});
    kir::Read plain{.buf = x,
                    .at = {At(i, Size::Of(1), Size::Of(-2)), At(j, Size::Of(1), Size::Of(-7))},
                    .guard = {},
                    .otherwise = b.Const(type, 3)};
    plain.guard.push_back({.e = At(i, Size::Of(1), Size::Of(-2)), .lo = Size::Of(0), .hi = Size::Of(5)});
    plain.guard.push_back({.e = At(j, Size::Of(1), Size::Of(-7)), .lo = Size::Of(0), .hi = Size::Of(40)});
    Stage s;
    s.dims = {i, j};
    Store store = Put(out, {At(i), At(j)}, b.Read(plain));
    s.stores.push_back(store);
    // Only odd places, down to half the index: a store's guard with a remainder. The index is a value.
    Store halves = Put(odd, {At(i), AtStart(b.Div(b.Index(j), b.ConstS64(2)))}, b.Read(plain));
    halves.guard.push_back({.e = At(j), .lo = Size::Of(1), .hi = Size::Of(90), .mod = 2});
    s.stores.push_back(halves);
    b.AddStage(s);
    b.kernel().split = {1, Size::Of(2)};
    Expect(b.Finish());
  }
}

// A dim that is there twice moves a guard by both of its steps: vectors whose first lane is far before the inside have
// lanes that are inside.
TEST_P(Stages, GuardsThatNameADimTwice) {
  for (DType type : {f32, DType::kF64, DType::kU8}) {
    for (const int64_t offset : {-26, -52, -60, 12}) {
      for (const int64_t along : {1, -1}) {
        KernelBuilder b;
        const DimId i = b.AddDim(Size::Of(64));
        const Buf x = b.AddDense(BufKind::kArg, type, {30}), out = b.AddDense(BufKind::kOut, type, {64});
        const kir::Axis at = Sum({{i, Size::Of(along)}, {i, Size::Of(along)}}, along < 0 ? 29 - offset : offset);
        Stage s;
        s.dims = {i};
        s.stores.push_back(Put(out, {At(i)},
                               b.Read({.buf = x,
                                       .at = {at},
                                       .guard = {{.e = at, .lo = Size::Of(0), .hi = Size::Of(30)}},
                                       .otherwise = b.Const(type, 3)})));
        b.AddStage(s);
        Expect(b.Finish());
      }
    }
  }
}

TEST_P(Stages, DomainsConcatenate) {
  KernelBuilder b;
  const Size n = Size::Param(b.AddParam()), m = Size::Param(b.AddParam()), total = Size::Param(b.AddParam());
  const DimId i = b.AddDim(Size::Of(3)), j = b.AddDim(total);
  const Buf x = b.AddBuffer(BufKind::kArg, f32, {Size::Of(3), n}, {n, Size::Of(1)}),
            y = b.AddBuffer(BufKind::kArg, f32, {Size::Of(3), m}, {m, Size::Of(1)});
  const Buf out = b.AddBuffer(BufKind::kOut, f32, {Size::Of(3), total}, {total, Size::Of(1)});
  const int32_t minus_n = b.AddParam();
  Stage first, second;
  first.dims = second.dims = {i, j};
  first.domain.push_back({j, Size::Of(0), n});
  second.domain.push_back({j, n, total});
  first.stores.push_back(Put(out, {At(i), At(j)}, b.Read(x, {At(i), At(j)})));
  second.stores.push_back(Put(out, {At(i), At(j)}, b.Read(y, {At(i), At(j, Size::Of(1), Size::Param(minus_n))})));
  b.AddStage(first);
  b.AddStage(second);
  b.kernel().split = {3, Size::Of(10)};
  const Kernel kernel = b.Finish();
  for (int64_t split : {1, 16, 37}) {
    Expect(kernel, {.params = {split, 50 - split, 50, -split}});
    Expect(kernel, {.params = {split, 50 - split, 50, -split}, .indices_per_call = 33});
  }
}

TEST_P(Stages, GathersAndScatters) {
  for (DType type : {f32, DType::kF64, DType::kS8}) {
    for (DType index_type : {s32, s64}) {
      KernelBuilder b;
      const DimId i = b.AddDim(Size::Of(37)), j = b.AddDim(Size::Of(19));
      const Buf table = b.AddDense(BufKind::kArg, type, {16, 19}), index = b.AddDense(BufKind::kArg, index_type, {37});
      const Buf rows = b.AddDense(BufKind::kOut, type, {37, 19}), single = b.AddDense(BufKind::kOut, type, {37});
      const Buf sums = b.AddDense(BufKind::kOut, type, {16, 19}), counts = b.AddDense(BufKind::kOut, type, {16}),
                last = b.AddDense(BufKind::kOut, type, {16});
      const Val at = b.Min(b.Max(b.Read(index, {At(i)}), b.Const(index_type, 0)), b.Const(index_type, 15));
      Stage gather;
      gather.dims = {i, j};
      gather.stores.push_back(Put(rows, {At(i), At(j)}, b.Read(table, {AtStart(at), At(j)})));
      b.AddStage(gather);
      Stage one;
      one.dims = {i};
      one.stores.push_back(Put(single, {At(i)}, b.Read(table, {AtStart(at), AtOffset(Size::Of(3))})));
      b.AddStage(one);
      const auto add = static_cast<int32_t>(b.AddGraph(BinaryGraph(Op::kAdd, type)));
      Stage scatter;
      scatter.dims = {i, j};
      scatter.stores.push_back(Put(sums, {AtStart(at), At(j)}, b.Read(table, {AtOffset(Size::Of(1)), At(j)})));
      scatter.stores.back().combine = add;
      scatter.stores.back().order = StoreOrder::kRowMajor;
      b.AddStage(scatter);
      Stage count;
      count.dims = {i};
      count.stores.push_back(Put(counts, {AtStart(at)}, b.Convert(type, b.Index(i))));
      count.stores.back().combine = add;
      count.stores.back().order = StoreOrder::kRowMajor;
      count.stores.push_back(Put(last, {AtStart(at)}, b.Convert(type, b.Index(i))));
      count.stores.back().order = StoreOrder::kRowMajor;
      b.AddStage(count);
      Expect(b.Finish());
    }
  }
}

// Rows that memory is asked for before their turn, of a table larger than a core's own caches, with places of their
// own trip and of the dims around it, and rows that are left alone: too long or too few, or of a small table.
TEST_P(Stages, RowsAtPlacesFromDataAreForeseen) {
  const auto kernel = [](int64_t groups, int64_t rows, int64_t table_rows, int64_t row) {
    KernelBuilder b;
    const DimId g = b.AddDim(Size::Of(groups)), i = b.AddDim(Size::Of(rows)), j = b.AddDim(Size::Of(row));
    const Buf table = b.AddDense(BufKind::kArg, f32, {table_rows, row}),
              index = b.AddDense(BufKind::kArg, s32, {groups, rows}),
              out = b.AddDense(BufKind::kOut, f32, {groups, rows, row});
    const Val at = b.Min(b.Max(b.Read(index, {At(g), At(i)}), b.Const(s32, 0)), b.Const(s32, table_rows - 1));
    Stage s;
    s.dims = {g, i, j};
    s.stores.push_back(Put(out, {At(g), At(i), At(j)}, b.Read(table, {AtStart(at), At(j)})));
    b.AddStage(s);
    b.kernel().split = {3, Size::Of(1)};
    return b.Finish();
  };
  const int64_t far = isa::Caches().l2_bytes / 4;
  const std::function<bool(Buf, int64_t, uint64_t*)> places = [](Buf buffer, int64_t at, uint64_t* bits) {
    if (buffer != 1) return false;
    *bits = static_cast<uint64_t>(at * 7919 % 5000);
    return true;
  };
  const auto foresees = [](const kir::Kernel& k) {
    const auto text = EmitAssembly(k, {.isa = GetParam()});
    EXPECT_TRUE(text.ok()) << text.status().ToString();
    return text.ok() && text->find("prefetch") != std::string::npos;
  };
  for (const int64_t row : {64, 100, 256}) {
    const kir::Kernel k = kernel(3, 40, far / row + 1, row);
    EXPECT_TRUE(foresees(k)) << row;
    for (const int64_t misalign : {0, 16, 60}) Expect(k, {.fill = places, .misalign_bytes = misalign});
    Expect(k, {.fill = places, .indices_per_call = 777});
    if (GetParam() == isa::IsaLevel::kSse4) continue;  // LLVM's makes all of its code.
    const auto compiled = CompileKernel(k, {.isa = GetParam()});
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    EXPECT_EQ((*compiled)->llvm_reason, "");
  }
  EXPECT_FALSE(foresees(kernel(3, 40, far / 257 + 1, 257)));
  EXPECT_FALSE(foresees(kernel(3, 15, far / 64 + 1, 64)));
  EXPECT_FALSE(foresees(kernel(3, 40, far / 64 - 1, 64)));
}

// Samples between the elements of rows: where they lie and what they weigh is shared by the points of short rows.
TEST_P(Stages, WhatShortRowsShareIsComputedForManyRows) {
  const auto kernel = [](DType real, DType type, int64_t rows, int64_t row) {
    KernelBuilder b;
    const DimId g = b.AddDim(Size::Of(3)), i = b.AddDim(Size::Of(rows)), c = b.AddDim(Size::Of(row));
    const Buf table = b.AddDense(BufKind::kArg, type, {50, row}), x = b.AddDense(BufKind::kArg, real, {3, rows}),
              out = b.AddDense(BufKind::kOut, real, {3, rows, row});
    const Val at = b.Read(x, {At(g), At(i)}), bent = b.Sqrt(b.Abs(b.Div(at, b.Add(b.Abs(at), b.Const(real, 1)))));
    const Val place = b.Mul(bent, b.Const(real, 42));
    const Val floor = b.Floor(place), part = b.Sub(place, floor);
    const auto sample = [&](int64_t offset) {
      const Val inside = b.Min(b.Max(b.Convert(s32, floor), b.Const(s32, offset)), b.Const(s32, 48 + offset));
      return b.Convert(real, b.Read(table, {AtStart(inside), At(c)}));
    };
    const Val weighed = b.Max(b.Mul(sample(1), part), b.Mul(sample(0), b.Sub(b.Const(real, 1), part)));
    const Val edge = b.Compare(kir::kLt, part, b.Const(real, 0.25));
    Stage s;
    s.dims = {g, i, c};
    s.stores.push_back(Put(out, {At(g), At(i), At(c)}, b.Select(edge, b.Neg(weighed), weighed)));
    b.AddStage(s);
    b.kernel().split = {3, Size::Of(1)};
    return b.Finish();
  };
  for (const DType real : {f32, DType::kF64}) {
    for (const DType type : {f32, DType::kU8, DType::kBF16}) {
      for (const int64_t row : {3, 8, 21}) {
        for (const int64_t rows : {5, 32, 77}) Expect(kernel(real, type, rows, row), {.indices_per_call = 50});
      }
    }
  }
  const auto rounds_vectors = [](const kir::Kernel& k) {
    const auto text = EmitAssembly(k, {.isa = GetParam()});
    EXPECT_TRUE(text.ok()) << text.status().ToString();
    return text.ok() && (text->find("roundps") != std::string::npos || text->find("rndscaleps") != std::string::npos);
  };
  EXPECT_TRUE(rounds_vectors(kernel(f32, f32, 32, 8)));
  EXPECT_FALSE(rounds_vectors(kernel(f32, f32, 32, 100)));
}

/// Of a kernel's code at the level of the test: how often one of two things is done.
size_t Branches(const kir::Kernel& k) {
  const auto text = EmitLlvmText(k, {.isa = Stages::GetParam()});
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  size_t count = 0;
  for (size_t at = 0; text.ok() && (at = text->find("else", at)) != std::string::npos; ++at) ++count;
  return count;
}

// Conditions that rows share: of what they let count each row computes one, or two of four.
TEST_P(Stages, RowsComputeWhatTheirConditionsLetCount) {
  const auto kernel = [](DType type, int64_t row, bool two, bool shared = true) {
    KernelBuilder b;
    const DimId i = b.AddDim(Size::Of(9)), j = b.AddDim(Size::Of(row));
    const Buf flags = b.AddDense(BufKind::kArg, DType::kPred, {2, 9, row}),
              x = b.AddDense(BufKind::kArg, type, {9, row}), out = b.AddDense(BufKind::kOut, type, {9, row});
    const Val here = b.Read(x, {At(i), At(j)}), turned = b.Read(x, {At(i), At(j, Size::Of(-1), Size::Of(row - 1))});
    const auto flag = [&](int64_t which) {
      return b.Read(flags, {AtOffset(Size::Of(which)), At(i), shared ? AtOffset(Size::Of(1)) : At(j)});
    };
    const Val root = b.Sqrt(b.Abs(here)), part = b.Div(turned, b.Add(root, b.Const(type, 1)));
    Val chosen = b.Select(flag(0), root, part);
    if (two) {
      const Val other = b.Select(b.Not(flag(1)), b.Div(b.Const(type, 3), here), turned);
      chosen = b.Add(b.Select(flag(1), chosen, other), b.Select(b.Not(flag(0)), here, b.Neg(turned)));
    }
    Stage s;
    s.dims = {i, j};
    s.stores.push_back(Put(out, {At(i), At(j)}, chosen));
    b.AddStage(s);
    b.kernel().split = {1, Size::Of(1)};
    return b.Finish();
  };
  for (const DType type : {f32, DType::kF64}) {
    for (const int64_t row : {64, 301}) {
      for (const bool two : {false, true}) Expect(kernel(type, row, two));
    }
    EXPECT_GT(Branches(kernel(type, 64, true)), Branches(kernel(type, 64, false)));
    EXPECT_GT(Branches(kernel(type, 64, false)), Branches(kernel(type, 64, false, false)));
  }
}

// What all points of a picture share is asked once for it, whatever its rows are: vectors, tiles, or shorter than both.
TEST_P(Stages, PicturesComputeWhatTheirConditionsLetCount) {
  const auto kernel = [](DType type, int64_t side, int64_t points, DimMask split, bool shared = true) {
    KernelBuilder b;
    const DimId n = b.AddDim(Size::Of(3)), i = b.AddDim(Size::Of(side)), j = b.AddDim(Size::Of(side)),
                c = b.AddDim(Size::Of(points));
    const Buf kinds = b.AddDense(BufKind::kArg, type, {3}),
              x = b.AddDense(BufKind::kArg, type, {3, side, side, points}),
              out = b.AddDense(BufKind::kOut, type, {3, side, side, points});
    const auto last = Size::Of(side - 1), down = Size::Of(-1);
    const Val straight = b.Read(x, {At(n), At(i), At(j), At(c)}), turned = b.Read(x, {At(n), At(j), At(i), At(c)}),
              mirrored = b.Read(x, {At(n), At(i, down, last), At(j), At(c)}),
              reversed = b.Read(x, {At(n), At(i), At(j, down, last), At(c)});
    const Val kind = shared ? b.Read(kinds, {At(n)}) : straight;
    const auto below = [&](double limit) { return b.Compare(kir::kLt, kind, b.Const(type, limit)); };
    Stage s;
    s.dims = {n, i, j, c};
    s.stores.push_back(
        Put(out, {At(n), At(i), At(j), At(c)},
            b.Select(below(0), b.Select(below(-1), straight, turned), b.Select(below(1), mirrored, reversed))));
    b.AddStage(s);
    b.kernel().split = {split, Size::Of(split == 0 ? 1 : 7)};
    return b.Finish();
  };
  for (const int64_t points : {1, 3, 20}) {
    for (const DimMask split : {0U, 7U}) {
      Expect(kernel(f32, 5, points, split));
      Expect(kernel(f32, 19, points, split));
      // Pieces that begin anywhere ask in each row, which single points make short.
      if (split != 0 && points == 1) continue;
      EXPECT_GT(Branches(kernel(f32, 19, points, split)), Branches(kernel(f32, 19, points, split, false)))
          << points << " " << split;
    }
    Expect(kernel(DType::kF64, 19, points, 1));
  }
}

// Guards with places from data, which all lanes share: vectors lie inside, at an edge or nowhere near, where nothing
// is.
TEST_P(Stages, PlacesFromDataMayLieAnywhere) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
  for (DType type : {f32, DType::kF64, DType::kU8, DType::kC64}) {
    for (const int64_t shift : {int64_t{0}, int64_t{5}, int64_t{-90}, int64_t{-1'000'000}, kFar - 200, -kFar}) {
      for (const int64_t along : {1, -1}) {
        KernelBuilder b;
        const DimId i = b.AddDim(Size::Of(150));
        const Buf zero = b.AddDense(BufKind::kArg, s64, {1}), x = b.AddDense(BufKind::kArg, type, {100}),
                  out = b.AddDense(BufKind::kOut, type, {150}), some = b.AddDense(BufKind::kOut, type, {100});
        const Val nothing =
            b.Emit({.op = Op::kAnd, .type = s64, .in = {b.Read(zero, {AtOffset(Size::Of(0))}), b.ConstS64(0)}});
        const Val start = b.Add(nothing, b.ConstS64(shift));
        kir::Axis at = At(i, Size::Of(along), Size::Of(along < 0 ? 99 : 0));
        at.start = start;
        const kir::Guard inside{.e = at, .lo = Size::Of(0), .hi = Size::Of(100)};
        Stage s;
        s.dims = {i};
        for (int part = 0; part < (IsComplex(type) ? 2 : 1); ++part) {
          const DType real = IsComplex(type) ? f32 : type;
          const Val read = b.Read({.buf = x, .at = {at}, .guard = {inside}, .otherwise = b.Const(real, 3)}, part);
          s.stores.push_back(Put(out, {At(i)}, read));
          s.stores.back().component = part;
          s.stores.push_back(Put(some, {at}, read));
          s.stores.back().guard.push_back(inside);
          s.stores.back().component = part;
        }
        b.AddStage(s);
        Expect(b.Finish());
      }
    }
  }
}

TEST_P(Stages, GuardedScatterDropsWhatIsOutOfBounds) {
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(100));
  const Buf index = b.AddDense(BufKind::kArg, s32, {100}), x = b.AddDense(BufKind::kArg, f32, {100}),
            out = b.AddDense(BufKind::kOut, f32, {12});
  const Val at = b.Read(index, {At(i)});
  Stage s;
  s.dims = {i};
  s.stores.push_back(Put(out, {AtStart(at)}, b.Read(x, {At(i)})));
  s.stores.back().guard.push_back({.e = AtStart(at), .lo = Size::Of(0), .hi = Size::Of(12)});
  s.stores.back().order = StoreOrder::kRowMajor;
  b.AddStage(s);
  Expect(b.Finish());
}

// One update after another, some of them into one place: elements and rows, inside or not, that may overlap or not.
TEST_P(Stages, UpdatesOfFewPlaces) {
  for (DType type : {f32, DType::kF64, s32, s64, DType::kU8, DType::kS16}) {
    for (const int64_t updates : {1, 2, 37}) {
      for (const int64_t row : {0, 2, 19}) {  // 0: elements.
        for (const bool overlap : {false, true}) {
          for (const int64_t places : {1, 3, 50}) {
            if (overlap && row == 0) continue;
            KernelBuilder b;
            const DimId around = b.AddDim(Size::Of(2), DimKind::kSerial),
                        i = b.AddDim(Size::Of(updates), DimKind::kSerial);
            const DimId j = row == 0 ? i : b.AddDim(Size::Of(row));
            const Size extent = Size::Param(b.AddParam());
            const int64_t width = overlap ? places + row : std::max<int64_t>(row, 1);
            const Buf index = b.AddDense(BufKind::kArg, s32, {2, updates}),
                      x = b.AddDense(BufKind::kArg, type, {2, updates, std::max<int64_t>(row, 1)});
            const Buf out =
                overlap ? b.AddDense(BufKind::kOut, type, {1, width})
                        : b.AddBuffer(BufKind::kOut, type, {extent, Size::Of(width)}, {Size::Of(width), Size::Of(1)});
            const Val raw = b.Convert(s64, b.Read(index, {At(around), At(i)}));
            // Some of them outside.
            const Val at = b.Sub(b.Rem(raw, b.Const(s64, places + 1)), b.Const(s64, places == 3 ? 1 : 0));
            Stage s;
            s.dims = {around, i};
            if (row != 0) s.dims.push_back(j);
            const Axis along = row == 0 ? AtOffset(Size::Of(0)) : At(j);
            Axis first = AtStart(at), second = along;
            if (overlap) {
              second.start = at;
              first = AtOffset(Size::Of(0));
            }
            s.stores.push_back(Put(out, {first, second}, b.Read(x, {At(around), At(i), along})));
            s.stores.back().guard.push_back(
                {.e = AtStart(at), .lo = Size::Of(0), .hi = overlap ? Size::Of(places) : extent});
            s.stores.back().combine = static_cast<int32_t>(b.AddGraph(BinaryGraph(Op::kAdd, type)));
            s.stores.back().order = StoreOrder::kRowMajor;
            b.AddStage(s);
            Expect(b.Finish(), {.params = {places}});
          }
        }
      }
    }
  }
}

TEST_P(Stages, ComplexComponents) {
  // Costly bodies run under a mask throughout.
  for (const auto& [type, costly] :
       {std::pair(DType::kC64, false), {DType::kC64, true}, {DType::kC128, false}, {DType::kC128, true}}) {
    KernelBuilder b;
    const Size n = Size::Param(b.AddParam());
    const DimId i = b.AddDim(n);
    const Buf x = b.AddBuffer(BufKind::kArg, type, {n}, {Size::Of(1)}),
              y = b.AddBuffer(BufKind::kArg, type, {n}, {Size::Of(1)});
    const Buf out = b.AddBuffer(BufKind::kOut, type, {n}, {Size::Of(1)}),
              real = b.AddBuffer(BufKind::kOut, RealPartOf(type), {n}, {Size::Of(1)});
    const Val a = b.Read(x, {At(i)}, 0), c = b.Read(x, {At(i)}, 1), e = b.Read(y, {At(i)}, 1);
    const Val f = b.Read(y, {At(i)}, 0);
    Stage s;
    s.dims = {i};
    Val product = b.Sub(b.Mul(a, f), b.Mul(c, e));
    for (int k = 0; costly && k < 6; ++k) product = b.Div(b.Sqrt(b.Abs(product)), f);
    s.stores.push_back(Put(out, {At(i)}, product));
    s.stores.push_back(Put(out, {At(i)}, b.Add(b.Mul(a, e), b.Mul(c, f))));
    s.stores.back().component = 1;
    s.stores.push_back(Put(real, {At(i)}, b.Sqrt(b.Add(b.Mul(a, a), b.Mul(c, c)))));
    b.AddStage(s);
    b.kernel().split = {1, Size::Of(64)};
    const Kernel kernel = b.Finish();
    for (int64_t length : {1, 16, 33, 200}) Expect(kernel, {.params = {length}});
  }
}

// Complex numbers of which the guard leaves out rows or lanes, also where they run down in memory.
TEST_P(Stages, ComplexComponentsThatGuardsLeaveOut) {
  for (const DType type : {DType::kC64, DType::kC128}) {
    for (const double outside : {0.0, 2.5}) {
      for (const int64_t columns : {30, 64, 150}) {
        KernelBuilder b;
        const int64_t rows = 5;
        const DimId i = b.AddDim(Size::Of(rows + 3)), j = b.AddDim(Size::Of(columns + 9));
        const Buf x = b.AddDense(BufKind::kArg, type, {rows, columns});
        kir::Read up{.buf = x,
                     .at = {At(i, Size::Of(1), Size::Of(-2)), At(j, Size::Of(1), Size::Of(-7))},
                     .guard = {},
                     .otherwise = b.Const(RealPartOf(type), outside)};
        up.guard.push_back({.e = up.at[0], .lo = Size::Of(0), .hi = Size::Of(rows)});
        kir::Read down = up, row = up;
        up.guard.push_back({.e = up.at[1], .lo = Size::Of(0), .hi = Size::Of(columns)});
        down.at[1] = At(j, Size::Of(-1), Size::Of(columns + 3));
        down.guard.push_back({.e = down.at[1], .lo = Size::Of(0), .hi = Size::Of(columns)});
        row.at[1] = At(j);
        Stage s;
        s.dims = {i, j};
        for (const kir::Read& read : {up, down}) {
          const Buf out = b.AddDense(BufKind::kOut, type, {rows + 3, columns + 9});
          for (const int part : {0, 1}) {
            s.stores.push_back(Put(out, {At(i), At(j)}, b.Read(read, part)));
            s.stores.back().component = static_cast<uint8_t>(part);
          }
        }
        b.AddStage(s);
        // A guard that all lanes share.
        const DimId k = b.AddDim(Size::Of(columns));
        row.at[1] = At(k);
        const Buf whole = b.AddDense(BufKind::kOut, type, {rows + 3, columns});
        Stage t;
        t.dims = {i, k};
        for (const int part : {0, 1}) {
          t.stores.push_back(Put(whole, {At(i), At(k)}, b.Read(row, part)));
          t.stores.back().component = static_cast<uint8_t>(part);
        }
        b.AddStage(t);
        const Kernel kernel = b.Finish();
        Expect(kernel);
        if (GetParam() == isa::IsaLevel::kSse4) continue;  // LLVM's makes all of its code.
        const auto compiled = CompileKernel(kernel, {.isa = GetParam()});
        ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
        EXPECT_EQ((*compiled)->llvm_reason, "");
      }
    }
  }
}

TEST_P(Stages, WindowReductions) {
  // 3x3 windows with stride 2 over channels-last images: the channel runs in lanes.
  for (Op op : {Op::kMax, Op::kAdd}) {
    KernelBuilder b;
    const DimId y = b.AddDim(Size::Of(6)), x = b.AddDim(Size::Of(6)), c = b.AddDim(Size::Of(20));
    const DimId ky = b.AddDim(Size::Of(3), DimKind::kReduce), kx = b.AddDim(Size::Of(3), DimKind::kReduce);
    const Buf in = b.AddDense(BufKind::kArg, f32, {12, 12, 20}), out = b.AddDense(BufKind::kOut, f32, {6, 6, 20});
    const Val init = op == Op::kMax ? b.Const(f32, -__builtin_inf()) : b.ConstF32(0);
    kir::Read read{
        .buf = in,
        .at = {Sum({{y, Size::Of(2)}, {ky, Size::Of(1)}}, -1), Sum({{x, Size::Of(2)}, {kx, Size::Of(1)}}, -1), At(c)},
        .guard = {},
        .otherwise = init};
    read.guard.push_back({.e = read.at[0], .lo = Size::Of(0), .hi = Size::Of(12)});
    read.guard.push_back({.e = read.at[1], .lo = Size::Of(0), .hi = Size::Of(12)});
    Stage s;
    s.dims = {y, x, c, ky, kx};
    const Val result = b.AddReduce(s, 1u << ky | 1u << kx, op, b.Read(read), init);
    s.stores.push_back(Put(out, {At(y), At(x), At(c)}, result));
    b.AddStage(s);
    b.kernel().split = {1u << y | 1u << x, Size::Of(4)};
    const Kernel kernel = b.Finish();
    Expect(kernel);
    Expect(kernel, {.indices_per_call = 5});
  }
}

// Sums of columns have several combiners, to overlap; a long one is written as few times as can be.
TEST_P(Stages, LongCombinersAreWrittenOnce) {
  const auto bytes_per_op = [&](int ops) {
    KernelBuilder b;
    const DimId row = b.AddDim(Size::Of(100), DimKind::kReduce), column = b.AddDim(Size::Of(37));
    const Buf in = b.AddDense(BufKind::kArg, f32, {100, 37}), out = b.AddDense(BufKind::kOut, f32, {37});
    Stage s;
    s.dims = {column, row};
    const Val sum = b.AddReduce(s, 1u << row, Op::kAdd, b.Read(in, {At(row), At(column)}), b.ConstF32(0));
    GraphBuilder combiner({f32, f32});
    Val last = combiner.Binary(Op::kAdd, combiner.Argument(0), combiner.Argument(1));
    for (int i = 0; i < ops; ++i)
      last = combiner.Binary(i % 2 == 0 ? Op::kMax : Op::kSub, combiner.Argument(i % 2), last);
    s.reduces[0].combiner = b.AddGraph(combiner.Finish({last}));
    s.stores.push_back(Put(out, {At(column)}, sum));
    b.AddStage(s);
    const Kernel kernel = b.Finish();
    Expect(kernel);
    const auto compiled = CompileKernel(kernel, {.isa = GetParam()});
    EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
    return compiled.ok() ? static_cast<double>((*compiled)->code_bytes) / ops : 0;
  };
  EXPECT_LT(bytes_per_op(1000), bytes_per_op(200) / 2);
}

TEST_P(Stages, ScansSeeEarlierStores) {
  // out[i, t] = out[i, t-1] * 0.5 + x[i, t]: t is serial.
  for (bool time_last : {true, false}) {
    KernelBuilder b;
    const DimId i = b.AddDim(Size::Of(21)), t = b.AddDim(Size::Of(30), DimKind::kSerial);
    const Buf x = time_last ? b.AddDense(BufKind::kArg, f32, {21, 30}) : b.AddDense(BufKind::kArg, f32, {30, 21});
    const Buf out = time_last ? b.AddDense(BufKind::kOut, f32, {21, 30}) : b.AddDense(BufKind::kOut, f32, {30, 21});
    auto at = [&](int64_t back) -> SmallVector<Axis, 4> {
      const Axis time = At(t, Size::Of(1), Size::Of(-back));
      if (time_last) return {At(i), time};
      return {time, At(i)};
    };
    kir::Read before{.buf = out, .at = at(1), .guard = {}, .otherwise = b.ConstF32(0)};
    before.guard.push_back({.e = At(t, Size::Of(1), Size::Of(-1)), .lo = Size::Of(0), .hi = Size::Of(30)});
    Stage s;
    s.dims = {i, t};
    s.stores.push_back(Put(out, at(0), b.Add(b.Mul(b.Read(before), b.ConstF32(0.5f)), b.Read(x, at(0)))));
    b.AddStage(s);
    b.kernel().split = {1u << i, Size::Of(7)};
    Expect(b.Finish());
  }
}

TEST_P(Stages, InPlaceUpdates) {
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(60));
  const Buf x = b.AddDense(BufKind::kArg, f32, {60}), y = b.AddDense(BufKind::kArg, f32, {60}),
            out = b.AddDense(BufKind::kOut, f32, {60});
  b.kernel().buffers[out].in_place_of = x;
  Stage s;
  s.dims = {i};
  s.stores.push_back(Put(out, {At(i)}, b.Add(b.Mul(b.Read(x, {At(i)}), b.ConstF32(3)), b.Read(y, {At(i)}))));
  b.AddStage(s);
  b.kernel().split = {1, Size::Of(16)};
  Expect(b.Finish(), {.indices_per_call = 11});
}

// A row of the kernel's own that no vectors fill is read through a mask, written, and read again.
TEST_P(Stages, LocalRowsAreReadAgainOnceTheyWereWritten) {
  for (DType type : {f32, DType::kBF16, DType::kF16, DType::kU8, DType::kPred}) {
    for (const int64_t n : {30, 13}) {
      KernelBuilder b;
      const DimId d = b.AddDim(Size::Of(n)), r = b.AddDim(Size::Of(n), DimKind::kReduce);
      const Buf x = b.AddDense(BufKind::kArg, type, {n}), y = b.AddDense(BufKind::kArg, type, {n}),
                row = b.AddDense(BufKind::kLocal, type, {n}), out = b.AddDense(BufKind::kOut, type, {n});
      const auto stage = [&](Buf to, Val value) {
        Stage s;
        s.dims = {d};
        s.stores.push_back(Put(to, {At(d)}, value));
        b.AddStage(s);
      };
      stage(row, b.Read(x, {At(d)}));
      Stage sum;
      sum.dims = {r};
      const Val most = b.AddReduce(sum, DimMask{1} << r, Op::kMax, b.Read(row, {At(r)}), b.Const(type, 0));
      b.AddStage(sum);
      stage(row, b.Read(y, {At(d)}));
      stage(out, b.Max(b.Read(row, {At(d)}), b.Min(most, b.Const(type, 1))));
      Expect(b.Finish());
    }
  }
}

TEST_P(Stages, SoftmaxRowsThroughALocalBuffer) {
  if (GetParam() == isa::IsaLevel::kSse4) GTEST_SKIP() << "kSse4 rounds the products of kFma";
  const Kernel kernel = testing::SoftmaxKernel();
  for (int64_t n : {1, 10, 64, 65, 300}) Expect(kernel, {.params = {5, n}, .seed = static_cast<uint64_t>(n)});
  Expect(kernel, {.params = {13, 40}, .indices_per_call = 3});
}

// Rows of three stages, of which each waits for the one before: several rows take turns, the last few of a piece too,
// and rows that caches do not hold are each for themselves.
TEST_P(Stages, StagesOfRowsTakeTurns) {
  if (GetParam() == isa::IsaLevel::kSse4) GTEST_SKIP() << "kSse4 rounds the products of kFma";
  for (const DType type : {f32, DType::kF64, DType::kBF16}) {
    for (const bool late : {false, true}) {
      for (const int64_t baked : {0, 1, 24, 67}) {
        KernelBuilder b;
        const Size rows = Size::Param(b.AddParam());
        const Size n = baked == 0 ? Size::Param(b.AddParam()) : Size::Of(baked);
        const DimId r = b.AddDim(rows), c = b.AddDim(n, DimKind::kReduce), d = b.AddDim(n);
        b.kernel().outer = 1;
        const Buf x = b.AddBuffer(BufKind::kArg, type, {rows, n}, {n, Size::Of(1)}),
                  out = late ? b.AddBuffer(BufKind::kOut, type, {rows}, {Size::Of(1)})
                             : b.AddBuffer(BufKind::kOut, type, {rows, n}, {n, Size::Of(1)});
        const DType wide = type == DType::kBF16 ? f32 : type;
        const Val v = b.Convert(wide, b.Read(x, {At(r), At(c)})), w = b.Convert(wide, b.Read(x, {At(r), At(d)}));
        const Val lowest = b.Const(wide, -__builtin_inf()), highest = b.Const(wide, __builtin_inf());
        Stage s1;
        s1.dims = {c};
        const Val most = b.AddReduce(s1, 1u << c, Op::kMax, v, lowest, ReduceOrder::kLanes, lowest);
        const Val least = b.AddReduce(s1, 1u << c, Op::kMin, v, highest, ReduceOrder::kLanes, highest);
        b.AddStage(s1);
        Stage s2;
        s2.dims = {c};
        const Val sum = b.AddReduce(s2, 1u << c, Op::kAdd, b.Mul(b.Sub(v, most), b.Add(v, least)), b.Const(wide, 0.0),
                                    ReduceOrder::kLanes, b.Const(wide, -0.0));
        b.AddStage(s2);
        Stage s3;
        if (late) {
          const Val root = b.MathOrDie("log", {b.Abs(sum)});
          s3.stores.push_back(Put(out, {At(r)}, b.Convert(type, b.Div(b.Add(root, least), b.Sub(most, sum)))));
        } else {
          s3.dims = {d};
          s3.stores.push_back(Put(out, {At(r), At(d)}, b.Convert(type, b.Div(b.Sub(w, most), sum))));
        }
        b.AddStage(s3);
        b.kernel().split = {1, Size::Of(4)};
        const Kernel kernel = b.Finish();
        for (const int64_t count : {1, 3, 16, 45}) {
          if (baked != 0) {
            Expect(kernel, {.params = {count}, .indices_per_call = count == 45 ? 7 : 0});
            continue;
          }
          for (const int64_t length : {0, 1, 5, 63, 64, 130, 1500, 6000}) {
            if (count * length > 100'000) continue;
            Expect(kernel, {.params = {count, length}, .indices_per_call = count == 45 ? 7 : 0});
          }
        }
      }
    }
  }
}

// Short rows, whose lanes meet for many rows at once: of every length around a vector's, any number of rows, initial
// values of the kernel and of each row, and results that go to memory as they are or into more arithmetic.
TEST_P(Stages, ShortRowsMeetTogether) {
  for (const DType type : {f32, DType::kS32, DType::kU32, DType::kF64, DType::kS8}) {
    for (const Op op : {Op::kAdd, Op::kMax, Op::kMin, Op::kMul}) {
      for (const int64_t length : {1, 15, 16, 17, 31, 33, 64, 65, 200}) {
        const bool own_init = length % 2 == 0 && op == Op::kAdd;
        KernelBuilder b;
        const Size rows = Size::Param(b.AddParam()), n = Size::Of(length);
        const DimId r = b.AddDim(rows), c = b.AddDim(n, DimKind::kReduce);
        b.kernel().outer = 1;
        const Buf x = b.AddBuffer(BufKind::kArg, type, {rows, n}, {n, Size::Of(1)}),
                  y = b.AddBuffer(BufKind::kArg, type, {rows}, {Size::Of(1)}),
                  out = b.AddBuffer(BufKind::kOut, type, {rows}, {Size::Of(1)}),
                  more = b.AddBuffer(BufKind::kOut, type, {rows}, {Size::Of(1)});
        const double most = IsFloat(type) ? __builtin_inf() : 0;
        const uint64_t ones = DTypeBits(type) == 64 ? ~uint64_t{0} : (uint64_t{1} << DTypeBits(type)) - 1;
        const bool is_signed = type == DType::kS32 || type == DType::kS8;
        const uint64_t extremes[] = {is_signed ? ones / 2 + 1 : 0, is_signed ? ones / 2 : ones};
        const Val neutral = op == Op::kAdd   ? b.Const(type, IsFloat(type) ? -0.0 : 0.0)
                            : op == Op::kMul ? b.Const(type, 1)
                            : IsFloat(type)  ? b.Const(type, op == Op::kMax ? -most : most)
                                             : b.ConstBits(type, extremes[op == Op::kMax ? 0 : 1]);
        Stage reduce;
        reduce.dims = {c};
        const Val met = b.AddReduce(reduce, 1u << c, op, b.Read(x, {At(r), At(c)}),
                                    own_init ? b.Read(y, {At(r)}) : neutral, ReduceOrder::kLanes, neutral);
        b.AddStage(reduce);
        Stage point;
        point.stores.push_back(Put(out, {At(r)}, met));
        point.stores.push_back(Put(more, {At(r)}, b.Mul(met, b.Add(met, b.Read(y, {At(r)})))));
        if (length == 17 || length == 64 || length == 200) b.kernel().buffers[more].in_place_of = y;
        b.AddStage(point);
        b.kernel().split = {1, Size::Of(4)};
        const Kernel kernel = b.Finish();
        for (const int64_t count : {1, 15, 16, 17, 45})
          Expect(kernel, {.params = {count}, .indices_per_call = count == 45 ? 7 : 0});
      }
    }
  }
}

// Sums along another dim than the lanes, in the order of lanes: of so few elements that they are written out, and of
// more.
TEST_P(Stages, ShortColumnsAreTrees) {
  for (const DType type : {f32, DType::kF64, s32, DType::kU8}) {
    for (const int64_t length : {1, 2, 9, 16, 17, 33, 45, 64, 65}) {
      for (const int64_t columns : {1, 7, 51}) {
        KernelBuilder b;
        const DimId c = b.AddDim(Size::Of(columns)), r = b.AddDim(Size::Of(length), DimKind::kReduce);
        b.kernel().outer = 1;
        const Buf x = b.AddDense(BufKind::kArg, type, {length, columns}), y = b.AddDense(BufKind::kArg, type, {length}),
                  out = b.AddDense(BufKind::kOut, type, {columns}), most = b.AddDense(BufKind::kOut, type, {columns});
        const Val v = b.Read(x, {At(r), At(c)});
        const Val zero = b.Const(type, IsFloat(type) ? -0.0 : 0.0);
        const Val least = IsFloat(type) ? b.Const(type, -__builtin_inf())
                                        : b.ConstBits(type, type == s32 ? uint64_t{0x80000000} : uint64_t{0});
        Stage s;
        s.dims = {r};
        const Val sum = b.AddReduce(s, 1u << r, Op::kAdd, b.Mul(v, b.Read(y, {At(r)})), b.Const(type, 1),
                                    ReduceOrder::kLanes, zero);
        const Val max = b.AddReduce(s, 1u << r, Op::kMax, v, least, ReduceOrder::kLanes, least);
        b.AddStage(s);
        Stage point;
        point.stores.push_back(Put(out, {At(c)}, sum));
        point.stores.push_back(Put(most, {At(c)}, max));
        b.AddStage(point);
        Expect(b.Finish());
      }
    }
  }
}

// The most and the least of a row: zeros of both signs, NaNs of both signs and subnormals are what they are anywhere.
// Rows that begin far from one another are taken one after another, with the sums of their columns in memory; near ones
// are summed column by column in registers.
TEST_P(Stages, ColumnsOfFarRows) {
  for (const int64_t rows : {15, 16, 37, 64}) {
    for (const int64_t width : {300, 600, 1024}) {
      KernelBuilder b;
      const DimId g = b.AddDim(Size::Of(3)), j = b.AddDim(Size::Of(width)),
                  i = b.AddDim(Size::Of(rows), DimKind::kReduce);
      const Buf x = b.AddDense(BufKind::kArg, f32, {3, rows, width}), out = b.AddDense(BufKind::kOut, f32, {3, width});
      Stage s;
      s.dims = {g, j, i};
      const Val sum = b.AddReduce(s, 1u << i, Op::kAdd, b.Read(x, {At(g), At(i), At(j)}), b.Const(f32, 0.0),
                                  ReduceOrder::kSequential);
      s.stores.push_back(Put(out, {At(g), At(j)}, sum));
      b.AddStage(s);
      const Kernel kernel = b.Finish();
      Expect(kernel);
      const Result<std::string> text = EmitLlvmText(kernel, {.isa = GetParam()});
      ASSERT_TRUE(text.ok()) << text.status().ToString();
      EXPECT_EQ(text->find("alloca") != std::string::npos, rows >= 16 && width * 4 >= 2048) << rows << " " << width;
    }
  }
}

TEST_P(Stages, ExtremesOfSpecialNumbers) {
  for (const DType type : {f32, DType::kF64}) {
    const int bits = DTypeBits(type);
    const uint64_t sign = uint64_t{1} << (bits - 1), nan = kir::LiteralBits(type, __builtin_nan(""));
    for (const int64_t n : {1, 16, 40, 100}) {
      for (uint64_t seed = 0; seed < 24; ++seed) {
        KernelBuilder b;
        const int64_t rows = seed % 2 == 0 ? 9 : 20;
        const DimId r = b.AddDim(Size::Of(rows)), c = b.AddDim(Size::Of(n), DimKind::kReduce);
        b.kernel().outer = 1;
        const Buf x = b.AddDense(BufKind::kArg, type, {rows, n}), most = b.AddDense(BufKind::kOut, type, {rows}),
                  least = b.AddDense(BufKind::kOut, type, {rows});
        const Val v = b.Read(x, {At(r), At(c)});
        const Val lowest = b.Const(type, -__builtin_inf()), highest = b.Const(type, __builtin_inf());
        Stage s;
        s.dims = {c};
        const Val max = b.AddReduce(s, 1u << c, Op::kMax, v, lowest, ReduceOrder::kLanes, lowest);
        const Val min = b.AddReduce(s, 1u << c, Op::kMin, v, highest, ReduceOrder::kLanes, highest);
        // A stage of their own is one of many rows.
        Stage apart;
        Stage& stored = seed % 4 < 2 ? apart : s;
        stored.stores.push_back(Put(most, {At(r)}, max));
        stored.stores.push_back(Put(least, {At(r)}, min));
        b.AddStage(s);
        if (seed % 4 < 2) b.AddStage(apart);
        b.kernel().split = {1, Size::Of(4)};
        Expect(b.Finish(), {.fill = [&](Buf, int64_t index, uint64_t* value) {
                 const uint64_t choices[] = {0, sign, 1, sign | 1, kir::LiteralBits(type, -1.0)};
                 *value = choices[(static_cast<uint64_t>(index) * 7 + seed) % (2 + seed % 4)];
                 // One NaN in some rows.
                 if (seed % 3 != 0 && index == static_cast<int64_t>(seed * 5) % n + n * 4)
                   *value = nan | (seed % 3 == 1 ? sign : 0);
                 return true;
               }});
      }
    }
  }
}

TEST_P(Stages, TwoReductionsAndOverAllOuterDims) {
  // Mean and mean of squares of one row in one stage, used by a later stage; row statistics stored too.
  KernelBuilder b;
  const Size n = Size::Param(b.AddParam());
  const DimId r = b.AddDim(Size::Of(6)), c = b.AddDim(n, DimKind::kReduce), d = b.AddDim(n);
  b.kernel().outer = 1;
  const Buf x = b.AddBuffer(BufKind::kArg, f32, {Size::Of(6), n}, {n, Size::Of(1)}),
            out = b.AddBuffer(BufKind::kOut, f32, {Size::Of(6), n}, {n, Size::Of(1)});
  const Buf stats = b.AddDense(BufKind::kOut, f32, {6});
  const Val v = b.Read(x, {At(r), At(c)});
  Stage s1;
  s1.dims = {c};
  const Val minus_zero = b.Const(f32, -0.0);
  const Val sum = b.AddReduce(s1, 1u << c, Op::kAdd, v, b.ConstF32(0), ReduceOrder::kLanes, minus_zero);
  const Val squares = b.AddReduce(s1, 1u << c, Op::kAdd, b.Mul(v, v), b.ConstF32(0), ReduceOrder::kLanes, minus_zero);
  const Val largest =
      b.AddReduce(s1, 1u << c, Op::kMax, b.Convert(DType::kF64, v), b.Const(DType::kF64, -__builtin_inf()));
  s1.stores.push_back(Put(stats, {At(r)}, b.Add(b.Sub(squares, b.Mul(sum, sum)), b.Convert(f32, largest))));
  b.AddStage(s1);
  Stage s2;
  s2.dims = {d};
  s2.stores.push_back(Put(out, {At(r), At(d)}, b.Sub(b.Mul(b.Read(x, {At(r), At(d)}), squares), sum)));
  b.AddStage(s2);
  b.kernel().split = {1, Size::Of(1)};
  const Kernel kernel = b.Finish();
  for (int64_t length : {0, 1, 20, 64, 200}) Expect(kernel, {.params = {length}});
}

// A sum with nothing in it is its initial value bit for bit, subnormal or not.
TEST_P(Stages, ReductionOverNothing) {
  for (bool rows : {true, false}) {
    for (bool baked : {true, false}) {
      for (ReduceOrder order : {ReduceOrder::kLanes, ReduceOrder::kSequential}) {
        KernelBuilder b;
        const Size n = baked ? Size::Of(0) : Size::Param(b.AddParam());
        const DimId i = b.AddDim(Size::Of(37)), j = b.AddDim(n, DimKind::kReduce);
        const Buf x = b.AddBuffer(
            BufKind::kArg, f32, {Size::Of(37), Size::Of(100)},
            rows ? SmallVector<Size, 4>{Size::Of(100), Size::Of(1)} : SmallVector<Size, 4>{Size::Of(1), Size::Of(37)});
        const Buf start = b.AddDense(BufKind::kArg, f32, {37}), out = b.AddDense(BufKind::kOut, f32, {37});
        Stage s;
        s.dims = {i, j};
        const Val sum = b.AddReduce(s, 1u << j, Op::kAdd, b.Read(x, {At(i), At(j)}), b.Read(start, {At(i)}), order,
                                    order == ReduceOrder::kLanes ? b.Const(f32, -0.0) : kNone);
        s.stores.push_back(Put(out, {At(i)}, sum));
        b.AddStage(s);
        const Kernel kernel = b.Finish();
        testing::RunOptions options;
        options.fill = [&](Buf buffer, int64_t at, uint64_t* bits) {
          if (buffer == start) *bits = static_cast<uint64_t>(at % 3) + 0x80000000u * static_cast<uint64_t>(at % 2);
          return buffer == start;
        };
        for (int64_t length : {0, 1, 100}) {
          if (baked && length != 0) continue;
          if (!baked) options.params = {length};
          Expect(kernel, options);
        }
      }
    }
  }
}

TEST_P(Stages, ReductionOverTwoDimsAndAllDims) {
  for (ReduceOrder order : {ReduceOrder::kLanes, ReduceOrder::kSequential}) {
    for (DType type : {f32, DType::kF16, DType::kPred}) {
      KernelBuilder b;
      const DimId i = b.AddDim(Size::Of(5), DimKind::kReduce), j = b.AddDim(Size::Of(71), DimKind::kReduce);
      const Buf x = b.AddDense(BufKind::kArg, type, {5, 71}), out = b.AddDense(BufKind::kOut, type, {1});
      const Val zero = type == DType::kPred ? b.ConstPred(false) : b.Const(type, 0.0);
      const Val identity = type == DType::kPred ? zero : b.Const(type, -0.0);
      Stage s;
      s.dims = {i, j};
      const Val sum = b.AddReduce(s, 1u << i | 1u << j, Op::kAdd, b.Read(x, {At(i), At(j)}), zero, order,
                                  order == ReduceOrder::kLanes ? identity : kNone);
      s.stores.push_back(Put(out, {AtOffset(Size::Of(0))}, sum));
      b.AddStage(s);
      Expect(b.Finish());
    }
  }
}

TEST_P(Stages, LoopsAroundStages) {
  // Power iteration: y <- A y / max|A y| over buffers, with a loop-carried norm and an inner reduction.
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(12)), j = b.AddDim(Size::Of(12), DimKind::kReduce),
              k = b.AddDim(Size::Of(12), DimKind::kReduce), l = b.AddDim(Size::Of(12));
  const Buf a = b.AddDense(BufKind::kArg, f32, {12, 12}), start = b.AddDense(BufKind::kArg, f32, {12});
  const Buf y = b.AddDense(BufKind::kOut, f32, {12}), next = b.AddDense(BufKind::kOut, f32, {12}),
            norm = b.AddDense(BufKind::kOut, f32, {1});
  Stage copy;
  copy.dims = {l};
  copy.stores.push_back(Put(y, {At(l)}, b.Read(start, {At(l)})));
  b.AddStage(copy);
  Loop loop;
  loop.id = b.NewId();
  loop.types = {f32, s32};
  loop.init = {b.ConstF32(1), b.ConstS32(0)};
  const Val scale = b.Carried(loop.id, 0, f32), count = b.Carried(loop.id, 1, s32);
  Stage multiply;
  multiply.dims = {i, j};
  const Val product = b.Mul(b.Read(a, {At(i), At(j)}), b.Read(y, {At(j)}));
  const Val sum = b.AddReduce(multiply, 1u << j, Op::kAdd, product, b.ConstF32(0));
  multiply.stores.push_back(Put(next, {At(i)}, b.Mul(sum, scale)));
  Stage largest;
  largest.dims = {k};
  const Val max = b.AddReduce(largest, 1u << k, Op::kMax, b.Abs(b.Read(next, {At(k)})), b.ConstF32(0));
  Stage divide;
  divide.dims = {l};
  divide.stores.push_back(Put(y, {At(l)}, b.Div(b.Read(next, {At(l)}), max)));
  loop.body = {Step{multiply}, Step{largest}, Step{divide}};
  loop.next = {b.Div(b.ConstF32(1), b.Add(max, b.ConstF32(1))), b.Add(count, b.ConstS32(1))};
  loop.condition = b.Compare(kLt, count, b.ConstS32(9));
  b.AddLoop(loop);
  Stage s;
  s.stores.push_back(Put(norm, {AtOffset(Size::Of(0))}, scale));
  b.AddStage(s);
  testing::RunOptions options;
  options.fill = [](Buf, int64_t index, uint64_t* bits) {
    *bits = LiteralBits(f32, 0.1 * static_cast<double>(index % 11) - 0.3);
    return true;
  };
  Expect(b.Finish(), options);
}

// Places that are limited to those that the trips of a loop count: limits that hold by themselves, and others.
TEST_P(Stages, CountersOfLoopsNeedNoLimits) {
  struct Limits {
    int64_t lo, hi;
    bool bind;
  };
  for (const bool known : {true, false}) {
    for (const Limits& limits : {Limits{0, 9, false}, Limits{-4, 30, false}, Limits{0, 8, true}, Limits{2, 9, true}}) {
      KernelBuilder b;
      const Size trips = known ? Size::Of(10) : Size::Param(b.AddParam());
      const Buf x = b.AddDense(BufKind::kArg, f32, {40}), y = b.AddDense(BufKind::kOut, f32, {40}),
                behind = b.AddDense(BufKind::kOut, s64, {1});
      Loop loop;
      loop.id = b.NewId();
      loop.types = {f32, s64};
      loop.init = {b.ConstF32(0), b.ConstS64(0)};
      loop.trip_count = trips;
      const Val sum = b.Carried(loop.id, 0, f32), count = b.Carried(loop.id, 1, s64);
      const Val at = b.Min(b.Max(count, b.ConstS64(limits.lo)), b.ConstS64(limits.hi));
      const Val inside = limits.lo < 0 ? b.Max(at, b.ConstS64(0)) : at;
      loop.next = {b.Add(sum, b.Read(x, {AtStart(inside)})), b.Add(b.ConstS64(1), count)};
      Stage s;
      s.stores.push_back(Put(y, {AtStart(inside)}, b.Add(sum, b.Read(x, {AtStart(inside)}))));
      loop.body.push_back(Step{s});
      b.AddLoop(loop);
      Stage last;
      last.stores.push_back(Put(behind, {AtOffset(Size::Of(0))}, b.Add(count, b.Min(count, b.ConstS64(9)))));
      b.AddStage(last);
      const kir::Kernel kernel = b.Finish();
      for (const int64_t n : {10, 1, 0}) {
        if (known && n != 10) continue;
        Expect(kernel, known ? testing::RunOptions{} : testing::RunOptions{.params = {n}});
      }
      const Result<std::string> text = EmitLlvmText(kernel, {.isa = GetParam()});
      ASSERT_TRUE(text.ok()) << text.status().ToString();
      const std::string body = text->substr(text->find("loop:"), text->find("exit:") - text->find("loop:"));
      const bool limited = body.find("call i64 @llvm.sm") != std::string::npos;
      EXPECT_EQ(limited, limits.bind || !known) << *text;
    }
  }
}

// A machine of a few cells: each trip reads what it has just stored, where it stored it and at other places.
TEST_P(Stages, ScalarsAreReadWhereTheyWereStored) {
  for (const DType type : {s32, s64, f32, DType::kU8, DType::kBF16}) {
    for (const int64_t apart : {0, 1, 4}) {
      KernelBuilder b;
      const DimId l = b.AddDim(Size::Of(8));
      const Buf start = b.AddDense(BufKind::kArg, type, {8}), cells = b.AddDense(BufKind::kOut, type, {8}),
                place = b.AddDense(BufKind::kOut, s32, {1}), seen = b.AddDense(BufKind::kOut, type, {16});
      Stage copy;
      copy.dims = {l};
      copy.stores.push_back(Put(cells, {At(l)}, b.Read(start, {At(l)})));
      b.AddStage(copy);
      Loop loop;
      loop.id = b.NewId();
      loop.types = {s32, s32};
      loop.init = {b.ConstS32(3), b.ConstS32(0)};
      const Val at = b.Carried(loop.id, 0, s32), count = b.Carried(loop.id, 1, s32);
      const Val here = b.Convert(s64, b.And(at, b.ConstS32(7))), to = b.Convert(s64, b.And(count, b.ConstS32(15)));
      const Val there = b.Convert(s64, b.And(b.Add(at, b.ConstS32(static_cast<int32_t>(apart))), b.ConstS32(7)));
      const auto add = static_cast<int32_t>(b.AddGraph(BinaryGraph(Op::kAdd, type)));
      const auto update = [&](Val where, double by) {
        Stage s;
        s.stores.push_back(Put(cells, {AtStart(where)}, b.Const(type, by)));
        s.stores.back().combine = add;
        loop.body.push_back(Step{s});
      };
      update(here, 1);
      update(there, 2);  // Maybe of the same cell.
      update(here, 1);
      Stage look;
      look.stores.push_back(
          Put(seen, {AtStart(to)}, b.Add(b.Read(cells, {AtStart(here)}), b.Read(cells, {AtStart(there)}))));
      look.stores.push_back(Put(place, {AtOffset(Size::Of(0))}, b.Add(at, b.ConstS32(3))));
      loop.body.push_back(Step{look});
      loop.next = {b.Read(place, {AtOffset(Size::Of(0))}), b.Add(count, b.ConstS32(1))};
      loop.trip_count = Size::Of(16);
      b.AddLoop(loop);
      Expect(b.Finish());
    }
  }
}

TEST_P(Stages, LoopWhoseConditionDiffersBetweenPoints) {
  // Collatz steps: each point of the outer dim has a trip count of its own.
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(40));
  b.kernel().outer = 1;
  const Buf out = b.AddDense(BufKind::kOut, s32, {40});
  Loop loop;
  loop.id = b.NewId();
  loop.types = {s32, s32};
  loop.init = {b.Convert(s32, b.Add(b.Index(i), b.ConstS64(1))), b.ConstS32(0)};
  const Val n = b.Carried(loop.id, 0, s32), steps = b.Carried(loop.id, 1, s32);
  const Val odd = b.Compare(kNe, b.And(n, b.ConstS32(1)), b.ConstS32(0));
  loop.next = {b.Select(odd, b.Add(b.Mul(n, b.ConstS32(3)), b.ConstS32(1)), b.ShrLogical(n, b.ConstS32(1))),
               b.Add(steps, b.ConstS32(1))};
  loop.condition = b.Compare(kGt, n, b.ConstS32(1));
  b.AddLoop(loop);
  Stage s;
  s.stores.push_back(Put(out, {At(i)}, steps));
  b.AddStage(s);
  b.kernel().split = {1, Size::Of(8)};
  Expect(b.Finish());
}

TEST_P(Stages, LoopsOfPointsStoreWhatTheyShareOnce) {
  // As while loops over arrays: the counter is the same everywhere and stored by one point, as is one point's own
  // value.
  for (int64_t points : {3, 8, 19, 40}) {
    KernelBuilder b;
    const DimId i = b.AddDim(Size::Of(points));
    b.kernel().outer = 1;
    const Buf in = b.AddDense(BufKind::kArg, f32, {points}), out = b.AddDense(BufKind::kOut, f32, {points});
    const Buf count = b.AddDense(BufKind::kOut, s32, {1}), third = b.AddDense(BufKind::kOut, f32, {1});
    Loop loop;
    loop.id = b.NewId();
    loop.types = {f32, s32};
    loop.init = {b.Read(in, {At(i)}), b.ConstS32(0)};
    const Val x = b.Carried(loop.id, 0, f32), n = b.Carried(loop.id, 1, s32);
    loop.next = {b.Sub(x, b.Div(b.Sub(b.Mul(x, x), b.ConstF32(2)), x)), b.Add(n, b.ConstS32(1))};
    loop.trip_count = Size::Of(7);
    b.AddLoop(loop);
    Stage s;
    s.stores.push_back(Put(out, {At(i)}, x));
    auto only = [&](Store store, int64_t point) {
      store.guard.push_back({.e = At(i), .lo = Size::Of(point), .hi = Size::Of(point + 1)});
      s.stores.push_back(store);
    };
    only(Put(count, {AtOffset(Size::Of(0))}, n), 0);
    only(Put(third, {AtOffset(Size::Of(0))}, x), 2);
    b.AddStage(s);
    b.kernel().split = {1, Size::Of(5)};
    const Kernel kernel = b.Finish();
    Expect(kernel);
    Expect(kernel, {.indices_per_call = 5});
  }
}

// Points that leave a loop at different times keep what they had then, in lanes too: carries that were alike in all of
// them, and places that no memory is behind once the point is through.
TEST_P(Stages, PointsLeaveALoopOneByOne) {
  for (const std::string type : {"f32", "s64", "u8"}) {
    std::string text = R"(kernel v1 params 2 outer 1 {
  dim d0 parallel p0
  buffer b0 arg s32 [256] stride [1]
  buffer b1 arg TYPE [60] stride [1]
  buffer b2 out TYPE [p0] stride [1]
  buffer b3 out s32 [p0] stride [1]
  read r0 = b0[d0]
  %0 = s32 read r0
  %1 = s32 const 63
  %2 = s32 and %0, %1
  %3 = s32 const 0
  %4 = TYPE const 1
  %5 = s32 carried #0.0
  %6 = s32 carried #0.1
  %7 = TYPE carried #0.2
  %8 = s32 const 60
  %9 = pred cmp lt %5, %8
  %10 = s32 const 5
  %11 = s32 add %5, %10
  %12 = s32 const 1
  %13 = s32 add %6, %12
  %14 = s64 convert %5
  read r1 = b1[%14]
  %15 = TYPE read r1
  %16 = TYPE carried #1.0
  %17 = TYPE add %16, %15
  %18 = TYPE carried #1.0
  loop #0 (s32, s32, TYPE) init (%2, %3, %4) while %9 next (%11, %13, %18) {
    loop #1 (TYPE) init (%7) times p1 next (%17) {
    }
  }
  stage () {
    store b2[d0] = %7
    store b3[d0] = %6
  }
  split (d0) grain p0
}
)";
    for (size_t at = text.find("TYPE"); at != std::string::npos; at = text.find("TYPE")) text.replace(at, 4, type);
    const Result<kir::Kernel> kernel = kir::Parse(text);
    ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
    for (const int64_t n : {1, 5, 16, 31, 64, 200}) Expect(*kernel, {.params = {n, 3}});
    Expect(*kernel, {.params = {200, 1}, .indices_per_call = 67});
    if (GetParam() == isa::IsaLevel::kSse4) continue;  // LLVM's makes all of its code.
    const auto compiled = CompileKernel(*kernel, {.isa = GetParam()});
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    EXPECT_EQ((*compiled)->llvm_reason, "");
  }
}

TEST_P(Stages, RowsAreAddedWhereTheirIndexIsInside) {
  // Updates meet, `run` of them in a row, some leave the buffer; the lanes of a row share the guard. Widths around one
  // vector and several. What differences leave tells their order.
  for (const auto& [width, run] :
       {std::pair<int64_t, int64_t>(5, 1), {5, 2}, {16, 3}, {16, 40}, {70, 1}, {70, 2}, {70, 3}}) {
    for (DType type : {f32, DType::kF64, s64, DType::kU8}) {
      KernelBuilder b;
      const DimId i = b.AddDim(Size::Of(41), DimKind::kSerial), j = b.AddDim(Size::Of(width));
      const Buf index = b.AddDense(BufKind::kArg, s32, {41}), x = b.AddDense(BufKind::kArg, type, {41, width}),
                out = b.AddDense(BufKind::kOut, type, {6, width});
      Store store = Put(out, {AtStart(b.Convert(s64, b.Read(index, {At(i)}))), At(j)}, b.Read(x, {At(i), At(j)}));
      store.guard.push_back({.e = store.at[0], .lo = Size::Of(0), .hi = Size::Of(6)});
      store.combine = static_cast<int32_t>(b.AddGraph(BinaryGraph(Op::kSub, type)));
      store.order = StoreOrder::kRowMajor;
      Stage s;
      s.dims = {i, j};
      s.stores.push_back(store);
      b.AddStage(s);
      testing::RunOptions options;
      options.fill = [index, run = run](Buf buffer, int64_t at, uint64_t* bits) {
        if (buffer == index) *bits = static_cast<uint32_t>(at / run * 7 % 11 - 2);
        return buffer == index;
      };
      Expect(b.Finish(), options);
    }
  }
}

TEST_P(Stages, FourDimTransposeKeepsRunsContiguous) {
  KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(3)), j = b.AddDim(Size::Of(4)), k = b.AddDim(Size::Of(5)),
              l = b.AddDim(Size::Of(21));
  const Buf x = b.AddDense(BufKind::kArg, f32, {3, 5, 4, 21}), out = b.AddDense(BufKind::kOut, f32, {3, 4, 5, 21});
  Stage s;
  s.dims = {i, j, k, l};
  s.stores.push_back(
      Put(out, {At(i), At(j), At(k), At(l)}, b.Mul(b.Read(x, {At(i), At(k), At(j), At(l)}), b.ConstF32(2))));
  b.AddStage(s);
  b.kernel().split = {7, Size::Of(7)};
  const Kernel kernel = b.Finish();
  Expect(kernel);
  Expect(kernel, {.indices_per_call = 9});
}

// Both parts of complex numbers, and one of each pair, whose rows and columns change places; rows that run down, too.
// Nothing behind the last element is there.
/// out = x permuted (+ y permuted otherwise, the same along one dim); pieces go through the first `split` dims.
Kernel PermutedKernel(DType type, const std::vector<int64_t>& extents, const std::vector<size_t>& of_x,
                      const std::vector<size_t>& of_y, size_t split, bool adds) {
  const auto strides = [&](const std::vector<size_t>& order) {
    std::vector<int64_t> stride(extents.size());
    int64_t next = 1;
    for (size_t i = order.size(); i-- > 0;) {
      stride[order[i]] = next;
      next *= extents[order[i]];
    }
    return stride;
  };
  KernelBuilder b;
  Stage s;
  int64_t points = 1;
  std::vector<size_t> straight;
  for (size_t d = 0; d < extents.size(); ++d) {
    s.dims.push_back(b.AddDim(Size::Of(extents[d])));
    straight.push_back(d);
    points *= extents[d];
  }
  const auto at = [&](const std::vector<int64_t>& stride, size_t without) {
    Axis axis;
    for (size_t d = 0; d < stride.size(); ++d) {
      if (d != without) axis.terms.push_back({static_cast<DimId>(d), Size::Of(stride[d])});
    }
    return axis;
  };
  const Buf x = b.AddDense(BufKind::kArg, type, {points}), y = b.AddDense(BufKind::kArg, type, {points}),
            out = b.AddDense(BufKind::kOut, type, {points});
  const Axis to = at(strides(straight), extents.size());
  const Axis from_x = at(strides(of_x), extents.size()), from_y = at(strides(of_y), of_y[0]);
  for (const uint8_t part : {0, 1}) {
    if (part == 1 && !IsComplex(type)) break;
    Val value = b.Read(x, {from_x}, part);
    if (adds) value = b.Add(value, b.Read(y, {from_y}, part));
    Store store = Put(out, {to}, value);
    store.component = part;
    s.stores.push_back(store);
  }
  b.AddStage(s);
  if (split > 0) b.kernel().split = {(DimMask{1} << split) - 1, Size::Of(1)};
  return b.Finish();
}

// Dims none of which fills a vector, in any order on either side.
TEST_P(Stages, ShortDimsChangePlaces) {
  uint64_t state = 7;
  const auto below = [&](size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>((state >> 33) % n);
  };
  constexpr DType kTypes[] = {f32,          DType::kU8, DType::kS16, DType::kBF16, DType::kF64,
                              DType::kPred, s64,        DType::kF16, DType::kC64,  DType::kC128};
  for (int trial = 0; trial < 120; ++trial) {
    const DType type = kTypes[static_cast<size_t>(trial) % std::size(kTypes)];
    std::vector<int64_t> extents(2 + below(5));
    const bool twos = trial % 3 == 0;
    for (int64_t& e : extents) e = twos ? 2 : static_cast<int64_t>(2 + below(4));
    if (twos) extents.resize(8, 2);
    const auto order = [&] {
      std::vector<size_t> dims(extents.size());
      for (size_t d = 0; d < dims.size(); ++d) dims[d] = d;
      for (size_t d = dims.size(); d-- > 1;) std::swap(dims[d], dims[below(d + 1)]);
      return dims;
    };
    const bool adds = type != DType::kPred && trial % 2 == 0;
    Expect(PermutedKernel(type, extents, order(), order(), trial % 4 == 1 ? below(extents.size() - 1) : 0, adds),
           {.seed = static_cast<uint64_t>(trial), .indices_per_call = 3, .misalign_bytes = 8});
  }
}

// Narrow integers made of long ones, and the other way round, a vector of narrow ones at a time.
TEST_P(Stages, NarrowIntegersBecomeLongInOwnCode) {
  for (const DType narrow : {DType::kU8, DType::kS8, DType::kS16, DType::kU16}) {
    KernelBuilder b;
    const DimId i = b.AddDim(Size::Of(75));
    const Buf x = b.AddDense(BufKind::kArg, narrow, {75}), y = b.AddDense(BufKind::kArg, s64, {75}),
              longs = b.AddDense(BufKind::kOut, s64, {75}), shorts = b.AddDense(BufKind::kOut, narrow, {75});
    const Val sum = b.Add(b.Convert(s64, b.Read(x, {At(i)})), b.Read(y, {At(i)}));
    Stage s;
    s.dims = {i};
    s.stores.push_back(Put(longs, {At(i)}, sum));
    s.stores.push_back(Put(shorts, {At(i)}, b.Add(b.Convert(narrow, sum), b.Read(x, {At(i)}))));
    b.AddStage(s);
    const kir::Kernel kernel = b.Finish();
    Expect(kernel);
    if (GetParam() != isa::IsaLevel::kAvx512) continue;
    const auto compiled = CompileKernel(kernel, {.isa = GetParam()});
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    EXPECT_EQ((*compiled)->llvm_reason, "") << kir::Print(kernel);
  }
}

TEST_P(Stages, ElementsBeginShortVectorsInOwnCode) {
  for (const std::string type : {"s32", "s64", "f32", "f64", "u8"}) {
    std::string text = R"(kernel v1 params 0 outer 0 {
  dim d0 parallel 5
  dim d1 parallel 3
  buffer b0 out T [15] stride [1]
  buffer b1 arg T [5] stride [1]
  buffer b2 arg T [3] stride [1]
  read r0 = b1[d0]
  %0 = T read r0
  read r1 = b2[d1]
  %1 = T read r1
  %2 = T max %0, %1
  stage (d0, d1) {
    store b0[d0*3 + d1] = %2
  }
}
)";
    for (size_t at; (at = text.find('T')) != std::string::npos;) text.replace(at, 1, type);
    const Result<kir::Kernel> kernel = kir::Parse(text);
    ASSERT_TRUE(kernel.ok()) << kernel.status().ToString() << text;
    Expect(*kernel);
    if (GetParam() == isa::IsaLevel::kSse4) continue;  // LLVM's makes all of its code.
    const auto compiled = CompileKernel(*kernel, {.isa = GetParam()});
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    EXPECT_EQ((*compiled)->llvm_reason, "") << text;
  }
}

// Every element of rows that are longer than a vector, with rows in lanes.
TEST_P(Stages, RowsLongerThanVectorsAreTakenApart) {
  for (DType type : {f32, DType::kF64, DType::kBF16, DType::kS32, DType::kS16}) {
    for (const int64_t length : {5, 9, 11, 17, 19, 23, 31, 33, 37, 61}) {
      for (const int64_t rows : {1, 7, 16, 53}) {
        KernelBuilder b;
        const DimId i = b.AddDim(Size::Of(rows));
        const Buf x = b.AddDense(BufKind::kArg, type, {rows, length}),
                  out = b.AddDense(BufKind::kOut, type, {rows, length});
        const auto element = [](int64_t c) {
          Axis axis;
          axis.offset = Size::Of(c);
          return axis;
        };
        std::vector<Val> read;
        for (int64_t c = 0; c < length; ++c) read.push_back(b.Read(x, {At(i), element(c)}));
        Stage s;
        s.dims = {i};
        for (size_t c = 0; c < read.size(); ++c) {
          s.stores.push_back(
              Put(out, {At(i), element(static_cast<int64_t>(c))}, b.Add(read[c], read[(c + 1) % read.size()])));
        }
        b.AddStage(s);
        b.kernel().split = {1, Size::Of(16)};
        Expect(b.Finish(), {.misalign_bytes = 8});
      }
    }
  }
}

TEST_P(Stages, PartsOfElementsChangePlacesWithLanes) {
  for (DType type : {DType::kC64, DType::kC128, f32, DType::kF64, DType::kS16, DType::kU8}) {
    for (const auto& [rows, columns] :
         {std::pair<int64_t, int64_t>{64, 64}, {37, 50}, {16, 19}, {13, 11}, {6, 5}, {5, 100}}) {
      for (const int64_t step : {1, -1, 2}) {
        const bool complex = IsComplex(type);
        const DType part = complex ? RealPartOf(type) : type;
        KernelBuilder b;
        const DimId i = b.AddDim(Size::Of(rows)), j = b.AddDim(Size::Of(columns));
        const Buf x = b.AddDense(BufKind::kArg, type, {columns, rows * std::abs(step)}),
                  out = b.AddDense(BufKind::kOut, part, {rows, columns});
        // As far right as there is memory.
        const int64_t first = step < 0 ? rows - 1 : step - 1;
        Axis along;
        along.terms.push_back({i, Size::Of(step)});
        along.offset = Size::Of(first);
        Val value = b.Read(x, {At(j), along});
        if (complex) value = b.Sub(value, b.Mul(b.Read(x, {At(j), along}, 1), b.Const(part, 2)));
        Stage s;
        s.dims = {i, j};
        s.stores.push_back(Put(out, {At(i), At(j)}, value));
        b.AddStage(s);
        b.kernel().split = {1, Size::Of(16)};
        const Kernel kernel = b.Finish();
        Expect(kernel);
        Expect(kernel, {.indices_per_call = 16});
      }
    }
  }
}

TEST_P(Stages, AConstantBesideWhatWasReducedInLanes) {
  const auto kernel = Parse(R"(kernel v1 params 0 outer 0 {
  dim d0 parallel 4
  dim d1 parallel 2
  dim d2 reduce 135
  buffer b0 arg s32 [2, 135] stride [1, 2]
  buffer b1 out u32 [4, 2] stride [1, 4]
  buffer b2 out f32 [4, 2] stride [1, 4]
  graph g0 (u32, u32) {
    %0 = u32 arg 0
    %1 = u32 arg 1
    %2 = u32 max %0, %1
    return %2
  }
  read r0 = b0[d1, d2]
  %0 = s32 read r0
  %1 = u32 convert %0
  %2 = u32 const 0
  %3 = u32 reduced #0.0
  %4 = pred cmp gt %3, %3
  %5 = f32 convert %3
  %6 = f32 const 0.5
  %7 = f32 select %4, %5, %6
  stage (d0, d1, d2) {
    reduce #0 over (d2) sequential g0 in (%1) init (%2)
    store b1[d0, d1] = %3
    store b2[d0, d1] = %7
  }
}
)");
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  Expect(*kernel);
}

TEST_P(Stages, PointsChooseLongNumbersByComparingShortOnes) {
  // What lies above a number in its register is no part of the comparison.
  const Result<kir::Kernel> kernel = kir::Parse(R"(kernel v1 params 0 outer 0 {
  buffer b0 arg f32 [1] stride [1]
  buffer b1 out f64 [2] stride [1]
  read r0 = b0[0]
  %0 = f32 read r0
  %1 = f32 const 1.0
  %2 = f32 sub %1, %0
  %3 = f32 const 0.5
  %4 = pred cmp gt %2, %3
  %5 = pred cmp lt %2, %3
  %6 = f64 const 7.0
  %7 = f64 convert %0
  %8 = f64 select %4, %6, %7
  %9 = f64 select %5, %6, %7
  stage () {
    store b1[0] = %8
    store b1[1] = %9
  }
}
)");
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  for (const float x : {0.25f, 0.75f, -3.0f}) {
    testing::RunOptions options;
    options.fill = [&](kir::Buf, int64_t, uint64_t* bits) {
      *bits = kir::LiteralBits(DType::kF32, x);
      return true;
    };
    Expect(*kernel, options);
  }
}

TEST_P(Stages, OffsetsOfGathersInAnyWidth) {
  for (const std::string index : {"s8", "u8", "s16", "u16", "s32", "u32", "s64"}) {
    for (const std::string data : {"f32", "f64", "s32"}) {
      for (const std::string stride : {"1", "3", "8", "40"}) {
        const std::string text =
            "kernel v1 params 0 outer 0 {\n  dim d0 parallel 77\n  buffer b0 arg " + index +
            " [77] stride [1]\n  buffer b1 arg " + data + " [20] stride [" + stride + "]\n  buffer b2 out " + data +
            " [77] stride [1]\n  read r0 = b0[d0]\n  %0 = " + index + " read r0\n" +
            "  %1 = s64 convert %0\n  %2 = s64 const 0\n  %3 = s64 max %1, %2\n"
            "  %4 = s64 const 19\n  %5 = s64 min %3, %4\n  read r1 = b1[%5]\n  %6 = " +
            data + " read r1\n  stage (d0) {\n    store b2[d0] = %6\n  }\n  split (d0) grain 77\n}\n";
        const Result<kir::Kernel> kernel = kir::Parse(text);
        ASSERT_TRUE(kernel.ok()) << kernel.status().ToString() << text;
        Expect(*kernel);
      }
    }
  }
}

// Rows of every length and type by keys of every kind: those that registers hold are permuted. The last row ends where
// the memory does; keys may be wider than the row is long, and what is beyond it is never read.
TEST_P(Stages, LanesTakeElementsOfAShortRowByKeys) {
  const struct {
    std::string type, bounded;
  } keys[] = {{"s32", "%1 = s32 const 0\n  %2 = s32 max %0, %1\n  %3 = s32 const LAST\n  %4 = s32 min %2, %3\n"},
              {"s64", "%1 = s64 const 0\n  %2 = s64 max %0, %1\n  %3 = s64 const LAST\n  %4 = s64 min %2, %3\n"},
              {"u8", "%1 = u8 const LENGTH\n  %2 = u8 rem %0, %1\n  %3 = u8 const 0\n  %4 = u8 or %2, %3\n"},
              {"u32", "%1 = u32 const LENGTH\n  %2 = u32 rem %0, %1\n  %3 = u32 const 255\n  %4 = u32 and %2, %3\n"}};
  for (const std::string data : {"u8", "pred", "bf16", "s16", "f32", "s32", "f64", "u64"}) {
    for (const int64_t length : {1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 65, 128, 200, 255}) {
      for (const auto& key : keys) {
        for (const bool known : {true, false}) {
          std::string text =
              "kernel v1 params 1 outer 1 {\n  dim d0 parallel 3\n  dim d1 parallel 77\n  buffer b0 arg KEY [77] "
              "stride "
              "[1]\n  buffer b1 arg DATA [3, EXTENT] stride [EXTENT, 1]\n  buffer b2 out DATA [3, 77] stride [77, 1]\n"
              "  read r0 = b0[d1]\n  %0 = KEY read r0\n  " +
              key.bounded +
              "  read r1 = b1[d0, %4]\n  %5 = DATA read r1\n  stage (d1) {\n    store b2[d0, d1] = %5\n  }\n"
              "  split (d0) grain 1\n}\n";
          const auto set = [&](const std::string& name, const std::string& value) {
            for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
              text.replace(at, name.size(), value);
          };
          set("KEY", key.type);
          set("DATA", data);
          set("EXTENT", known ? std::to_string(length) : "p0");
          set("LENGTH", std::to_string(length));
          set("LAST", std::to_string(length - 1));
          const Result<kir::Kernel> kernel = kir::Parse(text);
          ASSERT_TRUE(kernel.ok()) << kernel.status().ToString() << text;
          Expect(*kernel, {.params = {length}});
        }
      }
    }
  }
}

TEST_P(Stages, ShortLoopsRunFourVectorsAtOnce) {
  // As many points as leave every number of vectors, and part of one, for the last pass; extents known and not.
  for (const std::string type : {"f32", "f64", "s32", "s64", "f16", "bf16"}) {
    const bool is_float = type[0] != 's';
    for (const int64_t n : {1, 9, 15, 16, 17, 24, 31, 33, 47, 48, 63, 64, 65, 77, 100, 113, 128, 160}) {
      for (const bool known : {false, true}) {
        const std::string p = known ? std::to_string(n) : "p0";
        const std::string text = "kernel v1 params 2 outer 1 {\n  dim d0 parallel " + p + "\n  buffer b0 arg " + type +
                                 " [" + p + "] stride [1]\n  buffer b1 out " + type + " [" + p +
                                 "] stride [1]\n  read r0 = b0[d0]\n  %0 = " + type + " read r0\n  %1 = " + type +
                                 " carried #0.0\n  %2 = " + type + " const " + (is_float ? "0.75" : "5") +
                                 "\n  %3 = " + type + " mul %1, %2\n  %4 = " + type + " sub %2, %1\n  %5 = " + type +
                                 " max %3, %4\n  loop #0 (" + type +
                                 ") init (%0) times p1 next (%5) {\n  }\n  stage () {\n    store b1[d0] = %1\n  }\n"
                                 "  split (d0) grain " +
                                 p + "\n}\n";
        const Result<kir::Kernel> kernel = kir::Parse(text);
        ASSERT_TRUE(kernel.ok()) << kernel.status().ToString() << text;
        Expect(*kernel, {.params = {n, 5}});
        if (n == 100) Expect(*kernel, {.params = {n, 5}, .indices_per_call = 70});
        if (GetParam() == isa::IsaLevel::kSse4 || n < 8) continue;  // LLVM's makes all of the code of the one.
        const auto compiled = CompileKernel(*kernel, {.isa = GetParam()});
        ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
        EXPECT_EQ((*compiled)->llvm_reason, "") << text;
      }
    }
  }
}

TEST_P(Stages, WideLoopsNeedNoOtherCodeGenerator) {
  // What one point stores for all, and points that ask for places of their own: nothing takes eight registers a value.
  const Result<kir::Kernel> kernel = kir::Parse(R"(kernel v1 params 2 outer 1 {
  dim d0 parallel p0
  buffer b0 arg f32 [p0] stride [1]
  buffer b1 out s32 [1] stride [1]
  buffer b2 out f32 [p0] stride [1]
  %0 = s32 const 0
  read r0 = b0[d0]
  %1 = f32 read r0
  %2 = s32 carried #0.0
  %3 = s32 const 1
  %4 = s32 add %2, %3
  %5 = f32 carried #0.1
  %6 = f32 const 0.5
  %7 = f32 max %5, %6
  %8 = f32 sub %7, %6
  loop #0 (s32, f32) init (%0, %1) times p1 next (%4, %8) {
  }
  stage () {
    store b1[0] = %2 if 0 <= d0 < 1
    store b2[d0] = %5 if 3 <= d0 < 70
  }
  split (d0) grain p0
}
)");
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  for (const int64_t n : {2, 16, 40, 64, 65, 100, 135}) Expect(*kernel, {.params = {n, 6}});
  Expect(*kernel, {.params = {135, 6}, .indices_per_call = 33});
  if (GetParam() == isa::IsaLevel::kSse4) return;  // LLVM's makes all of its code.
  const auto compiled = CompileKernel(*kernel, {.isa = GetParam()});
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  EXPECT_EQ((*compiled)->llvm_reason, "");
}

TEST_P(Stages, AnyOfARowAndSumsOfBytesAreOwnCode) {
  const Result<kir::Kernel> kernel = kir::Parse(R"(kernel v1 params 1 outer 0 {
  dim d0 reduce p0
  buffer b0 arg f32 [p0] stride [1]
  buffer b1 arg s8 [p0] stride [1]
  buffer b2 out pred [1] stride [1]
  buffer b3 out s8 [1] stride [1]
  graph g0 (pred, pred) {
    %0 = pred arg 0
    %1 = pred arg 1
    %2 = pred or %0, %1
    return %2
  }
  graph g1 (s8, s8) {
    %0 = s8 arg 0
    %1 = s8 arg 1
    %2 = s8 add %0, %1
    return %2
  }
  read r0 = b0[d0]
  %0 = f32 read r0
  %1 = f32 const 1.0
  %2 = pred cmp gt %0, %1
  %3 = pred const false
  read r1 = b1[d0]
  %4 = s8 read r1
  %5 = s8 const 0
  %6 = pred reduced #0.0
  %7 = s8 reduced #1.0
  stage (d0) {
    reduce #0 over (d0) lanes g0 in (%2) init (%3) identity (%3)
  }
  stage (d0) {
    reduce #1 over (d0) lanes g1 in (%4) init (%5) identity (%5)
  }
  stage () {
    store b2[0] = %6
    store b3[0] = %7
  }
}
)");
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  for (const int64_t n : {1, 16, 20, 100, 1000}) Expect(*kernel, {.params = {n}});
  if (GetParam() == isa::IsaLevel::kSse4) return;  // LLVM's makes all of its code.
  const auto compiled = CompileKernel(*kernel, {.isa = GetParam()});
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  EXPECT_EQ((*compiled)->llvm_reason, "");
}

TEST_P(Stages, LookUpsInALoopRunSeveralVectorsAtOnce) {
  const Result<kir::Kernel> kernel = kir::Parse(R"(kernel v1 params 2 outer 1 {
  dim d0 parallel p0
  buffer b0 arg s32 [p1, p0] stride [p0, 1]
  buffer b1 arg s32 [256] stride [1]
  buffer b2 out s32 [1] stride [1]
  buffer b3 out s32 [p0] stride [1]
  %0 = s32 const 0
  %1 = s32 carried #0.0
  %2 = s32 const 1
  %3 = s32 add %1, %2
  %4 = s32 carried #0.1
  %5 = s64 convert %1
  %6 = s64 const 0
  read r0 = b0[%5, d0]
  %7 = s32 read r0
  %8 = s32 xor %4, %7
  %9 = pred cmp lt %8, %0
  %10 = s32 const 256
  %11 = s32 add %8, %10
  %12 = s32 select %9, %11, %8
  %13 = s64 convert %12
  %14 = s64 max %13, %6
  %15 = s64 const 255
  %16 = s64 min %14, %15
  read r1 = b1[%16]
  %17 = s32 read r1
  loop #0 (s32, s32) init (%0, %0) times p1 next (%3, %17) {
  }
  stage () {
    store b2[0] = %1 if 0 <= d0 < 1
    store b3[d0] = %4
  }
  split (d0) grain p0
}
)");
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  for (const int64_t n : {1, 7, 16, 31, 32, 33, 48, 64, 77, 140}) Expect(*kernel, {.params = {n, 9}});
  Expect(*kernel, {.params = {77, 9}, .indices_per_call = 40});
}

}  // namespace
}  // namespace tenon::emit_llvm
