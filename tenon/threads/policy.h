#pragma once

/// The numbers behind the pool's choices, each with its reason. Times are of what it costs to wake a thread and to pass
/// a cache line from core to core; they differ little between machines.

#include <cstdint>

namespace tenon::threads {

/// Work under this many nanoseconds stays on its caller always, and kernels are not cut for it: so long does it take
/// until others have seen it and the caller what they wrote. With each worker that is awake, all of which look at it at
/// once, that takes longer.
inline constexpr int64_t kMinSharedNs = 4'000;
inline constexpr int64_t kSharedPerAwakeNs = 250;

/// Work under this many nanoseconds stays on its caller while all workers sleep: waking one costs about as much.
inline constexpr int64_t kMinParallelNs = 40'000;
/// After so much work in loops that are shorter, but follow one another before a worker would fall asleep, one is woken
/// for them all the same: they are expected to go on.
inline constexpr int64_t kMaxKeptNs = 200'000;
/// How long a worker without work spins before it sleeps: several times what it costs to wake it, which is 5 us on
/// hardware and 100 us and more where the CPU has to be asked of a hypervisor. Programs that are run one after the
/// other find it awake.
inline constexpr int64_t kSpinNs = 400'000;

/// A loop is posted in pieces of at most this many chunks, so that 32-bit counters do.
inline constexpr int64_t kMaxChunksPerPost = int64_t{1} << 30;
/// One more thread is asked to help per this much work.
inline constexpr int64_t kWorkPerHelperNs = 20'000;
/// The chunks of a loop are shared out among the threads, or this many groups of them: so many places are looked at for
/// chunks that are left.
inline constexpr uint32_t kMaxShares = 16;
/// A thread claims this part of what is left of a share: the last claims are small enough to end together, and the
/// shared counters are seldom touched.
inline constexpr uint32_t kClaimsPerThread = 4;

}  // namespace tenon::threads
