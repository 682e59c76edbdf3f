#include <gtest/gtest.h>

#include <map>

#include "tenon/compiler/compile.h"
#include "tenon/reference/reference.h"
#include "test/compiler/compare.h"
#include "test/fuzz_programs/generator.h"
#include "test/fuzz_programs/judges.h"
#include "test/fuzz_programs/sharded.h"

namespace tenon::fuzz {
namespace {

TEST(Generator, SameSeedSameProgram) {
  for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(GenerateProgram(seed), GenerateProgram(seed));
  EXPECT_NE(GenerateProgram(1), GenerateProgram(2));
}

TEST(Generator, ProgramsAreValid) {
  int invalid = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const std::string program = GenerateProgram(seed);
    const auto loaded = reference::Program::Load(program);
    if (!loaded.ok() && ++invalid > 1)
      FAIL() << "seed " << seed << ": " << loaded.status().ToString() << "\n" << program;
  }
}

TEST(Generator, WritesEveryFamily) {
  std::map<std::string, int> seen;
  for (const char* op : {"while",
                         "case",
                         "if",
                         "func.call",
                         "sort",
                         "gather",
                         "scatter",
                         "dynamic_slice",
                         "dynamic_update_slice",
                         "dot_general",
                         "convolution",
                         "fft",
                         "reduce_window",
                         "select_and_scatter",
                         "pad",
                         "concatenate",
                         "reverse",
                         "bitcast_convert",
                         "complex",
                         "tanh",
                         "iota",
                         "clamp",
                         "reduce_precision",
                         "divide",
                         "power",
                         "composite",
                         "all_reduce",
                         "torch_index_select",
                         "map",
                         "rng ",
                         "dynamic_gather",
                         "chlo.scan",
                         "chlo.ragged_dot",
                         "chlo.next_after",
                         "batch_norm_",
                         "einsum",
                         "dot ",
                         "dynamic_conv",
                         "get_tuple_element",
                         "custom_call @mhlo.topk",
                         "uniform_quantize"})
    seen[op] = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    const std::string program = GenerateProgram(seed);
    for (auto& [op, count] : seen) {
      const bool has_dialect = op.find('.') != std::string::npos;
      if (program.find(has_dialect ? op : "stablehlo." + op) != std::string::npos) ++count;
    }
  }
  for (const auto& [op, count] : seen) EXPECT_GT(count, 4) << op;
}

TEST(Generator, ShardedProgramsAreValid) {
  int constraints = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Sharded sharded = Shard(GenerateProgram(seed), seed);
    EXPECT_EQ(sharded.program, Shard(GenerateProgram(seed), seed).program);
    constraints += sharded.program.find("sdy.sharding_constraint") != std::string::npos ? 1 : 0;
    compiler::CompileOptions options = test::CpuOptions();
    options.num_partitions = static_cast<int64_t>(sharded.of_device.size());
    EXPECT_GT(options.num_partitions, 1);
    const auto compiled = compiler::Compile(sharded.program, options);
    // The number of a partition differs between devices: no program over whole arrays has one.
    if (sharded.program.find("partition_id") != std::string::npos && compiled.status().code() == Code::kUnimplemented)
      continue;
    EXPECT_TRUE(compiled.ok()) << "seed " << seed << ": " << compiled.status().ToString() << "\n" << sharded.program;
  }
  EXPECT_GT(constraints, 40);
}

TEST(Conditions, ComeBackFromTheirText) {
  const Conditions c{.data_seed = 77, .specials = true, .outputs = {{}, {.absolute = 1e-3, .any_zero = true}}};
  const Conditions again = ParseConditions("// a comment\n" + Print(c) + "\nfunc.func @main() { return }\n");
  EXPECT_EQ(again.data_seed, 77u);
  EXPECT_TRUE(again.specials);
  EXPECT_EQ(again.outputs, c.outputs);
}

TEST(Judges, AgreeOnAProgram) {
  Judges judges;
  const Verdict v = judges.Judge(
      "func.func @main(%a: tensor<7xf32>, %b: tensor<7xf32>) -> tensor<7xf32> {\n"
      "  %0 = stablehlo.add %a, %b : tensor<7xf32>\n  return %0 : tensor<7xf32>\n}\n",
      FullCourt());
  EXPECT_EQ(v.outcome, Outcome::kAgree) << v.judge << ": " << v.message;
}

TEST(Judges, SeeWhatIsNotInTheConditions) {
  // A logarithm is off by its last bits somewhere: with no tolerance stated, the judges must say so, with one they
  // agree.
  const std::string program =
      "func.func @main(%a: tensor<513xf32>) -> tensor<513xf32> {\n  %n = stablehlo.iota dim = 0 : tensor<513xf32>\n"
      "  %0 = stablehlo.add %n, %a : tensor<513xf32>\n  %1 = stablehlo.multiply %0, %0 : tensor<513xf32>\n"
      "  %2 = stablehlo.cosine %1 : tensor<513xf32>\n  %3 = stablehlo.exponential %2 : tensor<513xf32>\n"
      "  return %3 : tensor<513xf32>\n}\n";
  Judges judges;
  EXPECT_EQ(judges.Judge("// fuzz: data=1 specials=0 tolerance=0\n" + program, CheapCourt(0)).outcome,
            Outcome::kDifferent);
  EXPECT_EQ(judges.Judge("// fuzz: data=1 specials=0 tolerance=1e-4\n" + program, CheapCourt(0)).outcome,
            Outcome::kAgree);
}

TEST(Judges, TellInvalidFromFailed) {
  Judges judges;
  EXPECT_EQ(judges.Judge("func.func @main(", CheapCourt(0)).outcome, Outcome::kInvalid);
}

}  // namespace
}  // namespace tenon::fuzz
