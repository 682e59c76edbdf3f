// The wrappers of extensions that few plugins have, over the SDK's, and over tables that lack them or end early.
#include <cstring>

#include "tenon/abi/pjrt_profiler.h"
#include "tenon/abi/pjrt_raw_buffer.h"
#include "tenon/client/abi_version.h"
#include "tenon/client/host_allocator.h"
#include "tenon/client/layouts.h"
#include "tenon/client/phase_compile.h"
#include "tenon/client/profiler.h"
#include "tenon/client/raw_buffer.h"
#include "tenon/client/testing/fake.h"

namespace tenon::client {
namespace {

using testing::AlteredTable;
using ::testing::ElementsAre;
using testing::LiveExtensionObjects;

// Besides what FakeTest checks: the plugin got everything back.
class ExtensionsTest : public testing::FakeTest {
 protected:
  ~ExtensionsTest() override { EXPECT_EQ(LiveExtensionObjects(), live_before_); }
  int64_t live_before_ = LiveExtensionObjects();
};

// The fake plugin without extensions, and with a chain of which one ends early. Tables are never freed, as plugins.
Plugin WithoutExtensions() {
  static AlteredTable& altered = *new AlteredTable(testing::FakePlugin().api().raw(), PJRT_API_MINOR);
  altered.table.extension_start = nullptr;
  return Plugin::FromApi(&altered.table, "bare").value();
}

std::vector<float> Floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_F(ExtensionsTest, RawBuffersShareTheBytes) {
  Buffer buffer = Floats({1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(RawBuffer raw, RawBuffer::AliasOf(buffer));
  EXPECT_EQ(raw.OnDeviceSizeInBytes().value(), 16u);
  EXPECT_EQ(raw.GetMemory().value(), buffer.GetMemory().value());
  ASSERT_OK_AND_ASSIGN(void* const pointer, raw.HostPointer());
  EXPECT_EQ(static_cast<const float*>(pointer)[2], 3.0f);

  ASSERT_OK_AND_ASSIGN(auto future, raw.ReadAsync(4, 8));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes, std::move(future).Await());
  EXPECT_THAT(client::Floats(bytes), ElementsAre(2, 3));

  const float values[] = {8, 9};
  ASSERT_OK_AND_ASSIGN(const Event written, raw.CopyFromHost(std::as_bytes(std::span(values)), 8));
  EXPECT_OK(written.Await());
  EXPECT_THAT(buffer.ToHost<float>().value(), ElementsAre(1, 2, 8, 9));
}

TEST_F(ExtensionsTest, RawBuffersOutliveTheirBuffer) {
  Buffer buffer = Floats({1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(RawBuffer raw, RawBuffer::AliasOf(buffer));
  EXPECT_FAILS(std::move(client_).Close(), kFailedPrecondition, "alive");
  EXPECT_OK(buffer.Delete());
  buffer = Buffer();
  float value = 0;
  ASSERT_OK_AND_ASSIGN(const Event read, raw.CopyToHost(&value, 12, 4));
  EXPECT_OK(read.Await());
  EXPECT_EQ(value, 4.0f);
}

TEST_F(ExtensionsTest, RawBuffersTransferInTheBackground) {
  testing::SetScheduling(true);
  testing::SetRemoteMemory(true);
  {
    ASSERT_OK_AND_ASSIGN(const Client remote, plugin_.CreateClient());
    ASSERT_OK_AND_ASSIGN(const Device device, remote.device(0));
    const std::vector<float> values = {1, 2, 3, 4};
    ASSERT_OK_AND_ASSIGN(Buffer buffer, remote.ToDevice(values, {4}, device));
    ASSERT_OK_AND_ASSIGN(RawBuffer raw, RawBuffer::AliasOf(buffer));
    EXPECT_EQ(raw.HostPointer().value(), nullptr);
    const float nine = 9;
    ASSERT_OK_AND_ASSIGN(const Event written, raw.CopyFromHost(std::as_bytes(std::span(&nine, 1)), 0));
    EXPECT_FALSE(written.IsReady().value());
    testing::RunPending();
    EXPECT_OK(written.Await());
    ASSERT_OK_AND_ASSIGN(auto dropped, raw.ReadAsync(0, 16));  // the memory must outlive the Future
    {
      auto gone = std::move(dropped);
    }
    ASSERT_OK_AND_ASSIGN(auto future, raw.ReadAsync(0, 16));
    EXPECT_FALSE(future.IsReady().value());
    testing::RunPending();
    EXPECT_THAT(client::Floats(std::move(future).Await().value()), ElementsAre(9, 2, 3, 4));
  }
  testing::RunPending();
}

TEST_F(ExtensionsTest, RawBuffersRefuseWhatDoesNotFit) {
  Buffer buffer = Floats({1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(RawBuffer raw, RawBuffer::AliasOf(buffer));
  float value;
  EXPECT_FAILS(raw.CopyToHost(&value, 16, 4), kInvalidArgument, "16");
  EXPECT_FAILS(raw.ReadAsync(8, SIZE_MAX), kOutOfRange, "of 16");
  EXPECT_FAILS(raw.CopyFromHost(std::as_bytes(std::span(&value, 1)), 13), kInvalidArgument, "13");
  EXPECT_FAILS(RawBuffer::AliasOf(Buffer()), kFailedPrecondition, "empty");
  const RawBuffer moved = std::move(raw);
  EXPECT_FAILS(raw.OnDeviceSizeInBytes(), kFailedPrecondition, "moved from");  // NOLINT(bugprone-use-after-move)
  EXPECT_FAILS(raw.GetMemory(), kFailedPrecondition, "moved from");
  EXPECT_FAILS(raw.HostPointer(), kFailedPrecondition, "moved from");
  EXPECT_FAILS(raw.CopyToHost(&value, 0, 4), kFailedPrecondition, "moved from");
  EXPECT_FAILS(raw.CopyFromHost({}, 0), kFailedPrecondition, "moved from");
  EXPECT_OK(buffer.Delete());
  EXPECT_FAILS(RawBuffer::AliasOf(buffer), kInvalidArgument, "deleted");
}

TEST_F(ExtensionsTest, HostAllocationsAreAlignedAndFreed) {
  EXPECT_EQ(PreferredHostAlignment(client_).value(), 128u);
  ASSERT_OK_AND_ASSIGN(HostAllocation preferred, HostAllocation::Allocate(client_, 1000));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(preferred.data()) % 128, 0u);
  EXPECT_EQ(preferred.bytes().size(), 1000u);
  std::memset(preferred.data(), 1, preferred.size());
  ASSERT_OK_AND_ASSIGN(HostAllocation page, HostAllocation::Allocate(client_, 10, 4096));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(page.data()) % 4096, 0u);
  EXPECT_EQ(LiveExtensionObjects(), live_before_ + 2);
  page = std::move(preferred);
  EXPECT_EQ(LiveExtensionObjects(), live_before_ + 1);
  EXPECT_EQ(page.size(), 1000u);
  EXPECT_EQ(preferred.data(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_OK(HostAllocation::Allocate(client_, 0));
  EXPECT_FAILS(HostAllocation::Allocate(client_, 8, 48), kInvalidArgument, "power of two");
  EXPECT_FAILS(HostAllocation::Allocate(client_, size_t{1} << 50), kResourceExhausted, "no memory");
}

TEST_F(ExtensionsTest, PhasesRunOneAfterTheOther) {
  ASSERT_OK_AND_ASSIGN(PhaseCompiler compiler, PhaseCompiler::Create(plugin_));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> phases, compiler.PhaseNames());
  EXPECT_THAT(phases, ElementsAre("parse", "lower"));
  ASSERT_OK_AND_ASSIGN(const Topology topology, plugin_.CreateTopology("fake:2"));
  const PartialProgram programs[] = {{.code = "x"}, {.code = "y"}};
  ASSERT_OK_AND_ASSIGN(const std::vector<PartialProgram> parsed,
                       compiler.Run(programs, std::span(phases).first(1), topology));
  EXPECT_THAT(parsed, ElementsAre(PartialProgram{.code = "parse(x)", .made_by = "parse", .next_phases = {"lower"}},
                                  PartialProgram{.code = "parse(y)", .made_by = "parse", .next_phases = {"lower"}}));
  ASSERT_OK_AND_ASSIGN(const std::vector<PartialProgram> both, compiler.Run(programs, phases, topology));
  EXPECT_EQ(both[1].code, "lower(parse(y))");

  const std::string unknown[] = {"polish"};
  EXPECT_FAILS(compiler.Run(programs, unknown, topology), kInvalidArgument, "no phase 'polish', only 'parse', 'lower'");
  const std::string backwards[] = {"lower", "parse"};
  EXPECT_FAILS(compiler.Run(programs, backwards, topology), kInvalidArgument, "'parse' does not follow 'lower'");
  const std::string garbage[] = {"\xff\xff"};
  EXPECT_FAILS(compiler.RunSerialized(garbage, phases, topology), kInvalidArgument, "partial program");
  EXPECT_FAILS(compiler.Run(programs, phases, topology, CompileOptions().SetReplicas(0)), kInvalidArgument, "replicas");
  const Plugin bare = WithoutExtensions();
  ASSERT_OK_AND_ASSIGN(const Topology foreign, bare.CreateTopology("fake:2"));
  EXPECT_FAILS(compiler.Run(programs, phases, foreign), kInvalidArgument, "bare");
  const PhaseCompiler moved = std::move(compiler);
  EXPECT_FAILS(compiler.PhaseNames(), kFailedPrecondition, "moved from");  // NOLINT(bugprone-use-after-move)
}

TEST_F(ExtensionsTest, PartialProgramsAreWrittenAsProtos) {
  const PartialProgram program{"code", "hlo", "parse", {"lower", "emit"}, "3"};
  const std::string bytes = program.Serialize();
  EXPECT_EQ(bytes,
            "\x0a\x04"
            "code"
            "\x12\x03"
            "hlo"
            "\x1a\x05"
            "parse"
            "\x22\x05"
            "lower"
            "\x22\x04"
            "emit"
            "\x2a\x01"
            "3");
  EXPECT_EQ(PartialProgram::Parse(bytes).value(), program);
  EXPECT_EQ(PartialProgram::Parse(bytes + "\x32\x01z\x38\x05").value(), program);  // fields that newer plugins have
  EXPECT_FAILS(PartialProgram::Parse(std::string_view(bytes).substr(0, 3)), kDataLoss, "PjRtPartialProgramProto");
}

TEST_F(ExtensionsTest, AbiVersionsTellWhatRuns) {
  ASSERT_OK_AND_ASSIGN(RuntimeAbiVersion runtime, RuntimeAbiVersion::Of(client_));
  const LoadedExecutable loaded = Compile("add");
  ASSERT_OK_AND_ASSIGN(ExecutableAbiVersion executable, ExecutableAbiVersion::Of(loaded.executable()));
  EXPECT_EQ(runtime.PlatformId().value(), executable.PlatformId().value());
  EXPECT_OK(runtime.IsCompatibleWith(executable));
  EXPECT_OK(runtime.IsCompatibleWith(runtime));

  // "fake 1" is the version of the plugin that compiled: another one of as many letters stands for a newer plugin.
  const auto newer_than = [](std::string bytes) { return bytes.replace(bytes.find("fake 1"), 6, "fake 2"); };
  ASSERT_OK_AND_ASSIGN(const std::string bytes, runtime.ToProto());
  ASSERT_OK_AND_ASSIGN(const RuntimeAbiVersion again, RuntimeAbiVersion::FromProto(plugin_, bytes));
  EXPECT_OK(again.IsCompatibleWith(runtime));
  EXPECT_EQ(again.PlatformId().value(), runtime.PlatformId().value());
  ASSERT_OK_AND_ASSIGN(const RuntimeAbiVersion newer, RuntimeAbiVersion::FromProto(plugin_, newer_than(bytes)));
  EXPECT_FAILS(newer.IsCompatibleWith(runtime), kFailedPrecondition, "needs version 'fake 1', this runtime offers");
  EXPECT_FAILS(newer.IsCompatibleWith(executable), kFailedPrecondition, "offers 'fake 2'");
  const std::string other_bytes = newer_than(executable.ToProto().value());
  ASSERT_OK_AND_ASSIGN(const ExecutableAbiVersion other, ExecutableAbiVersion::FromProto(plugin_, other_bytes));
  EXPECT_EQ(other.ToProto().value(), other_bytes);
  EXPECT_FAILS(runtime.IsCompatibleWith(other), kFailedPrecondition, "needs version 'fake 2'");
  EXPECT_OK(newer.IsCompatibleWith(other));
  EXPECT_FAILS(RuntimeAbiVersion::FromProto(plugin_, "\xff"), kInvalidArgument, "no serialized ABI version");
  EXPECT_FAILS(ExecutableAbiVersion::FromProto(plugin_, ""), kInvalidArgument, "another plugin's");

  // Versions of two plugins, and ones that went away.
  static AlteredTable& second = *new AlteredTable(plugin_.api().raw(), PJRT_API_MINOR);
  ASSERT_OK_AND_ASSIGN(const Plugin twin, Plugin::FromApi(&second.table, "twin"));
  ASSERT_OK_AND_ASSIGN(const RuntimeAbiVersion foreign, RuntimeAbiVersion::FromProto(twin, bytes));
  EXPECT_FAILS(runtime.IsCompatibleWith(foreign), kInvalidArgument, "twin");
  const RuntimeAbiVersion taken = std::move(runtime);
  EXPECT_FAILS(runtime.ToProto(), kFailedPrecondition, "moved from");  // NOLINT(bugprone-use-after-move)
  EXPECT_FAILS(taken.IsCompatibleWith(runtime), kFailedPrecondition, "moved from");
  const ExecutableAbiVersion held = std::move(executable);
  EXPECT_FAILS(executable.ToProto(), kFailedPrecondition, "moved from");  // NOLINT(bugprone-use-after-move)
  EXPECT_FAILS(taken.IsCompatibleWith(executable), kFailedPrecondition, "moved from");
}

TEST(Extensions, ProfilesCanBeConsumed) {
  // The fake plugin's profiler ends before these entries; here they are.
  const Api& api = testing::FakePlugin().api();
  const auto* const extension =
      reinterpret_cast<const PJRT_Profiler_Extension*>(api.FindExtension(PJRT_Extension_Type_Profiler));
  static PLUGIN_Profiler_Api profiler;
  std::memset(&profiler, 0, sizeof(profiler));
  std::memcpy(&profiler, extension->profiler_api, extension->profiler_api->struct_size);
  profiler.struct_size = PLUGIN_Profiler_Api_STRUCT_SIZE;
  static int results = 0;
  profiler.consume = [](PLUGIN_Profiler_Consume_Args* args) -> PLUGIN_Profiler_Error* {
    ++results;
    args->result = reinterpret_cast<PLUGIN_Profiler_ConsumeResult*>(&results);
    return nullptr;
  };
  profiler.serialize = [](PLUGIN_Profiler_Serialize_Args* args) -> PLUGIN_Profiler_Error* {
    static const uint8_t bytes[] = {'x', 0, 'y'};
    if (args->consume_result != reinterpret_cast<PLUGIN_Profiler_ConsumeResult*>(&results)) return nullptr;
    args->serialized_bytes = bytes;
    args->serialized_size = 3;
    return nullptr;
  };
  profiler.consume_result_destroy = [](PLUGIN_Profiler_ConsumeResult_Destroy_Args*) { --results; };
  static PJRT_Profiler_Extension changed = *extension;
  changed.profiler_api = &profiler;
  changed.base.next = nullptr;
  static AlteredTable& altered = *new AlteredTable(api.raw(), PJRT_API_MINOR);
  altered.table.extension_start = &changed.base;
  ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::FromApi(&altered.table, "consumes"));
  ASSERT_OK_AND_ASSIGN(Profiler newer, Profiler::Create(plugin));
  EXPECT_EQ(newer.Consume().value(), std::string("x\0y", 3));
  EXPECT_EQ(results, 0);
  ASSERT_OK_AND_ASSIGN(Profiler older, Profiler::Create(testing::FakePlugin()));
  EXPECT_FAILS(older.Consume(), kUnimplemented, "consume");
  const Profiler taken = std::move(older);
  EXPECT_FAILS(older.Start(), kFailedPrecondition, "moved from");  // NOLINT(bugprone-use-after-move)
  EXPECT_FAILS(older.Stop(), kFailedPrecondition, "moved from");
  EXPECT_FAILS(older.Collect(), kFailedPrecondition, "moved from");
  EXPECT_FAILS(older.Consume(), kFailedPrecondition, "moved from");
}

TEST(Extensions, AbsenceIsNamed) {
  const Plugin bare = WithoutExtensions();
  ASSERT_OK_AND_ASSIGN(const Client client, bare.CreateClient());
  ASSERT_OK_AND_ASSIGN(const Buffer buffer, client.ScalarToDevice(1.0f));
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable loaded, client.Compile("add"));
  EXPECT_FAILS(RawBuffer::AliasOf(buffer), kUnimplemented, "bare does not have PJRT_RawBuffer_CreateRawAliasOfBuffer");
  EXPECT_FAILS(RawBuffer::AliasOf(buffer), kUnimplemented, "it lacks the extension RawBuffer");
  EXPECT_FAILS(PreferredHostAlignment(client), kUnimplemented, "it lacks the extension HostAllocator");
  EXPECT_FAILS(HostAllocation::Allocate(client, 8, 8), kUnimplemented, "it lacks the extension HostAllocator");
  EXPECT_FAILS(PhaseCompiler::Create(bare), kUnimplemented, "it lacks the extension PhaseCompile");
  EXPECT_FAILS(RuntimeAbiVersion::Of(client), kUnimplemented, "it lacks the extension AbiVersion");
  EXPECT_FAILS(ExecutableAbiVersion::Of(loaded.executable()), kUnimplemented, "it lacks the extension AbiVersion");
  EXPECT_FAILS(RuntimeAbiVersion::FromProto(bare, ""), kUnimplemented, "it lacks the extension AbiVersion");
}

TEST(Extensions, ShortStructsAreNotReadPastTheirEnd) {
  // A raw buffer extension that ends before GetHostPointer, as older plugins have it. What follows it must not be read.
  static struct {
    PJRT_RawBuffer_Extension extension;
  } cut;
  const Api& api = testing::FakePlugin().api();
  cut.extension = *reinterpret_cast<const PJRT_RawBuffer_Extension*>(api.FindExtension(PJRT_Extension_Type_RawBuffer));
  cut.extension.base.struct_size = offsetof(PJRT_RawBuffer_Extension, PJRT_RawBuffer_GetHostPointer);
  static AlteredTable& altered = *new AlteredTable(api.raw(), PJRT_API_MINOR);
  altered.table.extension_start = &cut.extension.base;
  ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::FromApi(&altered.table, "old"));
  ASSERT_OK_AND_ASSIGN(const Client client, plugin.CreateClient());
  ASSERT_OK_AND_ASSIGN(const Buffer buffer, client.ScalarToDevice(1.0f));
  ASSERT_OK_AND_ASSIGN(const RawBuffer raw, RawBuffer::AliasOf(buffer));
  EXPECT_EQ(raw.OnDeviceSizeInBytes().value(), 4u);
  EXPECT_FAILS(raw.HostPointer(), kUnimplemented, "extension RawBuffer is too old or leaves it out");
}

TEST_F(ExtensionsTest, ClosedClientsAreErrors) {
  ASSERT_OK_AND_ASSIGN(Client client, plugin_.CreateClient());
  ASSERT_OK_AND_ASSIGN(Topology topology, client.GetTopology());
  const Topology same = std::move(topology);
  EXPECT_OK(topology.PlatformName());  // NOLINT(bugprone-use-after-move): moves are copies
  const Client taken = std::move(client);
  const Shape shape{DType::kF32, {2}};
  EXPECT_FAILS(DefaultLayout(client, shape), kFailedPrecondition, "moved from");  // NOLINT(bugprone-use-after-move)
  EXPECT_FAILS(RuntimeAbiVersion::Of(client), kFailedPrecondition, "moved from");
  EXPECT_FAILS(PreferredHostAlignment(client), kFailedPrecondition, "moved from");
  EXPECT_FAILS(HostAllocation::Allocate(client, 8, 64), kFailedPrecondition, "moved from");
  EXPECT_FAILS(same.Compile(Program::Mlir("echo"), {}, &client), kFailedPrecondition, "moved from");
}

}  // namespace
}  // namespace tenon::client
