#pragma once

/// The numbers behind the pool's choices, each with its reason. Times are of what it costs to wake a thread and to pass
/// a cache line from core to core; they differ little between machines.

#include <cstdint>

namespace tenon::threads {

/// Work under this many nanoseconds stays on its caller while all workers sleep: waking one costs about as much.
inline constexpr int64_t kMinParallelNs = 40'000;
/// Work under this many nanoseconds stays on its caller always: so long does it take until others have seen it and the
/// caller what they wrote.
inline constexpr int64_t kMinSharedNs = 8'000;
/// How long a worker without work spins before it sleeps.
inline constexpr int64_t kSpinNs = 100'000;

/// A loop is posted in pieces of at most this many chunks, so that 32-bit counters do.
inline constexpr int64_t kMaxChunksPerPost = int64_t{1} << 30;
/// One more thread is asked to help per this much work.
inline constexpr int64_t kWorkPerHelperNs = 20'000;
/// After so much work in short loops a worker is woken for them. It stays awake while they follow closely.
inline constexpr int64_t kMaxKeptNs = 200'000;
/// A thread claims this share of its even part of what is left: neighbouring chunks go to one thread, whose memory
/// streams stay whole and which seldom touches the shared counters, and the last claims are small enough to end
/// together.
inline constexpr uint32_t kClaimsPerThread = 4;

}  // namespace tenon::threads
