#pragma once

/// The numbers behind the runtime's choices, each with its reason.

#include <array>
#include <chrono>
#include <cstdint>

namespace tenon::runtime::policy {

/// Places in the client's sources that a profile names per step: what fits a line.
inline constexpr size_t kMostPlaces = 6;

/// Steps are not taken to last longer than an hour, whatever their work says: sums of times stay numbers.
inline constexpr double kLongestNs = 3.6e12;

/// Blocks are multiples of a cache line, so that no two share one, and aligned to it: kernels want whole vectors.
inline constexpr int64_t kBlockBytes = 64;
/// From here on blocks come straight from the system, in whole huge pages.
inline constexpr int64_t kHugePageBytes = int64_t{2} << 20;
/// A block that nobody took for so long goes back to the system.
inline constexpr std::chrono::seconds kMaxIdle{2};

/// From here on a block is asked for only when the machine, and the process's control groups, have it to spare: the
/// system hands out more than there is, and ends processes when they use it.
inline constexpr int64_t kCheckedBytes = int64_t{32} << 20;
/// That much is left to others then.
inline constexpr int64_t kReserveBytes = int64_t{32} << 20;
/// With so much cached a thread gives idle blocks back on time; less waits for the next use of the pool.
inline constexpr int64_t kSweptBytes = int64_t{16} << 20;

/// Carries of a loop that trade places wait in the thread's own memory up to so many bytes: to ask for more takes no
/// longer than to copy it.
inline constexpr int64_t kMaxWaitingBytes = 64 << 10;

/// Copies from here on, which take as long as it takes to wake a thread several times, are shared by the threads, in
/// pieces that are long runs for memory; one thread moves so many bytes in a nanosecond, at least.
inline constexpr int64_t kSharedCopyBytes = 512 << 10;
inline constexpr int64_t kCopyPieceBytes = 128 << 10;
inline constexpr int64_t kCopyBytesPerNs = 16;

/// Carries of a loop from here on take turns in memory instead of being moved: moving fewer bytes takes no longer.
inline constexpr int64_t kTurnedBytes = 1 << 10;

/// Copies of an accelerator are cut into pieces of so many elements: that many are worth a group of its lanes.
inline constexpr int64_t kCopyGrain = 1024;
/// Loops of known trips are recorded trip by trip up to so many launches: a megabyte or so of commands.
inline constexpr int64_t kMostRecorded = 8192;
/// Branches of so many launches together go to an accelerator that passes over those it does not choose: as long as
/// the host would take to look.
inline constexpr int64_t kMostPassedOver = 64;
/// Trips of a loop on an accelerator until the host looks whether it has ended: few at first, since those that begin
/// behind its end are for nothing, and never more than take so long, so that it can be given up.
inline constexpr std::array<int64_t, 3> kTripsPerLook = {4, 16, 64};
inline constexpr double kLongestLookNs = 20e6;

/// Local memory of one kernel that a plan from outside may ask for.
inline constexpr int64_t kMaxLocalBytes = int64_t{1} << 32;
/// Sums within sums that the proof of an address looks into, one by one: as many as chains of slices at computed places
/// in one kernel have, and few enough that sums of shared sums end.
inline constexpr int kAffineSteps = 256;

}  // namespace tenon::runtime::policy
