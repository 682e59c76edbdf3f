#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace tenon {

namespace internal {
extern std::atomic<uint32_t> fork_generation;
}

/// How many forks lie between this process and the one that loaded the library; what a parent's threads were to do is
/// not done in a process of another number. Counts from the first ForkSafeMutex on.
inline uint32_t ForkGeneration() { return internal::fork_generation.load(std::memory_order_relaxed); }

/// A mutex that fork waits for, so that in the child it is free and what it guards is whole: for what a child may still
/// use, which is whatever frees, waits and asks. Sections must be short, must not fork and must not take another
/// ForkSafeMutex.
class ForkSafeMutex : public std::mutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();

 private:
  friend struct ForkSafeMutexes;
  ForkSafeMutex* next_ = nullptr;
  ForkSafeMutex** link_ = nullptr;  // What points here.
};

}  // namespace tenon
