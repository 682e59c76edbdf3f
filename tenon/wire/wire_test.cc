#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tenon/wire/codec.h"

namespace tenon::wire {
namespace {

using ::testing::HasSubstr;

Execute SomeExecution() {
  Execute e;
  e.executable = 7;
  e.launch_id = -3;
  e.call_location = "file.py:12";
  DeviceRun run;
  run.device = 2;
  for (uint64_t i = 0; i < 20; ++i) run.arguments.push_back({i, {1, 64 * i}, 0, i % 2 == 0});
  run.outputs.push_back({100, {0, 0}, 4096});
  e.devices.push_back(run);
  return e;
}

Executable SomeExecutable() {
  Executable e;
  e.number = 5;
  e.name = "jit_f";
  e.parameters.push_back({{11, {2, 3}, {0, 1}}, "device", true});
  e.cost.push_back({"flops", 12.5F});
  e.cost.push_back({"list", std::vector<int64_t>{1, 2}});
  e.cost.push_back({"text", std::string("x")});
  e.cost.push_back({"flag", true});
  e.memory = {1, 2, 3, 4, 5, 6, 7};
  return e;
}

TEST(Codec, RecordsSurvive) {
  const Execute e = SomeExecution();
  Result<Execute> read = Decode<Execute>(Encode(e));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, e);
  const Executable x = SomeExecutable();
  Result<Executable> read_x = Decode<Executable>(Encode(x));
  ASSERT_TRUE(read_x.ok()) << read_x.status().ToString();
  EXPECT_EQ(*read_x, x);
}

// Every prefix of a message is refused, and names a field.
TEST(Codec, TruncationIsAnError) {
  const std::string bytes = Encode(SomeExecutable());
  for (size_t n = 0; n < bytes.size(); ++n) {
    const Result<Executable> read = Decode<Executable>(std::string_view(bytes).substr(0, n));
    ASSERT_FALSE(read.ok()) << n;
    EXPECT_EQ(read.status().code(), Code::kDataLoss);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("field '"));
  }
  EXPECT_FALSE(Decode<Executable>(bytes + "x").ok());
}

TEST(Codec, CountsAreChecked) {
  Drop drop;
  drop.arrays = {1, 2, 3};
  std::string bytes = Encode(drop);
  bytes[0] = '\xff';
  bytes[3] = '\x7f';  // two billion numbers
  EXPECT_THAT(std::string(Decode<Drop>(bytes).status().message()), HasSubstr("more elements than"));
}

// Records without elements take many times their bytes: so many of them are refused, a few are not.
TEST(Codec, MemoryIsBounded) {
  Execute e;
  e.devices.resize(1000);
  EXPECT_TRUE(Decode<Execute>(Encode(e)).ok());
  e.devices.resize(100000);
  const std::string bytes = Encode(e);
  EXPECT_THAT(std::string(Decode<Execute>(bytes).status().message()), HasSubstr("more memory than its message may"));
  // What is used has elements.
  for (DeviceRun& run : e.devices) {
    run.arguments.push_back({1, {}, 0, false});
    run.outputs.push_back({2, {}, 16});
  }
  uint64_t memory = 0;
  EXPECT_TRUE(Decode<Execute>(Encode(e), UINT64_MAX, &memory).ok());
  EXPECT_GE(memory, e.devices.size() * sizeof(DeviceRun));
  EXPECT_FALSE(Decode<Execute>(Encode(e), memory - 1).ok());
  EXPECT_TRUE(Decode<Execute>(Encode(e), memory).ok());
}

TEST(Codec, NestingIsBounded) {
  HandlerAttribute a;
  for (int i = 0; i < 100; ++i) {
    HandlerAttribute outer;
    outer.members.push_back(std::move(a));
    a = std::move(outer);
  }
  EXPECT_THAT(std::string(Decode<HandlerAttribute>(Encode(a)).status().message()), HasSubstr("nested too deeply"));
}

// Bytes that were damaged are read as something else or refused; nothing worse.
TEST(Codec, DamageIsHarmless) {
  std::mt19937 random(1);
  const std::string good = Encode(SomeExecutable());
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    (void)Decode<Executable>(bytes);
    (void)Dump(static_cast<Verb>(random() % 70), bytes);
  }
}

// However long they are, messages take only so much more than their own bytes, and less to be shown.
TEST(Codec, LongMessagesOfNothingAreRefused) {
  Executed m;
  m.values.resize(uint32_t{8} << 20);
  const std::string bytes = Encode(m);
  m = {};
  uint64_t memory_bytes = 0;
  const Result<Executed> read = Decode<Executed>(bytes, UINT64_MAX, &memory_bytes);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("takes more memory than its message may"));
  EXPECT_LE(memory_bytes, bytes.size() + (uint64_t{128} << 20));
  EXPECT_THAT(Dump(Verb::kExecuted, Encode(Executed{0, {}, {}, std::vector<std::string>(100000)})),
              HasSubstr("takes more memory"));
}

TEST(Codec, Text) {
  EXPECT_THAT(Dump(Verb::kExecute, Encode(SomeExecution())), HasSubstr("Execute{executable=7, launch_id=-3"));
  EXPECT_THAT(Dump(Verb::kExecute, "x"), HasSubstr("ends early"));
  EXPECT_THAT(Dump(static_cast<Verb>(60), "x"), HasSubstr("unknown message 60"));
  EXPECT_STREQ(VerbName(Verb::kAnswer), "Answer");
}

TEST(Messages, StatusCrosses) {
  EXPECT_TRUE(ToStatus(FromStatus(OkStatus())).ok());
  const Status error = ToStatus(FromStatus(NotFound("no x")));
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_EQ(error.message(), "no x");
  EXPECT_EQ(ToStatus({999, "x"}).code(), Code::kUnknown);
}

}  // namespace
}  // namespace tenon::wire
