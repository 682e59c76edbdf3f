#pragma once

/// Kernels as SPIR-V. Emit is a pure function of a kernel and a target: it knows no driver, opens no device and needs
/// no header of Vulkan. What it makes needs Vulkan 1.3 with buffer device addresses, and of the optional features
/// those alone that the target's facts name.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/small_vector.h"
#include "tenon/base/status.h"
#include "tenon/kir/kir.h"
#include "tenon/target/target.h"

namespace tenon::emit_spirv {

/// What a launch hands to a kernel by value: all of its push constants, the same for every module, 16 bytes. A
/// recorded launch runs on other arrays when the words of the frame change.
struct Push {
  /// Device address of the frame, an array of 64-bit words; 8-byte aligned.
  uint64_t frame = 0;
  /// The frame's word [buffers + i] is the device address of element (0, ..., 0) of Kernel::buffers[i], aligned to its
  /// element (one part of it for complex types); words of kLocal buffers are not read. The word behind those of all
  /// buffers, [buffers + Kernel::buffers.size()], is the address of ScratchBytes bytes, 256-byte aligned; it is not
  /// read when these are 0. Below 2^31.
  uint32_t buffers = 0;
  /// The frame's word [params + i] is run-time parameter i. Below 2^31.
  uint32_t params = 0;
};
static_assert(sizeof(Push) == 16);

/// How many points a box has: the product of min(hi, extent) - max(lo, 0), 0 where that is negative.
struct Count {
  struct Side {
    kir::Size lo = kir::Size::Of(0);
    kir::Size hi = kir::Size::Of(INT64_MAX);
    kir::Size extent;
    friend bool operator==(const Side&, const Side&) = default;
  };
  SmallVector<Side, 4> sides;
  int64_t Of(const int64_t* params) const;
  friend bool operator==(const Count&, const Count&) = default;
};

/// One launch: an entry point of the module and how many workgroups it wants.
struct Dispatch {
  std::string entry;
  uint32_t group_size = 1;        ///< Invocations of a workgroup, all along x.
  Count points;                   ///< What is spread over the workgroups.
  int64_t points_per_group = 1;   ///< The last workgroup may get fewer.
  int64_t most_groups = 1;        ///< Workgroups take several shares when there are more.
  int64_t scratch_per_group = 0;  ///< Bytes.
  /// Launches before it in this module wrote what this one reads or writes. (The first launch of a module has none
  /// before it: whoever runs modules in sequence knows what these need.)
  bool after_barrier = false;

  /// How many there are; 0: the launch can be left out.
  int64_t Groups(const int64_t* params) const;
  /// The same in x, y and z for a device that takes at most 65535 of each; the code leaves those out that are too many.
  std::array<uint32_t, 3> GroupsByDirection(const int64_t* params) const;
};

struct Module {
  std::vector<uint32_t> words;
  /// In the order in which they run.
  std::vector<Dispatch> dispatches;
  int64_t scratch_bytes = 0;     ///< Beside what the workgroups need.
  bool needs_alignment = false;  ///< It moves several elements at once: Places::kAligned must hold.

  /// Bytes of scratch memory that all launches share; what they leave there for each other lasts from the first to the
  /// last.
  int64_t ScratchBytes(const int64_t* params) const;
};

/// The kernel with its parameters written into it (there are none then): faster code, and what Emit refuses as long as
/// it does not know an extent (rows in local memory; loops, where a driver leaves long ones). `params`: at least
/// num_params values.
kir::Kernel Bake(const kir::Kernel& kernel, std::span<const int64_t> params);

/// What is known of the addresses in the frame.
enum class Places : uint8_t {
  kElements,  ///< Aligned to the buffer's element.
  kAligned,   ///< Multiples of kAlignment, those of all buffers: kernels may move several elements at once.
};
inline constexpr uint64_t kAlignment = 16;

/// `kernel` is verified, `target` a GPU. Boxes of points, and extents of dims, stay below 2^31 where they are
/// parameters: the caller checks. UNIMPLEMENTED, naming the part, for what the device has no form of: types that it
/// lacks, operations that it does not round as the kernel says, or a module that grows beyond policy.h's words. The
/// same kernel, target and places give the same words.
Result<Module> Emit(const kir::Kernel& kernel, const target::Target& target, Places places = Places::kElements);

}  // namespace tenon::emit_spirv
