#include "tenon/client/plugin.h"

#include <fstream>

#include "tenon/client/testing/fake.h"

namespace tenon::client {
namespace {

using testing::AlteredTable;
using testing::FakePlugin;

TEST(Plugin, LoadingTwiceGivesTheSamePlugin) {
  const Plugin a = FakePlugin(), b = FakePlugin();
  EXPECT_TRUE(a == b);
  EXPECT_EQ(&a.api(), &b.api());
  EXPECT_THAT(a.path(), ::testing::EndsWith("pjrt_plugin_fake.so"));
  EXPECT_EQ(a.name(), "fake");
  EXPECT_EQ(a.version(), "0.117");
}

TEST(Plugin, RefusalsSayWhy) {
  EXPECT_FAILS(Plugin::LoadFile("/nowhere/x.so"), kNotFound, "/nowhere/x.so");
  EXPECT_FAILS(Plugin::LoadFile("/tmp"), kFailedPrecondition, "not a file");
  const std::string text = ::testing::TempDir() + "/pjrt_c_api_text_plugin.so";
  std::ofstream(text) << "no library";
  EXPECT_FAILS(Plugin::LoadFile(text), kFailedPrecondition, "cannot load");
  // A library that is there in every process, and no plugin.
  for (const char* path :
       {"/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6", "/usr/lib/libm.so.6"}) {
    if (!std::ifstream(path)) continue;
    EXPECT_FAILS(Plugin::LoadFile(path), kFailedPrecondition, "GetPjrtApi");
  }
}

TEST(Plugin, AttributesAndStablehloVersion) {
  const Plugin plugin = FakePlugin();
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedValue> attributes, plugin.Attributes());
  EXPECT_NE(Find(attributes, "stablehlo_current_version"), nullptr);
  EXPECT_EQ(plugin.StablehloVersion().size(), 3u);
}

TEST(Plugin, RegisteredPluginsAreFoundByName) {
  const PJRT_Api* const table = FakePlugin().api().raw();
  ASSERT_OK_AND_ASSIGN(const Plugin registered, Plugin::Register("linked-in", table));
  ASSERT_OK_AND_ASSIGN(const Plugin found, Plugin::Load("linked-in"));
  EXPECT_TRUE(found == registered);
  EXPECT_EQ(found.path(), "");
  EXPECT_OK(Plugin::Register("linked-in", table));  // again is harmless
  static const AlteredTable other(table, 100);
  EXPECT_FAILS(Plugin::Register("linked-in", &other.table), kAlreadyExists, "linked-in");
}

PJRT_Error* RefuseToStart(PJRT_Plugin_Initialize_Args*) {
  // Any error of the fake's will do.
  auto args = MakeArgs<PJRT_TopologyDescription_Deserialize_Args>();
  args.serialized_topology = "x";
  args.serialized_topology_size = 1;
  return FakePlugin().api().raw()->PJRT_TopologyDescription_Deserialize(&args);
}

TEST(Plugin, InitializeMayRefuse) {
  AlteredTable table(FakePlugin().api().raw(), 117);
  table.table.PJRT_Plugin_Initialize = RefuseToStart;
  const auto plugin = Plugin::FromApi(&table.table, "moody");
  ASSERT_FALSE(plugin.ok());
  EXPECT_THAT(std::string(plugin.status().message()), ::testing::HasSubstr("moody does not start here"));
}

TEST(Plugin, ClientOptionsReachThePlugin) {
  const Plugin plugin = FakePlugin();
  ASSERT_OK_AND_ASSIGN(const Client client, plugin.CreateClient(Options().Set("num_devices", 3)));
  ASSERT_OK_AND_ASSIGN(const std::vector<Device> devices, client.Devices());
  EXPECT_EQ(devices.size(), 3u);
  EXPECT_FAILS(plugin.CreateClient(Options().Set("num_devices", "three")), kInvalidArgument, "num_devices");
}

}  // namespace
}  // namespace tenon::client
