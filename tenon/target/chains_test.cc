// What an element of a reduction in order waits for.
#include "tenon/target/chains.h"

#include <gtest/gtest.h>

#include "tenon/kir/builder.h"

namespace tenon::target {
namespace {

using kir::Op;
using kir::Val;

double Chain(const kir::Graph& combiner) { return ChainCycles(combiner, OpCosts::Standard()); }

TEST(Chains, IntegersWaitLessThanFloats) {
  EXPECT_EQ(Chain(kir::BinaryGraph(Op::kAdd, DType::kS32)), 1);
  EXPECT_EQ(Chain(kir::BinaryGraph(Op::kAdd, DType::kF32)), 4);
  EXPECT_EQ(Chain(kir::BinaryGraph(Op::kMax, DType::kF64)), 8);
}

TEST(Chains, WhatElementsAloneDecideDoesNotCount) {
  kir::GraphBuilder b({DType::kF32, DType::kF32});
  const Val root = b.Sqrt(b.Sqrt(b.Sqrt(b.Argument(1))));
  EXPECT_EQ(Chain(b.Finish({b.Add(b.Argument(0), root)})), 4);
}

TEST(Chains, ResultsWaitForComparisonsOfOthers) {
  // (least, its place): the place is chosen by a comparison with the least one so far.
  kir::GraphBuilder b({DType::kF32, DType::kS32, DType::kF32, DType::kS32});
  const Val less = b.Compare(kir::Cmp::kLt, b.Argument(2), b.Argument(0));
  const Val least = b.Select(less, b.Argument(2), b.Argument(0));
  const Val place = b.Select(less, b.Argument(3), b.Argument(1));
  EXPECT_EQ(Chain(b.Finish({least, place})), 5);
}

TEST(Chains, NothingToWaitFor) {
  kir::GraphBuilder b({DType::kF32, DType::kF32});
  EXPECT_EQ(Chain(b.Finish({b.Argument(1)})), 0);
}

}  // namespace
}  // namespace tenon::target
