#include "tenon/client/testing/fake.h"

#include <dlfcn.h>

#include <cstring>

namespace tenon::client::testing {
namespace {

template <class Function>
Function Symbol(const char* name) {
  (void)FakePlugin();  // loads it
  void* const library = ::dlopen(TENON_FAKE_PLUGIN, RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<Function>(::dlsym(library, name));
}

}  // namespace

Plugin FakePlugin() {
  auto plugin = Plugin::LoadFile(TENON_FAKE_PLUGIN);
  if (!plugin.ok()) ADD_FAILURE() << plugin.status().ToString();
  return *plugin;
}
void RunPending() { Symbol<void (*)()>("FakeRunPending")(); }
void SetScheduling(bool on) { Symbol<void (*)(bool)>("FakeSetScheduling")(on); }
void SetRemoteMemory(bool on) { Symbol<void (*)(bool)>("FakeSetRemoteMemory")(on); }
int64_t LiveExtensionObjects() { return Symbol<int64_t (*)()>("FakeLiveExtensionObjects")(); }

FakeTest::FakeTest() : client_(plugin_.CreateClient().value()) {}

FakeTest::~FakeTest() {
  SetScheduling(false);
  SetRemoteMemory(false);
  const Status closed = std::move(client_).Close();
  EXPECT_TRUE(closed.ok()) << closed.ToString();
  EXPECT_EQ(ToString(CountLiveObjects()), ToString(before_));
}

Buffer FakeTest::Floats(std::vector<float> values, size_t device) {
  const int64_t size = static_cast<int64_t>(values.size());
  auto buffer = client_.ToDevice(std::span<const float>(values), std::span<const int64_t>(&size, 1),
                                 client_.device(device).value());
  EXPECT_TRUE(buffer.ok()) << buffer.status().ToString();
  return std::move(buffer).value();
}

LoadedExecutable FakeTest::Compile(std::string_view program, const CompileOptions& options) {
  auto executable = client_.Compile(program, options);
  EXPECT_TRUE(executable.ok()) << executable.status().ToString();
  return std::move(executable).value();
}

AlteredTable::AlteredTable(const PJRT_Api* of, int minor, size_t struct_size) {
  std::memset(static_cast<void*>(&table), 0, sizeof(table));
  std::memcpy(static_cast<void*>(&table), of, std::min(struct_size, sizeof(table)));
  table.struct_size = struct_size;
  table.pjrt_api_version.minor_version = minor;
}

}  // namespace tenon::client::testing
