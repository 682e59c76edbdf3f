#include "tenon/compiler/partitioners.h"

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "tenon/compiler/compile.h"
#include "tenon/dialect/parse.h"

namespace tenon::compiler {
namespace {

// xla.OpSharding of tiles over devices; what is left over shares tiles.
std::string Sharding(std::vector<int64_t> tiles, std::vector<int64_t> devices, bool shared = false) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_enum(1, 3);
  out.add_packed_int64(3, tiles.begin(), tiles.end());
  out.add_packed_int64(4, devices.begin(), devices.end());
  if (shared) out.add_bool(6, true);
  return bytes;
}
std::string Whole() { return std::string("\x08\x00", 2); }
std::string Tuple(const std::vector<std::string>& members) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_enum(1, 2);
  for (const std::string& member : members) out.add_message(5, member);
  return bytes;
}

// The program with shardings of the first operand, and of the result where it is sharded, on a mesh of 2 x 2.
constexpr const char* kProgram = R"(
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = call @inner(%a, %b) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func private @inner(%a: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.custom_call @own(%a, %b) {backend_config = "key", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j])->([i, j]) {i=8, j=4}>} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
)";

constexpr const char* kBody = R"(
func.func @main(%a: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
  %1 = call @inner(%a, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func private @inner(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
)";

std::string TextOf(const std::string& program) {
  dialect::Context context;
  const Result<dialect::OwnedModule> module = dialect::Parse(context, program);
  return module.ok() ? dialect::ToText(module->op()) : module.status().ToString();
}

// What becomes of the program when its partitioner answers so; and that it compiles.
Result<std::string> Applied(PartitionedCall answer, const char* program = kProgram) {
  Partitioners partitioners;
  partitioners["own"] = [&](auto, auto, auto) -> Result<PartitionedCall> { return answer; };
  TENON_ASSIGN_OR_RETURN(const std::optional<std::string> made, RunPartitioners(program, 4, partitioners));
  if (!made) return NotFound("there is no such call");
  CompileOptions options;
  options.num_partitions = 4;
  TENON_RETURN_IF_ERROR(Compile(*made, options).status());
  return TextOf(*made);
}

TEST(Partitioners, HearHowTheCallLies) {
  std::vector<PartitionedArray> seen;
  std::string key;
  Partitioners partitioners;
  partitioners["own"] = [&](std::span<const PartitionedArray> operands, std::span<const PartitionedArray> results,
                            std::string_view config) -> Result<PartitionedCall> {
    seen.assign(operands.begin(), operands.end());
    seen.insert(seen.end(), results.begin(), results.end());
    key = config;
    return Aborted("heard");
  };
  const Status status = RunPartitioners(kProgram, 4, partitioners).status();
  EXPECT_EQ(status.code(), Code::kAborted);
  EXPECT_NE(status.message().find("the partitioner of stablehlo.custom_call"), std::string::npos) << status.ToString();
  EXPECT_EQ(key, "key");
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(ToString(seen[0].shape), "f32[8,4]");
  EXPECT_EQ(seen[0].sharding, Sharding({2, 1, 2}, {0, 2, 1, 3}, true));
  EXPECT_EQ(ToString(seen[1].shape), "f32[4]");
  EXPECT_EQ(seen[1].sharding, Whole());
  EXPECT_EQ(seen[2].sharding, seen[0].sharding) << "the rule carries it to the result";
}

TEST(Partitioners, MayAnswerByTheMeshsAxes) {
  const std::string rows = Sharding({2, 1, 2}, {0, 2, 1, 3}, true);
  const Result<std::string> text = Applied({kBody, {rows, Whole()}, rows});
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_NE(text->find(R"(in_shardings=[<@mesh, [{"y"}, {}]>, <@mesh, [{}]>] out_shardings=[<@mesh, [{"y"}, {}]>])"),
            std::string::npos)
      << *text;
  EXPECT_NE(text->find("func.func private @partitioned_0_inner"), std::string::npos) << *text;
  EXPECT_EQ(text->find("custom_call"), std::string::npos) << *text;
}

TEST(Partitioners, MayAnswerByNoAxesOfTheMesh) {
  // Devices in an order of their own.
  const std::string rows = Sharding({2, 1, 2}, {3, 0, 1, 2}, true);
  const Result<std::string> text = Applied({kBody, {rows, Whole()}, rows});
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_NE(text->find(R"(device_ids=[0, 3, 1, 2])"), std::string::npos) << *text;
}

TEST(Partitioners, MayMakeSeveralResults) {
  constexpr const char* kPair = R"(
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = stablehlo.custom_call @own(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
})";
  constexpr const char* kHalves = R"(
func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<8xf32>) {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<8xf32>
  return %a, %0 : tensor<2xf32>, tensor<8xf32>
})";
  const std::string cut = Sharding({4}, {0, 1, 2, 3});
  const Result<std::string> text = Applied({kHalves, {cut}, Tuple({cut, Whole()})}, kPair);
  EXPECT_TRUE(text.ok()) << text.status().ToString();
}

TEST(Partitioners, MustFitTheirCalls) {
  const std::string rows = Sharding({2, 1, 2}, {0, 2, 1, 3}, true);
  const auto fails = [](PartitionedCall answer, std::string_view why) {
    const Result<std::string> text = Applied(std::move(answer));
    ASSERT_FALSE(text.ok()) << *text;
    EXPECT_NE(text.status().message().find(why), std::string::npos) << text.status().ToString();
  };
  fails({"no program", {rows, Whole()}, rows}, "");
  fails({kBody, {rows}, rows}, "got 1 operands' shardings, wanted 2");
  fails({kBody, {"\xff", Whole()}, rows}, "no serialized OpSharding");
  fails({kBody, {Sharding({2, 2}, {0, 1, 2}), Whole()}, rows}, "over 3 devices");
  fails({kBody, {Sharding({4}, {0, 1, 2, 3}), Whole()}, rows}, "a sharding of 1 dims for f32[8,4]");
  fails({kBody, {Sharding({4, 1}, {0, 1, 2, 2}), Whole()}, rows}, "device 2 of 4, or twice");
  fails({kBody, {Whole(), Whole()}, rows}, "the body has tensor<4x4xf32>");
  fails({kBody, {rows, Whole()}, Tuple({rows, rows})}, "got 2 results' shardings, wanted 1");
  fails({"func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> { return %a : tensor<4x4xf32> }",
         {rows, Whole()},
         rows},
        "takes 1 arrays and gives 1, wanted 2 and 1");
}

TEST(Partitioners, LeaveOtherProgramsAlone) {
  Partitioners partitioners;
  const auto never = [](auto, auto, auto) -> Result<PartitionedCall> { return Internal("asked"); };
  partitioners["inner"] = never;  // A name that occurs, though not as a call's.
  Result<std::optional<std::string>> made = RunPartitioners(kProgram, 4, partitioners);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_FALSE(made->has_value());
}

}  // namespace
}  // namespace tenon::compiler
