#include "tenon/emit_llvm/internal/kernel_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/emit_llvm/internal/pool.h"

namespace tenon::emit_llvm {
namespace {

/// About what the kernel itself takes; the code is most of an entry.
int64_t BytesOf(const kir::Kernel& kernel) {
  return static_cast<int64_t>(sizeof(kir::Kernel) + kernel.nodes.size() * sizeof(kir::Node) +
                              kernel.reads.size() * sizeof(kir::Read) + kernel.buffers.size() * sizeof(kir::Buffer) +
                              kernel.literals.size() * sizeof(uint64_t));
}

/// Groups of about equal weight, heaviest first.
template <class Job>
std::vector<std::vector<Job>> Deal(std::vector<Job> jobs, size_t groups) {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.weight > b.weight; });
  std::vector<std::vector<Job>> dealt(groups);
  std::vector<size_t> load(groups, 0);
  for (Job& job : jobs) {
    const size_t lightest = static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    load[lightest] += job.weight;
    dealt[lightest].push_back(std::move(job));
  }
  return dealt;
}

/// Made before it is needed, because then there may be no memory to make it.
const Status& OutOfMemory() {
  static const Status* status = new Status(ResourceExhausted("no memory to compile a kernel"));
  return *status;
}

}  // namespace

/// Whatever way its scope is left, none of the entries stays without a result.
class KernelCache::Settler {
 public:
  Settler(KernelCache& cache, const std::vector<Job>& jobs) : cache_(cache), jobs_(jobs) {}
  ~Settler() {
    bool any = false;
    {
      std::lock_guard lock(cache_.mutex_);
      for (const Job& job : jobs_) {
        if (job.entry->result) continue;
        cache_.Settle(job, OutOfMemory());
        any = true;
      }
    }
    if (any) cache_.settled_.notify_all();
  }
  Settler(const Settler&) = delete;
  Settler& operator=(const Settler&) = delete;

 private:
  KernelCache& cache_;
  const std::vector<Job>& jobs_;
};

KernelCache::KernelCache(int64_t budget_bytes, Compile compile, Hash hash)
    : compile_(std::move(compile)), hash_(std::move(hash)), budget_bytes_(budget_bytes) {
  OutOfMemory();
}

KernelCache::Entries::iterator KernelCache::Find(const Key& key, const kir::Kernel& kernel) {
  auto [it, end] = entries_.equal_range(key);
  for (; it != end; ++it) {
    if (it->second->kernel == kernel) return it;
  }
  return entries_.end();
}

void KernelCache::Forget(const Key& key, const Entry* entry) {
  auto [it, end] = entries_.equal_range(key);
  for (; it != end; ++it) {
    if (it->second.get() != entry) continue;
    entries_.erase(it);
    return;
  }
}

// Requires the lock. Throws nothing: whoever waits for the entry would wait for ever.
void KernelCache::Settle(const Job& job, Result<Compiled> result) noexcept {
  Entry& entry = *job.entry;
  if (result.ok()) {
    try {
      recent_.emplace_front(job.key, &entry);
    } catch (const std::bad_alloc&) {
      result = OutOfMemory();
    }
  }
  if (result.ok()) {
    entry.recent = recent_.begin();
    entry.bytes = (*result)->code_bytes + BytesOf(entry.kernel);
    counters_.bytes += entry.bytes;
    entry.result.emplace(std::move(result));
    Evict();
  } else {
    // A failure is told to those who wait and then forgotten.
    entry.result.emplace(std::move(result));
    Forget(job.key, &entry);
  }
}

void KernelCache::Evict() {
  while (counters_.bytes > budget_bytes_ && !recent_.empty()) {
    const auto [key, entry] = recent_.back();
    recent_.pop_back();
    counters_.bytes -= entry->bytes;
    ++counters_.evictions;
    Forget(key, entry);
  }
}

void KernelCache::CompileJobs(std::span<const Job> jobs, isa::IsaLevel isa) {
  std::vector<Result<Compiled>> results;
  Status failure = OutOfMemory();
  try {
    std::vector<const kir::Kernel*> kernels;
    std::vector<Hash128> hashes;
    for (const Job& job : jobs) {
      kernels.push_back(job.kernel);
      hashes.push_back(job.key.hash);
    }
    results = compile_(kernels, hashes, isa);
    failure = Internal(fmt::format("{} kernels gave {} results", jobs.size(), results.size()));
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& e) {
    failure = Internal(fmt::format("compiling a kernel threw: {}", e.what()));
  } catch (...) {
    failure = Internal("compiling a kernel threw");
  }
  {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < jobs.size(); ++i)
      Settle(jobs[i], results.size() == jobs.size() ? std::move(results[i]) : Result<Compiled>(failure));
  }
  settled_.notify_all();
}

Result<std::vector<KernelCache::Compiled>> KernelCache::Get(std::span<const kir::Kernel* const> kernels,
                                                            isa::IsaLevel isa) try {
  std::vector<Key> keys;
  for (const kir::Kernel* kernel : kernels) keys.push_back({hash_(*kernel), isa});
  std::vector<std::shared_ptr<Entry>> entries;
  std::vector<Job> jobs;
  entries.reserve(kernels.size());
  jobs.reserve(kernels.size());
  const Settler settler(*this, jobs);
  {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < kernels.size(); ++i) {
      auto it = Find(keys[i], *kernels[i]);
      if (it != entries_.end() && !it->second->result && it->second->generation != ForkGeneration()) {
        entries_.erase(it);  // Its thread is the parent's.
        it = entries_.end();
      }
      if (it == entries_.end()) {
        auto entry = std::make_shared<Entry>();
        entry->kernel = *kernels[i];
        it = entries_.emplace(keys[i], std::move(entry));
        jobs.push_back({kernels[i], keys[i], it->second, kernels[i]->nodes.size() + 16});
        ++counters_.misses;
      } else {
        ++counters_.hits;
        if (it->second->result) recent_.splice(recent_.begin(), recent_, it->second->recent);
      }
      entries.push_back(it->second);
    }
  }
  if (!jobs.empty()) {
    std::vector<std::function<void()>> tasks;
    for (std::vector<Job>& group : Deal(jobs, std::min<size_t>(PoolWidth(), jobs.size()))) {
      tasks.push_back([this, group = std::move(group), isa] { CompileJobs(group, isa); });
    }
    RunOnPool(std::move(tasks));
  }
  std::vector<Compiled> compiled;
  compiled.reserve(entries.size());
  std::unique_lock<std::mutex> lock(mutex_);
  for (const std::shared_ptr<Entry>& entry : entries) {
    settled_.wait(lock, [&] { return entry->result.has_value(); });
    if (!entry->result->ok()) return entry->result->status();
    compiled.push_back(**entry->result);
  }
  return compiled;
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

CacheCounters KernelCache::Counters() const {
  std::lock_guard lock(mutex_);
  CacheCounters counters = counters_;
  counters.live = static_cast<int64_t>(entries_.size());
  return counters;
}

void KernelCache::SetBudget(int64_t bytes) {
  std::lock_guard lock(mutex_);
  budget_bytes_ = bytes;
  Evict();
}

void KernelCache::Clear() {
  std::lock_guard lock(mutex_);
  for (const auto& [key, entry] : recent_) {
    counters_.bytes -= entry->bytes;
    Forget(key, entry);
  }
  recent_.clear();
}

}  // namespace tenon::emit_llvm
