// Programs of several replicas that go different ways, against the same steps in C++ for each replica.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"
#include "test/compiler/plan_interpreter.h"

namespace tenon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kReplicas = 4;

/// What @main gives for each replica of a number; %id is the replica's.
std::vector<int32_t> ResultsOf(const std::string& body, const std::vector<int32_t>& x,
                               const std::string& functions = "") {
  const std::string program = fmt::format(R"(
    {}
    func.func @main(%x: tensor<i32>) -> tensor<i32> {{
      %u = stablehlo.replica_id : tensor<ui32>
      %id = stablehlo.convert %u : (tensor<ui32>) -> tensor<i32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %hundred = stablehlo.constant dense<100> : tensor<i32>
      {}
      return %r : tensor<i32>
    }})",
                                          functions, body);
  compiler::CompileOptions options = CpuOptions();
  options.num_replicas = kReplicas;
  const Result<compiler::CompiledProgram> compiled = compiler::Compile(program, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString() << program;
  if (!compiled.ok()) return {};
  const Result<std::vector<std::string>> outputs =
      RunPlan(compiled->plan, {std::string(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(int32_t))});
  EXPECT_TRUE(outputs.ok()) << outputs.status().ToString() << program;
  std::vector<int32_t> results(outputs.ok() ? outputs->at(0).size() / sizeof(int32_t) : 0);
  if (outputs.ok()) std::memcpy(results.data(), outputs->at(0).data(), outputs->at(0).size());
  return results;
}

/// The sum of `value` over replicas {0, 1} and {2, 3}.
std::string PairSum(const std::string& name, const std::string& value) {
  return fmt::format(R"({} = "stablehlo.all_reduce"({}) ({{
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %c = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %c : tensor<i32>
    }}) {{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}} : (tensor<i32>) -> tensor<i32>)",
                     name, value);
}

TEST(Lanes, BranchesByIds) {
  EXPECT_THAT(ResultsOf(R"(%p = stablehlo.compare GT, %id, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = "stablehlo.if"(%p) ({
      %a = stablehlo.add %x, %hundred : tensor<i32>
      stablehlo.return %a : tensor<i32>
    }, {
      %i = stablehlo.replica_id : tensor<ui32>
      %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>
      %a = stablehlo.multiply %x, %j : tensor<i32>
      stablehlo.return %a : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>)",
                        {5, 6, 7, 8}),
              ElementsAre(0, 6, 107, 108));
}

TEST(Lanes, CasesBeyondTheirBranchesWithSumsInside) {
  // Replica 0 takes branch -1, which is the last one, as 3 does.
  EXPECT_THAT(ResultsOf(fmt::format(R"(%k = stablehlo.subtract %id, %one : tensor<i32>
    %r = "stablehlo.case"(%k) ({{
      stablehlo.return %hundred : tensor<i32>
    }}, {{
      %n = stablehlo.negate %x : tensor<i32>
      stablehlo.return %n : tensor<i32>
    }}, {{
      {}
      stablehlo.return %s : tensor<i32>
    }}) : (tensor<i32>) -> tensor<i32>)",
                                    PairSum("%s", "%x")),
                        {1, 2, 3, 4}),
              ElementsAre(3, 100, -3, 7));
}

TEST(Lanes, LoopsThatEndAtDifferentTimes) {
  // Replica i makes i + 1 turns; the pairs' sums of turns that a replica no longer makes are nobody's.
  const std::vector<int32_t> x = {1, 10, 100, 1000};
  EXPECT_THAT(ResultsOf(R"(%w:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<i32>
    cond {
      %p = stablehlo.compare LE, %i, %id : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<i32>
      %y = stablehlo.add %v, %v : tensor<i32>
      stablehlo.return %n, %y : tensor<i32>, tensor<i32>
    }
    %r = stablehlo.add %w#1, %w#0 : tensor<i32>)",
                        x),
              ElementsAre(3, 42, 803, 16004));
  // Pairs stay together here: the first makes 2 turns, the second 4.
  EXPECT_THAT(ResultsOf(fmt::format(R"(%two = stablehlo.constant dense<2> : tensor<i32>
    %h = stablehlo.divide %id, %two : tensor<i32>
    %g = stablehlo.multiply %h, %two : tensor<i32>
    %turns = stablehlo.add %g, %two : tensor<i32>
    %w:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<i32>
    cond {{
      %p = stablehlo.compare LT, %i, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }} do {{
      %n = stablehlo.add %i, %one : tensor<i32>
      {}
      stablehlo.return %n, %s : tensor<i32>, tensor<i32>
    }}
    %r = stablehlo.add %w#1, %w#0 : tensor<i32>)",
                                    PairSum("%s", "%v")),
                        x),
              ElementsAre(24, 24, 8804, 8804));
}

// A loop that ends when it wants, whose condition has another such loop, and so on `depth` times: %w.
std::string LoopInConditions(int depth) {
  if (depth == 0) {
    return fmt::format(R"(%w0 = stablehlo.while(%i0 = %zero) : tensor<i32>
      cond {{
        {}
        %b0 = stablehlo.add %s0, %id : tensor<i32>
        %d0 = stablehlo.add %i0, %i0 : tensor<i32>
        %p0 = stablehlo.compare LT, %d0, %b0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p0 : tensor<i1>
      }} do {{
        %n0 = stablehlo.add %i0, %one : tensor<i32>
        stablehlo.return %n0 : tensor<i32>
      }}
      )",
                       PairSum("%s0", "%id"));
  }
  return fmt::format(R"(%w{0} = stablehlo.while(%i{0} = %zero) : tensor<i32>
      cond {{
        {2}
        %b{0} = stablehlo.minimum %w{1}, %id : tensor<i32>
        %p{0} = stablehlo.compare LT, %i{0}, %b{0} : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p{0} : tensor<i1>
      }} do {{
        {3}
        %n{0} = stablehlo.add %i{0}, %one : tensor<i32>
        stablehlo.return %n{0} : tensor<i32>
      }}
      )",
                     depth, depth - 1, LoopInConditions(depth - 1), PairSum(fmt::format("%s{}", depth), "%x"));
}

TEST(Lanes, LoopsInConditionsOfLoops) {
  for (int depth = 0; depth < 5; ++depth) {
    EXPECT_THAT(ResultsOf(fmt::format("{} %r = stablehlo.add %w{}, %x : tensor<i32>", LoopInConditions(depth), depth),
                          {100, 200, 300, 400}),
                depth == 0 ? ElementsAre(101, 201, 304, 404) : ElementsAre(100, 201, 302, 403));
  }
}

// The condition of the outermost is expanded twice; what it has inside is not again at every depth.
TEST(Lanes, LoopsInConditionsDoNotMultiply) {
  compiler::CompileOptions options = CpuOptions();
  options.num_replicas = 2;
  std::vector<size_t> sizes;
  for (const int depth : {4, 8}) {
    std::string body = LoopInConditions(depth);
    for (size_t at; (at = body.find("[[0, 1], [2, 3]]> : tensor<2x2xi64>")) != body.npos;)
      body.replace(at, 35, "[[0, 1]]> : tensor<1x2xi64>");
    const Result<compiler::CompiledProgram> compiled = compiler::Compile(fmt::format(R"(
      func.func @main(%x: tensor<i32>) -> tensor<i32> {{
        %u = stablehlo.replica_id : tensor<ui32>
        %id = stablehlo.convert %u : (tensor<ui32>) -> tensor<i32>
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        {}
        return %w{} : tensor<i32>
      }})",
                                                                                     body, depth),
                                                                         options);
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    sizes.push_back(plan::Print(compiled->plan).size());
  }
  EXPECT_LT(sizes[1], 4 * sizes[0]);
}

TEST(Lanes, WhatOthersMustNotRunIsNotRun) {
  // The inner loop ends for even numbers alone; replicas with odd ones do not come to it.
  EXPECT_THAT(ResultsOf(fmt::format(R"(%two = stablehlo.constant dense<2> : tensor<i32>
    %m = stablehlo.remainder %id, %two : tensor<i32>
    %even = stablehlo.compare EQ, %m, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = "stablehlo.if"(%even) ({{
      %w = stablehlo.while(%i = %id) : tensor<i32>
      cond {{
        %p = stablehlo.compare NE, %i, %hundred : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }} do {{
        %n = stablehlo.add %i, %two : tensor<i32>
        stablehlo.return %n : tensor<i32>
      }}
      {}
      %y = stablehlo.subtract %s, %x : tensor<i32>
      %z = stablehlo.add %y, %w : tensor<i32>
      stablehlo.return %z : tensor<i32>
    }}, {{
      stablehlo.return %x : tensor<i32>
    }}) : (tensor<i1>) -> tensor<i32>)",
                                    PairSum("%s", "%x")),
                        {1, 2, 3, 4}),
              ElementsAre(102, 2, 104, 4));
}

TEST(Lanes, CompositesHaveCollectivesToo) {
  const std::string function = fmt::format(R"(func.func private @sum(%x: tensor<i32>) -> tensor<i32> {{
      {}
      return %s : tensor<i32>
    }})",
                                           PairSum("%s", "%x"));
  EXPECT_THAT(
      ResultsOf(R"(%r = stablehlo.composite "test.sum" %x {decomposition = @sum} : (tensor<i32>) -> tensor<i32>)",
                {1, 2, 3, 4}, function),
      ElementsAre(3, 3, 7, 7));
}

TEST(Lanes, RegionsOfReductionsMayHaveIds) {
  EXPECT_THAT(ResultsOf(R"(%v = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %r = "stablehlo.reduce"(%v, %zero) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %i = stablehlo.replica_id : tensor<ui32>
      %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>
      %k = stablehlo.minimum %j, %one : tensor<i32>
      %p = stablehlo.multiply %b, %k : tensor<i32>
      %s = stablehlo.maximum %a, %p : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) {dimensions = array<i64: 0>} : (tensor<3xi32>, tensor<i32>) -> tensor<i32>)",
                        {1, 2, 3, 4}),
              ElementsAre(0, 2, 3, 4));
}

TEST(Lanes, WhoIsSentNothingHasZeros) {
  EXPECT_THAT(ResultsOf(R"(%r = "stablehlo.collective_broadcast"(%x) {
    replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>} : (tensor<i32>) -> tensor<i32>)",
                        {1, 2, 3, 4}),
              ElementsAre(0, 3, 3, 0));
}

TEST(Lanes, PartitionsHaveNoIdsOutsideOfManualComputations) {
  compiler::CompileOptions options = CpuOptions();
  options.num_partitions = 2;
  const auto error = [&](const std::string& op) {
    const Result<compiler::CompiledProgram> compiled = compiler::Compile(
        fmt::format("func.func @main(%x: tensor<ui32>) -> tensor<ui32> {{ {} return %r : tensor<ui32> }}", op),
        options);
    return compiled.ok() ? std::string() : compiled.status().ToString();
  };
  EXPECT_THAT(error("%r = stablehlo.partition_id : tensor<ui32>"), HasSubstr("partition_id outside of a manual"));
  EXPECT_THAT(error(R"(%r = "stablehlo.collective_permute"(%x) {
    source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<ui32>) -> tensor<ui32>)"),
              HasSubstr("collective_permute outside of a manual"));
  // There is one replica.
  EXPECT_EQ(error("%r = stablehlo.replica_id : tensor<ui32>"), "");
}

}  // namespace
}  // namespace tenon::test
