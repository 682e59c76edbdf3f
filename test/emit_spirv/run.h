#pragma once

/// Runs what the SPIR-V emitter makes on a device with a Vulkan driver.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/emit_spirv/emit.h"
#include "tenon/kir/testing/random_kernel.h"
#include "tenon/target/target.h"
#include "tenon/vulkan/device.h"

namespace tenon::emit_spirv::testing {

/// A software driver's facts, with multiply-adds as kernels have them: rounded once.
target::Target JudgedTarget();
/// The same of a device, as it was found to round; of one device per process.
Result<target::Target> JudgedTarget(vulkan::Device& device);

/// What spirv-val says of a module: empty when it has no complaint. NOT_FOUND when there is no such program.
Result<std::string> Validate(std::span<const uint32_t> words);

/// The words that spirv-as makes of assembly, ids as they are there. NOT_FOUND when there is no such program.
Result<std::vector<uint32_t>> Assemble(const std::string& text);

/// A software device, or with TENON_TEST_GPU in the environment the first that is none; FAILED_PRECONDITION where there
/// is none. One per process.
Result<std::shared_ptr<vulkan::Device>> TestedDevice();

/// Runs all launches of the module on `memory`, which has what they left then.
/// `how` calls what it is given, which runs them once, as often as it likes.
Status Run(
    vulkan::Device& device, const Module& module, const std::vector<int64_t>& params, kir::testing::Memory& memory,
    const std::function<void(const std::function<void()>&)>& how = [](const auto& once) { once(); });

/// Whether Run puts all buffers at addresses that are Places::kAligned.
bool LiesAligned(const kir::testing::Memory& memory);

/// Memory for all of the kernel's buffers.
kir::testing::Memory SmallNumbers(const kir::Kernel& kernel, const std::vector<int64_t>& params);

/// Runs the kernel on the device and on the evaluator, on the same small random numbers, also as it is for aligned
/// arrays where these are. What differs first, empty when nothing does; a Status when it does not get that far:
/// UNIMPLEMENTED when it is not emitted, OUT_OF_RANGE when its arrays have more than `most_bytes`.
Result<std::string> Judge(vulkan::Device& device, const kir::Kernel& kernel, const std::vector<int64_t>& params,
                          int64_t most_bytes);

}  // namespace tenon::emit_spirv::testing
