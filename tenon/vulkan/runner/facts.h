#pragma once

#include "tenon/base/status.h"
#include "tenon/target/device.h"
#include "tenon/vulkan/device.h"

namespace tenon::vulkan {

/// What a driver says of its device, in the compiler's words. How it rounds is left at the worst: Probe finds out.
target::DeviceFacts SaidFacts(const PhysicalDevice& device, bool is_mapped);

/// The same, with how the device rounds as found by running some kernels on it: no name of a vendor decides. Takes
/// milliseconds where the driver knows these kernels, some hundred where it compiles them.
Result<target::DeviceFacts> Probe(Device& device);

}  // namespace tenon::vulkan
