#include "tenon/compiler/ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/compiler/ir/combiner.h"

namespace tenon::compiler {
namespace {

using ::testing::HasSubstr;

/// transpose(x), transpose(transpose(x)) of x: f32[2,3].
Program TwoTransposes() {
  Program p;
  GraphNode x;
  x.op = OpCode::kParameter;
  x.out = {{DType::kF32, {2, 3}}};
  p.main.args = {p.Add(std::move(x))};
  for (NodeId from : {0u, 1u}) {
    GraphNode node;
    node.op = OpCode::kTranspose;
    node.in = {{from, 0}};
    node.out = {{DType::kF32, from == 0 ? Dims{3, 2} : Dims{2, 3}}};
    node.attributes = TransposeAttrs{{1, 0}};
    p.main.nodes.push_back(p.Add(std::move(node)));
  }
  p.main.results = {{2, 0}};
  return p;
}

std::string Complaint(const Program& p) { return std::string(Verify(p).message()); }

TEST(Verify, TakesWhatIsRight) { EXPECT_TRUE(Verify(TwoTransposes()).ok()); }

TEST(Verify, NodesStandInOneBlock) {
  Program p = TwoTransposes();
  GraphNode sum;
  sum.op = OpCode::kReduce;
  GraphNode zero;
  zero.op = OpCode::kConstant;
  zero.out = {{DType::kF32, {}}};
  zero.literal = SplatLiteral(DType::kF32, 0);
  p.main.nodes.push_back(p.Add(std::move(zero)));
  sum.in = {{1, 0}, {3, 0}};
  sum.out = {{DType::kF32, {2}}};
  sum.attributes = ReduceAttrs{{0}};
  sum.blocks = {MakeCombiner(p, OpCode::kAdd, DType::kF32)};
  p.main.nodes.push_back(p.Add(sum));
  EXPECT_TRUE(Verify(p).ok()) << Complaint(p);
  // A second one with the first one's block.
  p.main.nodes.push_back(p.Add(sum));
  EXPECT_THAT(Complaint(p), HasSubstr("stands in blocks twice"));
  std::unordered_map<NodeId, NodeId> copies;
  p[p.main.nodes.back()].blocks[0] = CopyOf(p, sum.blocks[0], copies);
  EXPECT_TRUE(Verify(p).ok()) << Complaint(p);
}

TEST(Verify, AttributesAreTheOps) {
  Program p = TwoTransposes();
  p[1].attributes = ReverseAttrs{{1, 0}};
  EXPECT_THAT(Complaint(p), HasSubstr("%1 (transpose): has the attributes of another op"));
  p[1].attributes = {};
  EXPECT_FALSE(Verify(p).ok());
}

TEST(Verify, FieldsAreWhatTheListSays) {
  Program p = TwoTransposes();
  p[2].attributes = TransposeAttrs{{1, 2}};
  EXPECT_THAT(Complaint(p), HasSubstr("permutation = [1,2] for 2 dimensions"));
  p[2].attributes = TransposeAttrs{{1, 1}};
  EXPECT_THAT(Complaint(p), HasSubstr("permutation = [1,1]"));
  p[2].op = OpCode::kSlice;
  p[2].attributes = SliceAttrs{{0, 0}, {3, 2}, {1, 0}};
  EXPECT_THAT(Complaint(p), HasSubstr("strides = [1,0]"));
  p[2].attributes = SliceAttrs{{0, 0}, {3}, {1, 1}};
  EXPECT_THAT(Complaint(p), HasSubstr("limit_indices = [3]"));
  p[2].op = OpCode::kConcatenate;
  p[2].attributes = ConcatenateAttrs{2};
  EXPECT_THAT(Complaint(p), HasSubstr("dimension = 2 of 2 dimensions"));
  p[2].op = OpCode::kGather;
  p[2].attributes = GatherAttrs{};
  EXPECT_THAT(Complaint(p), HasSubstr("lacks the operand that start_indices_batching_dims is about"));
}

TEST(Verify, OperandsComeFirst) {
  Program p = TwoTransposes();
  std::swap(p.main.nodes[0], p.main.nodes[1]);
  EXPECT_THAT(Complaint(p), HasSubstr("%2 (transpose): uses %1#0, which does not come before it"));
  p = TwoTransposes();
  p.main.results = {{2, 1}};
  EXPECT_THAT(Complaint(p), HasSubstr("yields %2#1"));
}

TEST(Verify, BlocksAreTheirOps) {
  Program p = TwoTransposes();
  p[2].op = OpCode::kWhile;
  p[2].attributes = {};
  EXPECT_THAT(Complaint(p), HasSubstr("wants a condition and a body"));
}

TEST(Verify, LiteralsHaveTheirBytes) {
  Program p = TwoTransposes();
  p[1].op = OpCode::kConstant;
  p[1].in.clear();
  p[1].attributes = {};
  p[1].literal = MakeLiteral(std::string(8, '\0'), false);
  EXPECT_THAT(Complaint(p), HasSubstr("8 bytes for 6 elements of f32[3,2]"));
}

}  // namespace
}  // namespace tenon::compiler
