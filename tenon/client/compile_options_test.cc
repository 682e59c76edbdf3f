#include "tenon/client/compile_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace tenon::client {
namespace {

// A protobuf reader of ten lines, so that the oracle shares nothing with what wrote the bytes: fields by number,
// varints as decimal, the rest as bytes.
std::multimap<int, std::string> Fields(std::string_view bytes) {
  std::multimap<int, std::string> fields;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.size()) {
    const uint64_t key = varint();
    const int field = static_cast<int>(key >> 3);
    if ((key & 7) == 0) {
      fields.emplace(field, std::to_string(static_cast<int64_t>(varint())));
    } else if ((key & 7) == 2) {
      const uint64_t size = varint();
      fields.emplace(field, bytes.substr(at, size));
      at += size;
    } else {
      fields.emplace(field, bytes.substr(at, 8));
      at += 8;
    }
  }
  return fields;
}
std::string One(const std::multimap<int, std::string>& fields, int field) {
  EXPECT_EQ(fields.count(field), 1u) << "field " << field;
  return fields.count(field) == 0 ? "" : fields.find(field)->second;
}

class CompileOptionsTest : public ::testing::Test {
 protected:
  CompileOptionsTest() { ::unsetenv("XLA_DEBUG_OPTIONS"); }
  ~CompileOptionsTest() override { ::unsetenv("XLA_DEBUG_OPTIONS"); }
};

TEST_F(CompileOptionsTest, TheLeastThatPluginsTake) {
  const auto top = Fields(CompileOptions().Serialize().value());
  EXPECT_EQ(top.size(), 1u);
  const auto build = Fields(One(top, 3));
  EXPECT_EQ(One(build, 1), "-1");
  EXPECT_EQ(One(build, 4), "1");
  EXPECT_EQ(One(build, 5), "1");
  EXPECT_EQ(build.size(), 3u);
}

// The numbers of a packed field of small varints.
std::vector<int> Packed(const std::string& bytes) { return {bytes.begin(), bytes.end()}; }

TEST_F(CompileOptionsTest, LayoutsOfArgumentsAndResults) {
  const ArrayLayout tiled{{DType::kBF16, {8, 16}}, TiledLayout{{0, 1}, {{8, 128}, {2, 1}}}};
  const ArrayLayout free{{DType::kF8E4M3FN, {3}}};
  const ArrayLayout scalar{{DType::kS32, {}}, TiledLayout{}};
  const auto top =
      Fields(CompileOptions().SetArgumentLayouts({tiled, scalar}).SetResultLayouts({free, tiled}).Serialize().value());
  ASSERT_EQ(top.count(1), 2u);
  const auto check_tiled = [](const std::string& bytes) {
    const auto shape = Fields(bytes);
    EXPECT_EQ(One(shape, 2), "16");  // BF16
    EXPECT_EQ(Packed(One(shape, 3)), (std::vector<int>{8, 16}));
    const auto layout = Fields(One(shape, 5));
    EXPECT_EQ(Packed(One(layout, 1)), (std::vector<int>{0, 1}));
    ASSERT_EQ(layout.count(6), 2u);
    auto tile = layout.find(6);
    EXPECT_EQ(One(Fields((tile++)->second), 1), "\x08\x80\x01");
    EXPECT_EQ(One(Fields(tile->second), 1), "\x02\x01");
    EXPECT_EQ(shape.size(), 3u);
  };
  auto argument = top.find(1);
  check_tiled((argument++)->second);
  const auto number = Fields(argument->second);
  EXPECT_EQ(One(number, 2), "4");  // S32
  EXPECT_EQ(One(number, 5), "");
  EXPECT_EQ(number.size(), 2u);

  const auto tuple = Fields(One(Fields(One(top, 3)), 2));
  EXPECT_EQ(One(tuple, 2), "13");  // TUPLE
  ASSERT_EQ(tuple.count(4), 2u);
  auto element = tuple.find(4);
  const auto first = Fields((element++)->second);
  EXPECT_EQ(One(first, 2), "20");  // F8E4M3FN
  EXPECT_EQ(Packed(One(first, 3)), (std::vector<int>{3}));
  EXPECT_EQ(first.size(), 2u);
  check_tiled(element->second);

  // One result is no tuple.
  const auto single = Fields(CompileOptions().SetResultLayouts({tiled}).Serialize().value());
  check_tiled(One(Fields(One(single, 3)), 2));
}

TEST_F(CompileOptionsTest, LayoutsThatDoNotFitAreRefused) {
  const Shape matrix{DType::kF32, {2, 3}};
  for (const TiledLayout& bad : {TiledLayout{{0}, {}}, TiledLayout{{0, 0}, {}}, TiledLayout{{1, 2}, {}}}) {
    EXPECT_EQ(CompileOptions().SetArgumentLayouts({{matrix, bad}}).Serialize().status().code(), Code::kInvalidArgument);
    EXPECT_EQ(CompileOptions().SetResultLayouts({{matrix, bad}}).Serialize().status().code(), Code::kInvalidArgument);
  }
  const auto unknown = CompileOptions().SetArgumentLayouts({{{DType::kF6E2M3FN, {2}}}}).Serialize();
  EXPECT_EQ(unknown.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.status().message()), ::testing::HasSubstr("f6e2m3fn"));
  EXPECT_FALSE(CompileOptions().SetArgumentLayouts({{{DType::kF32, {-1}}}}).Serialize().ok());
}

TEST_F(CompileOptionsTest, EveryField) {
  const auto bytes = CompileOptions()
                         .SetDeviceAssignment({2, 2, {0, 1, 2, 3}})
                         .SetSpmd()
                         .SetPortable()
                         .SetOptimization(CompileOptions::Effort::kO2)
                         .SetMemoryFitting(CompileOptions::Effort::kO0)
                         .SetPropagateShardingToParameters({true, false})
                         .SetPropagateShardingToOutputs({true})
                         .SetDeviceMemorySize(1 << 20)
                         .SetProcess(1, 4)
                         .SetProfileVersion(7)
                         .Set("flag", true)
                         .Set("level", 3)
                         .Set("ratio", 0.5)
                         .Set("name", "x")
                         .SetDebugField(333, "AVX2")
                         .SetDebugField(99, 1)
                         .Serialize();
  ASSERT_TRUE(bytes.ok());
  const auto top = Fields(*bytes);
  EXPECT_EQ(One(top, 4), "1");
  EXPECT_EQ(One(top, 5), "7");
  const auto build = Fields(One(top, 3));
  EXPECT_EQ(One(build, 4), "2");
  EXPECT_EQ(One(build, 5), "2");
  EXPECT_EQ(One(build, 6), "1");
  EXPECT_EQ(One(build, 12), std::string("\1", 1));
  EXPECT_EQ(One(build, 15), "1048576");
  EXPECT_EQ(One(build, 18), std::string("\1\0", 2));
  EXPECT_EQ(One(build, 19), "1");
  EXPECT_EQ(One(build, 22), "1");
  EXPECT_EQ(One(build, 23), "4");
  EXPECT_EQ(One(build, 24), "29");
  EXPECT_EQ(One(build, 25), "9");
  const auto debug = Fields(One(build, 3));
  EXPECT_EQ(One(debug, 333), "AVX2");
  EXPECT_EQ(One(debug, 99), "1");
  // One entry per partition, with the device of every replica.
  const auto assignment = Fields(One(build, 9));
  EXPECT_EQ(One(assignment, 1), "2");
  EXPECT_EQ(One(assignment, 2), "2");
  std::vector<std::string> computations;
  for (auto [it, end] = assignment.equal_range(3); it != end; ++it) computations.push_back(One(Fields(it->second), 1));
  EXPECT_THAT(computations, ::testing::ElementsAre(std::string("\0\2", 2), std::string("\1\3", 2)));
  std::map<std::string, std::multimap<int, std::string>> overrides;
  for (auto [it, end] = top.equal_range(7); it != end; ++it) {
    const auto entry = Fields(it->second);
    overrides[One(entry, 1)] = Fields(One(entry, 2));
  }
  EXPECT_EQ(One(overrides["flag"], 2), "1");
  EXPECT_EQ(One(overrides["level"], 3), "3");
  EXPECT_EQ(One(overrides["name"], 1), "x");
  EXPECT_EQ(One(overrides["ratio"], 4), std::string("\0\0\0\0\0\0\xe0\x3f", 8));
}

TEST_F(CompileOptionsTest, DebugOptionsOfTheEnvironment) {
  ::setenv("XLA_DEBUG_OPTIONS",
           "xla_cpu_enable_fast_math: true, xla_dump_to: \"/tmp/a b\" xla_backend_optimization_level: 2", 1);
  const auto debug = Fields(One(Fields(One(Fields(CompileOptions().Serialize().value()), 3)), 3));
  EXPECT_EQ(One(debug, 99), "1");
  EXPECT_EQ(One(debug, 109), "/tmp/a b");
  EXPECT_EQ(One(debug, 31), "2");
  // Explicit values win; explicit text replaces the environment's.
  const auto explicit_field =
      Fields(One(Fields(One(Fields(CompileOptions().SetDebugField(31, 0).Serialize().value()), 3)), 3));
  EXPECT_EQ(One(explicit_field, 31), "0");
  EXPECT_EQ(Fields(One(Fields(CompileOptions().SetDebugOptions("").Serialize().value()), 3)).count(3), 0u);
}

TEST_F(CompileOptionsTest, FlagsAsInXlaFlags) {
  const auto top = Fields(CompileOptions()
                              .SetDebugOptions("--xla_cpu_multi_thread_eigen=false --xla_new_thing=5 --xla_switch")
                              .Serialize()
                              .value());
  EXPECT_EQ(One(Fields(One(Fields(One(top, 3)), 3)), 60), "0");
  EXPECT_EQ(top.count(7), 2u);  // flags whose number is not known go by name
  EXPECT_FALSE(CompileOptions().SetDebugOptions("xla_cpu_enable_fast_math=maybe").Serialize().ok());
  EXPECT_FALSE(CompileOptions().SetDebugOptions("xla_backend_optimization_level=high").Serialize().ok());
  EXPECT_FALSE(CompileOptions().SetDebugOptions("xla_dump_to=\"open").Serialize().ok());
}

TEST_F(CompileOptionsTest, Mistakes) {
  EXPECT_FALSE(CompileOptions().SetReplicas(0).Serialize().ok());
  EXPECT_FALSE(CompileOptions().SetPartitions(-1).Serialize().ok());
  EXPECT_FALSE(CompileOptions().SetDeviceAssignment({2, 1, {0}}).Serialize().ok());
  EXPECT_FALSE(CompileOptions().SetDeviceAssignment({2, 1, {0, 1}}).SetReplicas(1).Serialize().ok());
}

TEST_F(CompileOptionsTest, DeviceAssignmentsComeBack) {
  const DeviceAssignment assignment{2, 3, {0, 1, 2, 3, 4, 5}};
  EXPECT_EQ(ParseDeviceAssignment(Serialize(assignment)).value(), assignment);
  EXPECT_EQ(assignment.at(1, 0), 3);
  for (const std::string& junk : {std::string("\xff\xff"), std::string("\x08\x02\x10\x01"), std::string("\x1a\x7f")}) {
    EXPECT_FALSE(ParseDeviceAssignment(junk).ok());
  }
}

}  // namespace
}  // namespace tenon::client
