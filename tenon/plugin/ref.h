#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tenon::plugin {

/// Kinds of objects that the SDK counts; see LiveObjects.
enum class ObjectKind : uint8_t {
  kClient,
  kTopology,
  kBuffer,
  kStorage,
  kEvent,
  kExecutable,
  kLoadedExecutable,
  kExecuteContext,
  kTransferManager,
  kError,
  kRawBuffer,
  kHostMemory,    // blocks that a host allocator handed out
  kPhaseCompile,  // handles of the compiler, and lists of texts that it handed out
  kAbiVersion,
  kHostStream,  // streams that feed a program
};
inline constexpr int kNumObjectKinds = 15;

namespace internal {
struct alignas(64) LiveCounter {
  std::atomic<int64_t> value{0};
};
extern LiveCounter live_counters[kNumObjectKinds];

/// A member or base of this type counts its owner as live.
template <ObjectKind kKind>
struct Counted {
  Counted() { live_counters[static_cast<int>(kKind)].value.fetch_add(1, std::memory_order_relaxed); }
  Counted(const Counted&) : Counted() {}
  Counted& operator=(const Counted&) = default;
  ~Counted() { live_counters[static_cast<int>(kKind)].value.fetch_sub(1, std::memory_order_relaxed); }
};
}  // namespace internal

/// How many objects of a kind exist in this process right now. For leak checks in tests and for statistics.
int64_t LiveObjects(ObjectKind kind);

/// Base of objects that C handles and C++ references share. A new object has one reference, which Adopt takes over;
/// when the last one goes, on whatever thread, Destroy runs (`delete this` unless overridden, for instance to recycle).
class RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void AddRef() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) const_cast<RefCounted*>(this)->Destroy();
  }
  /// Whether the caller's reference is the only one. Meaningful only to a holder of a reference.
  bool HasOneRef() const { return refs_.load(std::memory_order_acquire) == 1; }
  /// How many references there are at the moment.
  int32_t num_refs() const { return refs_.load(std::memory_order_acquire); }

 protected:
  RefCounted() = default;
  virtual ~RefCounted() = default;
  virtual void Destroy() { delete this; }

 private:
  mutable std::atomic<int32_t> refs_{1};
};

/// A counted reference; null is allowed. Copying is thread-safe, the Ref itself is not.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): `return nullptr;` must work.
  /// Another reference to an object that the caller keeps alive meanwhile.
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) object_->AddRef();
  }
  Ref(const Ref& o) : Ref(o.object_) {}
  Ref(Ref&& o) noexcept : object_(std::exchange(o.object_, nullptr)) {}
  template <class U>
    requires(std::is_convertible_v<U*, T*> && !std::is_same_v<U, T>)
  Ref(Ref<U> o) noexcept : object_(o.release()) {}  // NOLINT(google-explicit-constructor): as for pointers.
  Ref& operator=(Ref o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->Release();
  }

  /// Takes over a reference that the caller owns.
  static Ref Adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  /// Gives the reference to the caller.
  T* release() { return std::exchange(object_, nullptr); }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }
  friend bool operator==(const Ref& a, std::nullptr_t) { return a.object_ == nullptr; }

 private:
  T* object_ = nullptr;
};

/// Makes a T with `new` and returns the only reference.
template <class T, class... A>
Ref<T> MakeRef(A&&... args) {
  return Ref<T>::Adopt(new T(std::forward<A>(args)...));
}

}  // namespace tenon::plugin
