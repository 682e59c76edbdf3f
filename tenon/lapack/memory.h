#pragma once

#include <cstddef>

namespace tenon::lapack {

/// Memory of whole cache lines, of any contents; what was given back serves again (kernels/scratch), as the system's
/// own pages cost as much as work on a small matrix. Throws std::bad_alloc.
void* TakeMemory(size_t bytes);
/// `bytes`: those that were asked for. On any thread.
void GiveMemory(void* memory, size_t bytes) noexcept;

/// For a container of numbers.
template <class T>
struct Recycling {
  using value_type = T;
  Recycling() = default;
  template <class U>
  explicit Recycling(const Recycling<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(TakeMemory(n * sizeof(T))); }
  void deallocate(T* p, size_t n) noexcept { GiveMemory(p, n * sizeof(T)); }
  friend bool operator==(const Recycling&, const Recycling&) { return true; }
};

}  // namespace tenon::lapack
