// The fake plugin as a shared library, for tests of those who load plugins. It has the made-up extensions, too.
#include "tenon/plugin/testing/extensions.h"
#include "tenon/plugin/testing/fake_plugin.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_EXPORT const PJRT_Api* GetPjrtApi() {
  using namespace tenon::plugin;
  static const PJRT_Api table = [] {
    PJRT_Api copy = *MakeApi(testing::FakePlugin::Get());
    copy.extension_start = testing::TestExtensions(copy.extension_start);
    return copy;
  }();
  return &table;
}
// See RunPending, SetScheduling, FakePlugin::remote_memory and LiveTestObjects.
FAKE_EXPORT void FakeRunPending() { tenon::plugin::testing::RunPending(); }
FAKE_EXPORT void FakeSetScheduling(bool on) { tenon::plugin::testing::SetScheduling(on); }
FAKE_EXPORT void FakeSetRemoteMemory(bool on) { tenon::plugin::testing::FakePlugin::Get().remote_memory = on; }
FAKE_EXPORT int64_t FakeLiveTestObjects() { return tenon::plugin::testing::LiveTestObjects(); }
