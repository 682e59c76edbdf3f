#include "tenon/plugin/compile_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <protozero/pbf_writer.hpp>
#include <sstream>

namespace tenon::plugin {
namespace {

using protozero::pbf_writer;

TEST(CompileOptions, Defaults) {
  Result<CompileOptions> o = DecodeCompileOptions("");
  ASSERT_TRUE(o.ok());
  EXPECT_EQ(o->num_replicas, 1);
  EXPECT_EQ(o->num_partitions, 1);
  EXPECT_EQ(o->device_ordinal, -1);
  EXPECT_TRUE(o->device_assignment.empty());
}

TEST(CompileOptions, EveryFieldThatMatters) {
  std::string bytes;
  {
    pbf_writer w(bytes);
    {
      pbf_writer shape(w, 1);
      shape.add_enum(2, 16);  // bf16, in PrimitiveType's counting
      int64_t dims[] = {2, 3}, order[] = {0, 1};
      shape.add_packed_int64(3, dims, dims + 2);
      pbf_writer layout(shape, 5);
      layout.add_packed_int64(1, order, order + 2);
    }
    w.add_bool(2, true);
    {
      pbf_writer b(w, 3);
      b.add_int64(1, -1);
      {
        pbf_writer debug(b, 3);
        debug.add_int32(31, 2);
        debug.add_bool(99, true);
        debug.add_string(109, "/tmp/x");
        debug.add_float(9000, 1.5f);
      }
      b.add_int64(4, 2);
      b.add_int64(5, 2);
      b.add_bool(6, true);
      {
        pbf_writer a(b, 9);
        a.add_int32(1, 2);
        a.add_int32(2, 2);
        for (auto [r0, r1] : {std::pair<int64_t, int64_t>(3, 2), {1, 0}}) {
          pbf_writer c(a, 3);
          int64_t replicas[] = {r0, r1};
          c.add_packed_int64(1, replicas, replicas + 2);
        }
      }
      bool flags[] = {true, false};
      b.add_packed_bool(12, flags, flags + 2);
      b.add_bool(18, true);  // Not packed: also legal.
      b.add_bool(19, true);
      b.add_int64(23, 1);
      b.add_enum(24, 19);
      b.add_bytes(4000, "skipped");
    }
    w.add_int64(5, -1);
    for (int kind = 1; kind <= 4; ++kind) {
      pbf_writer entry(w, 7);
      entry.add_string(1, "key" + std::to_string(kind));
      pbf_writer value(entry, 2);
      if (kind == 1) value.add_string(1, "text");
      if (kind == 2) value.add_bool(2, true);
      if (kind == 3) value.add_int64(3, -9);
      if (kind == 4) value.add_double(4, 0.5);
    }
    w.add_fixed32(500, 7);
    w.add_bytes(501, "skipped");
  }
  Result<CompileOptions> o = DecodeCompileOptions(bytes);
  ASSERT_TRUE(o.ok()) << o.status().ToString();
  ASSERT_EQ(o->argument_layouts.size(), 1u);
  EXPECT_EQ(ToString(o->argument_layouts[0]->shape), "bf16[2,3]");
  EXPECT_EQ(o->argument_layouts[0]->minor_to_major, (Dims{0, 1}));
  EXPECT_TRUE(o->parameters_are_tupled);
  EXPECT_EQ(o->num_replicas, 2);
  EXPECT_EQ(o->num_partitions, 2);
  EXPECT_EQ(o->device_assignment.at(0, 0), 3);  // The wire lists by partition; we by replica.
  EXPECT_EQ(o->device_assignment.at(0, 1), 1);
  EXPECT_EQ(o->device_assignment.at(1, 0), 2);
  EXPECT_EQ(o->propagate_sharding_to_outputs, (std::vector<bool>{true, false}));
  EXPECT_EQ(o->propagate_sharding_to_parameters, (std::vector<bool>{true}));
  EXPECT_TRUE(o->use_spmd_partitioning && o->use_shardy);
  EXPECT_EQ(o->optimization_level, 19);
  EXPECT_EQ(o->debug_integers.at(31), 2);
  EXPECT_EQ(o->debug_strings.at(109), "/tmp/x");
  EXPECT_EQ(std::get<std::string>(o->overrides.at("key1")), "text");
  EXPECT_EQ(std::get<bool>(o->overrides.at("key2")), true);
  EXPECT_EQ(std::get<int64_t>(o->overrides.at("key3")), -9);
  EXPECT_EQ(std::get<float>(o->overrides.at("key4")), 0.5f);
  EXPECT_EQ(o->serialized, bytes);
  EXPECT_EQ(SerializeDeviceAssignment(o->device_assignment),
            std::string("\x08\x02\x10\x02\x1a\x04\x0a\x02\x03\x02\x1a\x04\x0a\x02\x01\x00", 16));

  const OptionSpec known[] = {{"key1", ValueType::kString},
                              {"key2", ValueType::kBool},
                              {"key3", ValueType::kInt64},
                              {"key4", ValueType::kFloat}};
  EXPECT_TRUE(CheckOverrides(*o, known).ok());
  Status unknown = CheckOverrides(*o, {known, 3});
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  EXPECT_EQ(unknown.message(), "No such compile option: 'key4'");
  const OptionSpec wrong[] = {{"key1", ValueType::kInt64},
                              {"key2", ValueType::kBool},
                              {"key3", ValueType::kInt64},
                              {"key4", ValueType::kFloat}};
  EXPECT_EQ(CheckOverrides(*o, wrong).code(), Code::kInvalidArgument);

  // Truncated: an error or, where a field ends, fewer fields; never a crash. The same for flipped bits.
  for (size_t n = 0; n < bytes.size(); ++n) (void)DecodeCompileOptions(std::string_view(bytes).substr(0, n));
  for (size_t n = 0; n < bytes.size() * 8; ++n) {
    std::string damaged = bytes;
    damaged[n / 8] = static_cast<char>(damaged[n / 8] ^ (1 << (n % 8)));
    (void)DecodeCompileOptions(damaged);
  }
}

TEST(CompileOptions, Refusals) {
  for (std::string_view junk : {"junk\xff", "\x1a\x7f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}) {
    Result<CompileOptions> o = DecodeCompileOptions(junk);
    ASSERT_FALSE(o.ok());
    EXPECT_EQ(o.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(o.status().message(), "failed to deserialize CompileOptionsProto");
  }
  EXPECT_FALSE(DecodeCompileOptions(std::string_view("\x1a\x04\x20\x00\x28\x01", 6)).ok());  // No replicas.
  // One replica announced, an assignment of two.
  EXPECT_FALSE(DecodeCompileOptions(
                   std::string_view("\x1a\x0e\x20\x01\x28\x01\x4a\x0a\x08\x02\x10\x01\x1a\x04\x0a\x02\x00\x01", 16))
                   .ok());
}

// What JAX and the Go clients were seen to send.
TEST(CompileOptions, RecordedOptions) {
  const char* shared = std::getenv("TENON_SHARED");
  std::filesystem::path captures =
      std::filesystem::path(shared != nullptr ? shared : TENON_SHARED_DEFAULT) / "clients/captures";
  if (!std::filesystem::exists(captures)) GTEST_SKIP() << "no recorded options at " << captures;
  int read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(captures)) {
    if (entry.path().extension() != ".pb") continue;
    std::stringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    Result<CompileOptions> o = DecodeCompileOptions(bytes.str());
    EXPECT_TRUE(o.ok()) << entry.path() << ": " << o.status().ToString();
    if (o.ok()) {
      EXPECT_GE(o->num_replicas * o->num_partitions, 1) << entry.path();
    }
    ++read;
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace tenon::plugin
