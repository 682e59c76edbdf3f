#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tenon::threads {

/// The bits of the SSE control register that make subnormal results (FTZ, bit 15) and operands (DAZ, bit 6) zero.
inline constexpr uint32_t kFlushDenormalsBits = 0x8040;

/// The control register of the calling thread that holds rounding, traps and FTZ/DAZ; 0 where there is none.
inline uint32_t FloatControl() {
#if defined(__x86_64__)
  return _mm_getcsr();
#else
  return 0;
#endif
}

inline void SetFloatControl(uint32_t bits) {
#if defined(__x86_64__)
  _mm_setcsr(bits);
#else
  static_cast<void>(bits);
#endif
}

/// The state in which all compiled code and kernels run: nearest-even, no traps, FTZ and DAZ on.
inline constexpr uint32_t kComputeFloatControl = 0x1f80 | kFlushDenormalsBits;

/// Puts the calling thread into the compute state for the scope and restores exactly what was there. For callers'
/// threads; Tenon's own threads are in it for life.
class ScopedFlushDenormals {
 public:
  ScopedFlushDenormals() : saved_(FloatControl()) {
    if (saved_ != kComputeFloatControl) SetFloatControl(kComputeFloatControl);
  }
  ~ScopedFlushDenormals() { SetFloatControl(saved_); }
  ScopedFlushDenormals(const ScopedFlushDenormals&) = delete;
  ScopedFlushDenormals& operator=(const ScopedFlushDenormals&) = delete;

 private:
  uint32_t saved_;
};

/// The opposite: IEEE default arithmetic for the scope, on any thread. For foreign code (FFI handlers, host callbacks)
/// that one of our threads calls.
class ScopedDefaultFloat {
 public:
  ScopedDefaultFloat() : saved_(FloatControl()) { SetFloatControl(0x1f80); }
  ~ScopedDefaultFloat() { SetFloatControl(saved_); }
  ScopedDefaultFloat(const ScopedDefaultFloat&) = delete;
  ScopedDefaultFloat& operator=(const ScopedDefaultFloat&) = delete;

 private:
  uint32_t saved_;
};

}  // namespace tenon::threads
