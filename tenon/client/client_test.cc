#include "tenon/client/client.h"

#include "tenon/client/ffi.h"
#include "tenon/client/layouts.h"
#include "tenon/client/log_suppression.h"
#include "tenon/client/profiler.h"
#include "tenon/client/testing/fake.h"

namespace tenon::client {
namespace {

using testing::AlteredTable;
class ClientTest : public testing::FakeTest {};

TEST_F(ClientTest, PlatformDevicesAndMemories) {
  EXPECT_EQ(client_.PlatformName().value(), "fake");
  EXPECT_EQ(client_.PlatformVersion().value(), "fake 1");
  EXPECT_EQ(client_.ProcessIndex().value(), 0);
  EXPECT_TRUE(client_.plugin() == plugin_);
  EXPECT_THAT(client_.ToString(), ::testing::StartsWith("fake, 2 devices, process 0, by fake (PJRT 0.117, /"));
  ASSERT_OK_AND_ASSIGN(const std::vector<Device> devices, client_.Devices());
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(client_.AddressableDevices()->size(), 2u);
  EXPECT_EQ(client_.AddressableMemories()->size(), 4u);
  const Device& device = devices[1];
  EXPECT_EQ(device.id().value(), 1);
  EXPECT_EQ(device.kind().value(), "fake");
  EXPECT_TRUE(device.IsAddressable().value());
  EXPECT_EQ(device.LocalHardwareId().value(), 1);
  EXPECT_FALSE(device.ToString()->empty());
  EXPECT_FALSE(device.DebugString()->empty());
  EXPECT_EQ(client_.LookupDevice(1).value(), device);
  EXPECT_EQ(client_.LookupAddressableDevice(1).value(), device);
  EXPECT_EQ(client_.IndexOf(device).value(), 1u);
  EXPECT_FAILS(client_.LookupDevice(9), kInvalidArgument, "9");
  EXPECT_FAILS(client_.device(2), kOutOfRange, "there are 2");
  ASSERT_OK_AND_ASSIGN(const DeviceDescription description, device.Description());
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedValue> attributes, description.Attributes());
  ASSERT_NE(Find(attributes, "color"), nullptr);
  EXPECT_EQ(ToString(*Find(attributes, "color")), "blue");
  EXPECT_EQ(ToString(*Find(attributes, "coords")), "[1, 0]");
  EXPECT_EQ(description.process_index().value(), 0);
  ASSERT_OK_AND_ASSIGN(const auto kinds, description.MemoryKinds());
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].kind, "device");
  EXPECT_TRUE(kinds[0].is_default);
  EXPECT_FALSE(kinds[1].is_default);
  EXPECT_TRUE(device.Attributes().ok());

  ASSERT_OK_AND_ASSIGN(const Memory memory, device.DefaultMemory());
  EXPECT_EQ(memory.kind().value(), "device");
  EXPECT_EQ(memory.id().value(), 2);
  EXPECT_EQ(memory.kind_id().value(), kinds[0].kind_id);
  EXPECT_FALSE(memory.ToString()->empty());
  EXPECT_FALSE(memory.DebugString()->empty());
  EXPECT_EQ(memory.AddressableByDevices()->at(0), device);
  EXPECT_EQ(device.AddressableMemories()->size(), 2u);
  EXPECT_FAILS(device.MemoryOfKind("hbm"), kNotFound, "device, pinned_host");
}

TEST_F(ClientTest, MemoryStatsAndPoison) {
  ASSERT_OK_AND_ASSIGN(const Device device, client_.device(0));
  ASSERT_OK_AND_ASSIGN(const MemoryStats stats, device.GetMemoryStats());
  EXPECT_EQ(stats.bytes_in_use, 123);
  EXPECT_EQ(stats.bytes_limit, 456);
  EXPECT_EQ(stats.peak_allocated_bytes, 789);
  EXPECT_EQ(stats.pool_bytes, std::nullopt);
  EXPECT_TRUE(device.PoisonExecution(5, Aborted("x")).value());
  EXPECT_FALSE(device.PoisonExecution(6, Aborted("x")).value());
  EXPECT_FAILS(device.PoisonExecution(5, OkStatus()), kInvalidArgument, "needs an error");
  (void)device.ClearMemoryStats();
  (void)device.StartTrackingScope("step");
}

TEST_F(ClientTest, DefaultDeviceAssignment) {
  ASSERT_OK_AND_ASSIGN(const DeviceAssignment assignment, client_.DefaultDeviceAssignment(2, 1));
  EXPECT_THAT(assignment.ids, ::testing::ElementsAre(0, 1));
  EXPECT_FAILS(client_.DefaultDeviceAssignment(0, 1), kInvalidArgument, "0 replicas");
}

// NOLINTBEGIN(bugprone-use-after-move): a client that could not be closed is still there.
TEST_F(ClientTest, ClosesOnlyWhenNothingIsAlive) {
  ASSERT_OK_AND_ASSIGN(Client other, plugin_.CreateClient());
  {
    ASSERT_OK_AND_ASSIGN(const Buffer b, other.ToDevice(std::vector<float>{1}, {1}));
    EXPECT_EQ(other.live_objects().buffers, 1);
    EXPECT_FAILS(std::move(other).Close(), kFailedPrecondition, "1 buffer");
  }
  {
    const Device device = other.device(0).value();
    EXPECT_FAILS(std::move(other).Close(), kFailedPrecondition, "handles");
  }
  EXPECT_OK(std::move(other).Close());
  EXPECT_FAILS(std::move(other).Close(), kFailedPrecondition, "closed");
  EXPECT_FAILS(other.PlatformName(), kFailedPrecondition, "closed");
  EXPECT_FAILS(other.Compile("echo"), kFailedPrecondition, "closed");
  EXPECT_FAILS(other.device(0), kFailedPrecondition, "closed");
}
// NOLINTEND(bugprone-use-after-move)

TEST_F(ClientTest, ObjectsKeepTheirClientOpen) {
  std::vector<Buffer> out;
  {
    ASSERT_OK_AND_ASSIGN(const Client other, plugin_.CreateClient());
    ASSERT_OK_AND_ASSIGN(const Buffer b, other.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}));
    ASSERT_OK_AND_ASSIGN(const LoadedExecutable echo, other.Compile("echo"));
    ASSERT_OK_AND_ASSIGN(out, echo.Execute({&b}));
  }
  EXPECT_EQ(CountLiveObjects().clients, before_.clients + 2);
  EXPECT_THAT(out[0].ToHost<float>().value(), ::testing::ElementsAre(1, 2, 3, 4));
  out.clear();
  EXPECT_EQ(CountLiveObjects().clients, before_.clients + 1);
}

TEST_F(ClientTest, Topologies) {
  ASSERT_OK_AND_ASSIGN(const Topology mine, client_.GetTopology());
  EXPECT_EQ(mine.PlatformName().value(), "fake");
  EXPECT_FALSE(mine.PlatformVersion()->empty());
  ASSERT_OK_AND_ASSIGN(const std::vector<DeviceDescription> devices, mine.Devices());
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].id().value(), 1);
  EXPECT_TRUE(mine.Attributes().ok());
  EXPECT_TRUE(mine.Fingerprint().ok());
  (void)mine.Serialize();
  (void)mine.MemorySpaceKindIds();
  EXPECT_FAILS(mine.CanonicalShape(Shape{DType::kInvalid, {}}, 0), kInvalidArgument, "type");
  EXPECT_FALSE(DefaultLayout(mine, Shape{DType::kF32, {2, 2}})->empty());
}

// What has two forms is given in the one for the plugin's version; where the plugin refuses that, as text.
TEST_F(ClientTest, CompilesWhatWritesItself) {
  struct Forms {
    std::string text, other;
    mutable std::vector<int64_t> asked = {};
    Result<std::string> ToText() const { return text; }
    Result<std::string> ForReader(std::span<const int64_t> newest) const {
      asked.assign(newest.begin(), newest.end());
      return other;
    }
  };
  const Forms both{"nonsense", "echo"};
  EXPECT_TRUE(client_.Compile(both).ok());
  EXPECT_EQ(both.asked, plugin_.StablehloVersion());
  EXPECT_TRUE(client_.Compile(Forms{"echo", "ML\xefR nonsense"}).ok());
  const Status neither = client_.Compile(Forms{"other nonsense", "ML\xefR nonsense"}).status();
  EXPECT_EQ(neither.ToString(), client_.Compile("ML\xefR nonsense").status().ToString());
}

TEST_F(ClientTest, CompilesWithoutADevice) {
  std::vector<DeviceDescription> kept;
  {
    ASSERT_OK_AND_ASSIGN(const Topology topology, plugin_.CreateTopology("fake:2"));
    ASSERT_OK_AND_ASSIGN(kept, topology.Devices());
    ASSERT_OK_AND_ASSIGN(const Executable program, topology.Compile(Program::Mlir("echo")));
    EXPECT_EQ(program.Name().value(), "echo");
    ASSERT_OK_AND_ASSIGN(const LoadedExecutable loaded, client_.Load(program));
    const Buffer x = Floats({1, 2, 3, 4});
    ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, loaded.Execute({&x}));
    EXPECT_THAT(out[0].ToHost<float>().value(), ::testing::ElementsAre(1, 2, 3, 4));
  }
  EXPECT_TRUE(kept[0].id().ok());  // descriptions keep their topology
}

TEST_F(ClientTest, ProcessInfoOfOldPluginsIsRefused) {
  static const AlteredTable old(plugin_.api().raw(), 75);
  ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::FromApi(&old.table, "old"));
  ASSERT_OK_AND_ASSIGN(const Client client, plugin.CreateClient());
  const ProcessInfo info{.task_id = 1, .incarnation_id = 2, .state = PJRT_ProcessState_kError, .error = Aborted("x")};
  EXPECT_FAILS(client.UpdateGlobalProcessInfo(std::span(&info, 1)), kUnimplemented, "0.75");
  EXPECT_NE(client_.UpdateGlobalProcessInfo(std::span(&info, 1)).code(), Code::kInvalidArgument);
}

// Everything below the newest version: what is missing is named, the rest works.
TEST_F(ClientTest, OldPluginsRunPrograms) {
  for (const int minor : {54, 55, 57, 67, 81, 100}) {
    auto* const old = new AlteredTable(plugin_.api().raw(), minor);  // plugins live as long as the process
    ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::FromApi(&old->table, "old"));
    ASSERT_OK_AND_ASSIGN(const Client client, plugin.CreateClient());
    ASSERT_OK_AND_ASSIGN(const LoadedExecutable add, client.Compile("add"));
    ASSERT_OK_AND_ASSIGN(const Buffer x, client.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}));
    ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, add.Execute({&x, &x}));
    EXPECT_THAT(out[0].ToHost<float>().value(), ::testing::ElementsAre(2, 4, 6, 8));
    if (minor < 95) EXPECT_FAILS(client.Load(add.executable()), kUnimplemented, "PJRT_Client_Load: it came with 0.95");
    if (minor < 89) EXPECT_FAILS(Event::Create(plugin.api()), kUnimplemented, "PJRT_Event_Create");
  }
}

int64_t g_deleted = 0;
TEST_F(ClientTest, FfiDataReachesExecutions) {
  ASSERT_OK_AND_ASSIGN(const int64_t id, RegisterFfiType(plugin_, "client_test_type", 0, [](void*) { ++g_deleted; }));
  EXPECT_NE(id, 0);
  {
    ASSERT_OK_AND_ASSIGN(ExecuteContext context, ExecuteContext::Create(plugin_));
    int data = 1;
    EXPECT_OK(context.AddUserData(id, &data));
    const LoadedExecutable echo = Compile("echo");
    const Buffer x = Floats({1, 2, 3, 4});
    ExecuteOptions options;
    options.context = &context;
    EXPECT_OK(echo.Execute({&x}, options));
    EXPECT_EQ(g_deleted, 0);
  }
  EXPECT_EQ(g_deleted, 1);
  EXPECT_FAILS(RegisterFfiHandler(plugin_, "target", "fake", nullptr), kInvalidArgument, "null");
  static char handler;  // never called
  EXPECT_OK(RegisterFfiHandler(plugin_, "target", "fake", &handler));
}

TEST_F(ClientTest, Profiles) {
  auto profiler = Profiler::Create(plugin_);
  if (profiler.status().code() == Code::kUnimplemented) GTEST_SKIP() << "the fake plugin has no profiler";
  ASSERT_TRUE(profiler.ok()) << profiler.status().ToString();
  EXPECT_OK(profiler->Start());
  EXPECT_OK(profiler->Stop());
  EXPECT_OK(profiler->Collect());
}

TEST_F(ClientTest, LogsCanBeSilenced) {
  ::testing::internal::CaptureStderr();
  {
    const SuppressAbseilLogging outer;
    const SuppressAbseilLogging inner;
    std::fputs("noise\n", stderr);
    std::fflush(stderr);
  }
  std::fputs("signal\n", stderr);
  std::fflush(stderr);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "signal\n");
}

}  // namespace
}  // namespace tenon::client
