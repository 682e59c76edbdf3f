// A Vulkan loader that passes everything on to libvulkan.so.1, and has functions fail when told so.
#include <dlfcn.h>
#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <cstring>

namespace {

enum Which {
  kQueueSubmit,
  kWaitSemaphores,
  kAllocateMemory,
  kCreateBuffer,
  kCreateComputePipelines,
  kAllocateCommandBuffers,
  kNumWhich
};
constexpr std::array<const char*, kNumWhich> kNames = {
    "vkQueueSubmit",  "vkWaitSemaphores",         "vkAllocateMemory",
    "vkCreateBuffer", "vkCreateComputePipelines", "vkAllocateCommandBuffers"};

struct Fault {
  std::atomic<PFN_vkVoidFunction> real{nullptr};
  std::atomic<int> before{0};  ///< Calls that succeed first,
  std::atomic<int> times{0};   ///< and that fail then,
  std::atomic<int> result{0};  ///< with this.
};
std::array<Fault, kNumWhich> faults;

template <Which W, class Fn>
struct Wrapped;
template <Which W, class... A>
struct Wrapped<W, VkResult(VKAPI_PTR*)(A...)> {
  static VKAPI_ATTR VkResult VKAPI_CALL Call(A... a) {
    Fault& fault = faults[W];
    if (fault.times.load() > 0 && fault.before.fetch_sub(1) <= 0 && fault.times.fetch_sub(1) > 0)
      return static_cast<VkResult>(fault.result.load());
    return reinterpret_cast<VkResult(VKAPI_PTR*)(A...)>(fault.real.load())(a...);
  }
  static PFN_vkVoidFunction Pointer() { return reinterpret_cast<PFN_vkVoidFunction>(&Call); }
};

const std::array<PFN_vkVoidFunction, kNumWhich> kWrapped = {
    Wrapped<kQueueSubmit, PFN_vkQueueSubmit>::Pointer(),
    Wrapped<kWaitSemaphores, PFN_vkWaitSemaphores>::Pointer(),
    Wrapped<kAllocateMemory, PFN_vkAllocateMemory>::Pointer(),
    Wrapped<kCreateBuffer, PFN_vkCreateBuffer>::Pointer(),
    Wrapped<kCreateComputePipelines, PFN_vkCreateComputePipelines>::Pointer(),
    Wrapped<kAllocateCommandBuffers, PFN_vkAllocateCommandBuffers>::Pointer()};

std::atomic<PFN_vkGetDeviceProcAddr> real_device_proc{nullptr};

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL DeviceProc(VkDevice device, const char* name) {
  const PFN_vkVoidFunction real = real_device_proc.load()(device, name);
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (real == nullptr || std::strcmp(name, kNames[i]) != 0) continue;
    faults[i].real = real;
    return kWrapped[i];
  }
  return real;
}

PFN_vkGetInstanceProcAddr Real() {
  static const auto real = [] {
    void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr
                              : reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  }();
  return real;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  if (Real() == nullptr) return nullptr;
  const PFN_vkVoidFunction real = Real()(instance, name);
  if (real == nullptr || std::strcmp(name, "vkGetDeviceProcAddr") != 0) return real;
  real_device_proc = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
  return reinterpret_cast<PFN_vkVoidFunction>(&DeviceProc);
}

/// After `before` more calls the next `times` of the function give `result`. Whether it knows the function.
extern "C" __attribute__((visibility("default"))) bool TenonInjectFault(const char* function, int before, int times,
                                                                        int result) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (std::strcmp(function, kNames[i]) != 0) continue;
    faults[i].times = 0;
    faults[i].before = before;
    faults[i].result = result;
    faults[i].times = times;
    return true;
  }
  return false;
}
