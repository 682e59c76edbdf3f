#include "tenon/base/fork.h"

#include <pthread.h>

namespace tenon {

namespace internal {
std::atomic<uint32_t> fork_generation{0};
}

struct ForkSafeMutexes {
  std::mutex mutex;
  ForkSafeMutex* first = nullptr;

  static ForkSafeMutexes& Get() {
    // Never destroyed: mutexes may outlive static destruction.
    static ForkSafeMutexes* const all = [] {
      auto* made = new ForkSafeMutexes;
      pthread_atfork([] { Get().LockAll(); }, [] { Get().UnlockAll(); },
                     [] {
                       internal::fork_generation.fetch_add(1, std::memory_order_relaxed);
                       Get().UnlockAll();
                     });
      return made;
    }();
    return *all;
  }

  void LockAll() {
    mutex.lock();
    for (ForkSafeMutex* m = first; m != nullptr; m = m->next_) m->lock();
  }
  void UnlockAll() {
    for (ForkSafeMutex* m = first; m != nullptr; m = m->next_) m->unlock();
    mutex.unlock();
  }
  void Add(ForkSafeMutex& m) {
    std::lock_guard lock(mutex);
    m.next_ = first;
    m.link_ = &first;
    if (first != nullptr) first->link_ = &m.next_;
    first = &m;
  }
  void Remove(ForkSafeMutex& m) {
    std::lock_guard lock(mutex);
    *m.link_ = m.next_;
    if (m.next_ != nullptr) m.next_->link_ = m.link_;
  }
};

ForkSafeMutex::ForkSafeMutex() { ForkSafeMutexes::Get().Add(*this); }
ForkSafeMutex::~ForkSafeMutex() { ForkSafeMutexes::Get().Remove(*this); }

}  // namespace tenon
