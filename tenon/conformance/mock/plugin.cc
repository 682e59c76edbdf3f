// A PJRT plugin that misbehaves on purpose. TENON_MOCK_FAULT names the fault, of those in faults.txt; without it the
// plugin does well. TENON_MOCK_TARGET names a plugin to stand in front of; without it the plugin has devices of its
// own.
#include "tenon/plugin/plugin.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/conformance/mock/device.h"
#include "tenon/conformance/mock/faults.h"

namespace {

const PJRT_Api* RealTable() {
  const char* target = std::getenv("TENON_MOCK_TARGET");
  if (target == nullptr || *target == '\0') {
    return tenon::plugin::MakeApi(tenon::conformance::mock::MockDevicePlugin());
  }
  void* library = dlopen(target, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "mock: %s\n", dlerror());
    return nullptr;
  }
  auto get = reinterpret_cast<PJRT_GetPjrtApi_Function>(dlsym(library, "GetPjrtApi"));
  return get == nullptr ? nullptr : get();
}

const PJRT_Api* MakeTable(const char* fault) {
  const PJRT_Api* real = RealTable();
  if (real == nullptr || fault == nullptr || *fault == '\0') return real;
  auto* table = new PJRT_Api;
  std::memset(static_cast<void*>(table), 0, sizeof(*table));
  std::memcpy(static_cast<void*>(table), real, real->struct_size < sizeof(*table) ? real->struct_size : sizeof(*table));
  if (!tenon::conformance::mock::InstallFault(fault, *real, *table) && std::strcmp(fault, "other_pointer") != 0) {
    std::fprintf(stderr, "mock: there is no fault '%s'\n", fault);
    return nullptr;
  }
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  const char* fault = std::getenv("TENON_MOCK_FAULT");
  if (fault != nullptr && std::strcmp(fault, "other_pointer") == 0) return MakeTable(fault);
  static const PJRT_Api* table = MakeTable(fault);
  return table;
}
