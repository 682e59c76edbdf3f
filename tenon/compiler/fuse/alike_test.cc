#include "tenon/compiler/fuse/alike.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenon::compiler {
namespace {

const Shape kRow{DType::kF32, {8}};

/// A program of values of one shape, written node by node.
struct Graph {
  Program program;

  Ref Add(OpCode op, std::initializer_list<Ref> in, Attributes attributes = {}) {
    GraphNode node;
    node.op = op;
    for (Ref r : in) node.in.push_back(r);
    node.out = {kRow};
    node.attributes = std::move(attributes);
    return {program.Add(std::move(node)), 0};
  }
  Ref Parameter() { return Add(OpCode::kParameter, {}); }
  Ref Constant(uint64_t bits) {
    const Ref r = Add(OpCode::kConstant, {});
    program[r.node].literal = SplatLiteral(DType::kF32, bits);
    return r;
  }
  static Cluster Of(std::initializer_list<Ref> members) {
    Cluster cluster;
    cluster.space = kRow.dims;
    for (Ref r : members) {
      cluster.order.push_back(r.node);
      cluster.members.insert(r.node);
    }
    cluster.roots = {cluster.order.back()};
    return cluster;
  }
  /// x * y, then the exponential of that.
  Cluster Product(Ref x, Ref y) {
    const Ref product = Add(OpCode::kMultiply, {x, y});
    return Of({product, Add(OpCode::kExp, {product})});
  }
  bool Alike(const Cluster& a, const Cluster& b) const { return Likeness::Of(program, a, b).has_value(); }
};

TEST(Alike, OperandsStandForOneAnother) {
  Graph g;
  const Ref x = g.Parameter(), y = g.Parameter(), z = g.Parameter();
  const Cluster first = g.Product(x, y), second = g.Product(y, z);
  const std::optional<Likeness> likeness = Likeness::Of(g.program, first, second);
  ASSERT_TRUE(likeness.has_value());
  EXPECT_EQ(likeness->Counterpart(x), y);
  EXPECT_EQ(likeness->Counterpart(y), z);
  EXPECT_EQ(likeness->Counterpart({first.roots[0], 0}).node, second.roots[0]);
  EXPECT_FALSE(likeness->Counterpart(z).valid());
}

TEST(Alike, TheSameOperandTwiceIsNotTwo) {
  Graph g;
  const Ref x = g.Parameter(), y = g.Parameter();
  const Cluster square = g.Product(x, x), product = g.Product(x, y);
  EXPECT_FALSE(g.Alike(square, product));
  EXPECT_FALSE(g.Alike(product, square));
  EXPECT_TRUE(g.Alike(square, g.Product(y, y)));
}

TEST(Alike, WhatOneComputesTheOtherDoesNotRead) {
  Graph g;
  const Ref x = g.Parameter(), y = g.Parameter();
  // exp(x) * y inside; z * y, whose z is from outside and happens to be the other one's exponential.
  const Ref e = g.Add(OpCode::kExp, {x}), inside = g.Add(OpCode::kMultiply, {e, y});
  const Ref f = g.Add(OpCode::kExp, {y}), outside = g.Add(OpCode::kMultiply, {e, f});
  EXPECT_FALSE(g.Alike(Graph::Of({e, inside}), Graph::Of({f, outside})));
}

TEST(Alike, ConstantsAndViewsAreLookedAt) {
  Graph g;
  const Ref x = g.Parameter(), y = g.Parameter();
  const Cluster doubled = g.Product(x, g.Constant(0x40000000));
  EXPECT_TRUE(g.Alike(doubled, g.Product(y, g.Constant(0x40000000))));
  EXPECT_FALSE(g.Alike(doubled, g.Product(y, g.Constant(0x40400000))));
  EXPECT_FALSE(g.Alike(doubled, g.Product(x, y)));
  const auto reversed = [&](Ref r) { return g.Add(OpCode::kReverse, {r}, ReverseAttrs{{0}}); };
  EXPECT_TRUE(g.Alike(g.Product(reversed(x), y), g.Product(reversed(y), x)));
  EXPECT_FALSE(g.Alike(g.Product(reversed(x), y), g.Product(x, y)));
}

TEST(Alike, ViewsMayBeDeeperThanCalls) {
  Graph g;
  Ref x = g.Parameter(), y = g.Parameter();
  for (int i = 0; i < 300'000; ++i) {
    x = g.Add(OpCode::kReverse, {x}, ReverseAttrs{{0}});
    y = g.Add(OpCode::kReverse, {y}, ReverseAttrs{{0}});
  }
  EXPECT_TRUE(g.Alike(g.Product(x, x), g.Product(y, y)));
}

}  // namespace
}  // namespace tenon::compiler
