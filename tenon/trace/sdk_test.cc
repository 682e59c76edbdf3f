// Gives the SDK's tests a traced table: everything that they expect of the SDK must hold through the trace.

#include <cstdlib>
#include <filesystem>

#include "tenon/plugin/testing/harness.h"
#include "tenon/trace/call.h"
#include "tenon/trace/recorder.h"

namespace tenon::plugin::testing {

const PJRT_Api* api() {
  static const PJRT_Api* const traced = [] {
    // The tests misuse the interface on purpose and judge the SDK's answers: everything is forwarded.
    trace::StartTrace({.file = "/dev/null", .text = "/dev/null", .shield = false});
    std::atexit([] { trace::StopTrace(); });
    return trace::TraceApi(MakeApi(FakePlugin::Get()));
  }();
  return traced;
}

}  // namespace tenon::plugin::testing
