#pragma once

/// What a GPU offers to kernels and how its arithmetic behaves, as plain data. A device is asked once, when it is
/// opened (GpuTarget makes the target of the answers); named devices (GpuFacts) let compilers be tested without one.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/base/dtype.h"

namespace tenon::target {

/// Memory that buffers may live in.
struct MemorySpace {
  std::string name;
  int64_t bytes = 0;         ///< 0: what the machine has.
  bool host_visible = true;  ///< Plain loads and stores of the host reach it.
  friend bool operator==(const MemorySpace&, const MemorySpace&) = default;
};

/// A product of small matrices as one instruction of a subgroup: [m, k] x [k, n] of `in`, summed in `out`, in an order
/// and with roundings of the device's own.
struct MatrixUnit {
  int64_t m = 0, n = 0, k = 0;
  DType in = DType::kInvalid, out = DType::kInvalid;
  /// Terms of each sum that a workgroup takes at a time.
  int64_t Depth() const { return std::max<int64_t>(32, k); }
  /// Bytes that a workgroup shares for a tile of sums: its factors, and the sums themselves.
  int64_t TileBytes(int64_t rows, int64_t columns) const {
    return (rows + columns) * Depth() * ByteWidth(in) + rows * columns * ByteWidth(out);
  }
  friend bool operator==(const MatrixUnit&, const MatrixUnit&) = default;
};

/// The defaults are what the poorest devices have.
struct DeviceFacts {
  /// Letters, digits, '.', '_' and '-'; the target's name is "gpu:" before it.
  std::string name;

  // How a kernel's invocations are grouped.

  int64_t subgroup = 4;  ///< Invocations that run in lockstep, in whatever the device chooses to run: between the two.
  int64_t least_subgroup = 4, most_subgroup = 4;
  int64_t group_lanes = 128;                                   ///< Invocations of a workgroup at most.
  std::array<int64_t, 3> group_size = {128, 128, 64};          ///< The same by direction.
  std::array<int64_t, 3> group_count = {65535, 65535, 65535};  ///< Workgroups of a launch by direction.
  int64_t local_bytes = 16 << 10;                              ///< Memory that a workgroup shares.
  int64_t argument_bytes = 128;                                ///< Handed to a launch by value.

  // What kernels may compute with and access.

  bool i8 = false, i16 = false, i64 = false;  ///< Arithmetic; that of 32 bits is always there.
  bool f16 = false, f64 = false;              ///< Likewise.
  bool storage8 = false, storage16 = false;   ///< Loads and stores of single elements of so many bits.
  bool subgroup_arithmetic = false;           ///< Sums and the like over a subgroup.
  bool subgroup_shuffle = false;              ///< Values of another invocation of the subgroup, by exclusive or.
  bool atomics64 = false;                     ///< Of integers, in buffers; those of 32 bits are always there.
  std::vector<MatrixUnit> matrix_units;

  // What kernels may ask a driver to keep to, where it may do otherwise by itself: widths of floats, added up (16 +
  // 32).

  int64_t may_keep_subnormals = 0;
  int64_t may_keep_nan_and_zeros = 0;
  int64_t may_round_to_even = 0;

  // How it rounds, as found out by trying. Addition, subtraction, multiplication and conversions are always right.

  bool fused_f32 = false, fused_f64 = false;  ///< Fused multiply-add with one rounding.
  bool exact_divide = false;                  ///< f32 quotients as IEEE has them.
  bool exact_sqrt = false;                    ///< f32 roots likewise.
  bool exact_divide_f64 = false, exact_sqrt_f64 = false;
  bool keeps_subnormals = false;  ///< Of f32: neither operands nor results are flushed to zero.
  bool keeps_subnormals_f64 = false;
  bool keeps_subnormals_f16 = false;  ///< Also when f32 is converted to f16 and back.
  bool keeps_nan_and_zeros = false;   ///< NaN, infinities and the sign of zero survive as IEEE has them.

  /// Whether a load may happen in spite of a branch around it: its address must be right whether it is taken or not.
  bool loads_beside_branches = false;

  /// Rounds of all loops of one invocation together, beyond which a driver leaves them without a word; 0: any number.
  int64_t most_trips = 65535;

  // Memory.

  int64_t most_buffer_bytes = 128 << 20;  ///< That one buffer of a kernel may have.
  int64_t most_allocation_bytes = 1 << 30;
  int64_t buffer_alignment = 256;   ///< Of the first byte of what a kernel is given.
  std::vector<MemorySpace> spaces;  ///< The default one first.

  // Estimates.

  int64_t compute_units = 1;  ///< Workgroups that run side by side.
  int64_t cache_bytes = 0;    ///< The last cache before memory; 0: unknown.
  double clock_ghz = 1;
  double bytes_per_ns = 10;   ///< Memory, all units together.
  double flops_per_ns = 100;  ///< f32, all units together.
  double launch_ns = 5000;    ///< From one step of a running program to the next.
  double most_launch_ns = 0;  ///< A launch that takes longer is killed by the system; 0: never.

  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

}  // namespace tenon::target
