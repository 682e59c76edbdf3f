// The fake plugin as a shared library, for tests of those who load plugins.
#include "tenon/plugin/testing/fake_plugin.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_EXPORT const PJRT_Api* GetPjrtApi() { return tenon::plugin::MakeApi(tenon::plugin::testing::FakePlugin::Get()); }
// See RunPending, SetScheduling, FakePlugin::remote_memory and LiveExtensionObjects.
FAKE_EXPORT void FakeRunPending() { tenon::plugin::testing::RunPending(); }
FAKE_EXPORT void FakeSetScheduling(bool on) { tenon::plugin::testing::SetScheduling(on); }
FAKE_EXPORT void FakeSetRemoteMemory(bool on) { tenon::plugin::testing::FakePlugin::Get().remote_memory = on; }
FAKE_EXPORT int64_t FakeLiveExtensionObjects() { return tenon::plugin::testing::LiveExtensionObjects(); }
