#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/emit_llvm/emit.h"

namespace tenon::emit_llvm {

/// The code of kernels, found by the kernel's value and the ISA level: the hash finds, the value decides. Who asks for
/// a kernel that is being compiled waits for it. Holds at most its budget in bytes: what was asked for longest ago goes
/// first. Code that somebody still holds stays valid when its entry goes. Any thread.
class KernelCache {
 public:
  using Compiled = std::shared_ptr<const CompiledKernel>;
  using Compile = std::function<std::vector<Result<Compiled>>(std::span<const kir::Kernel* const>,
                                                              std::span<const Hash128>, isa::IsaLevel)>;
  using Hash = std::function<Hash128(const kir::Kernel&)>;

  /// `compile` makes what is missing, one result per kernel; it may run on several threads at once, and may throw: then
  /// those who wait get RESOURCE_EXHAUSTED (no memory) or INTERNAL, as with any failure nothing is kept, and the next
  /// request tries again.
  KernelCache(int64_t budget_bytes, Compile compile, Hash hash);

  Result<std::vector<Compiled>> Get(std::span<const kir::Kernel* const> kernels, isa::IsaLevel isa);
  CacheCounters Counters() const;
  /// Takes effect at once.
  void SetBudget(int64_t bytes);
  /// Forgets all that is not being compiled.
  void Clear();

 private:
  struct Key {
    Hash128 hash;
    isa::IsaLevel isa;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHasher {
    size_t operator()(const Key& key) const { return Hash128Hasher()(key.hash) + static_cast<size_t>(key.isa); }
  };
  /// One kernel's place while it is compiled and after.
  struct Entry {
    kir::Kernel kernel;
    std::optional<Result<Compiled>> result;
    uint32_t generation = ForkGeneration();  ///< Of the process whose thread makes the result.
    int64_t bytes = 0;
    std::list<std::pair<Key, Entry*>>::iterator recent;  ///< In `recent_` once settled with code.
  };
  struct Job {
    const kir::Kernel* kernel;
    Key key;
    std::shared_ptr<Entry> entry;
    size_t weight;
  };
  using Entries = std::unordered_multimap<Key, std::shared_ptr<Entry>, KeyHasher>;
  class Settler;

  Entries::iterator Find(const Key& key, const kir::Kernel& kernel);
  void Settle(const Job& job, Result<Compiled> result) noexcept;
  void CompileJobs(std::span<const Job> jobs, isa::IsaLevel isa);
  void Forget(const Key& key, const Entry* entry);
  void Evict();

  const Compile compile_;
  const Hash hash_;
  mutable ForkSafeMutex mutex_;
  std::condition_variable settled_;  ///< Some entry got its result.
  Entries entries_;
  std::list<std::pair<Key, Entry*>> recent_;  ///< Settled entries, the one that was asked for last in front.
  int64_t budget_bytes_;
  CacheCounters counters_;
};

}  // namespace tenon::emit_llvm
