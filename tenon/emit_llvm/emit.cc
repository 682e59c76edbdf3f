#include "tenon/emit_llvm/emit.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "tenon/emit_llvm/internal/codegen.h"
#include "tenon/emit_llvm/internal/compile.h"
#include "tenon/emit_llvm/internal/pool.h"

namespace tenon::emit_llvm {
namespace {

using Compiled = std::shared_ptr<const CompiledKernel>;

struct Key {
  Hash128 hash;
  isa::IsaLevel isa;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHasher {
  size_t operator()(const Key& key) const { return Hash128Hasher()(key.hash) + static_cast<size_t>(key.isa); }
};

/// One kernel's place in the cache while it is compiled and after.
struct Entry {
  std::optional<Result<Compiled>> result;
};

struct Cache {
  std::mutex mutex;
  std::condition_variable settled;  // some entry got its result
  std::unordered_map<Key, std::shared_ptr<Entry>, KeyHasher> entries;
  CacheCounters counters;
};
Cache& TheCache() {
  static Cache* cache = new Cache;  // outlives static destruction
  return *cache;
}

struct Job {
  const kir::Kernel* kernel;
  Key key;
  std::shared_ptr<Entry> entry;
  size_t weight;
};

void Compile(std::span<const Job> jobs, isa::IsaLevel isa) {
  std::vector<const kir::Kernel*> kernels;
  std::vector<Hash128> hashes;
  for (const Job& job : jobs) {
    kernels.push_back(job.kernel);
    hashes.push_back(job.key.hash);
  }
  std::vector<Result<Compiled>> results = CompileModule(kernels, hashes, isa);
  Cache& cache = TheCache();
  {
    std::lock_guard lock(cache.mutex);
    for (size_t i = 0; i < jobs.size(); ++i) {
      // A failure is told to those who wait and then forgotten.
      if (!results[i].ok()) {
        auto it = cache.entries.find(jobs[i].key);
        if (it != cache.entries.end() && it->second == jobs[i].entry) cache.entries.erase(it);
      }
      jobs[i].entry->result.emplace(std::move(results[i]));
      ++cache.counters.compiled;
    }
  }
  cache.settled.notify_all();
}

/// Groups of about equal weight, heaviest kernels first.
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

}  // namespace

Result<std::vector<Compiled>> CompileKernels(std::span<const kir::Kernel* const> kernels, const EmitOptions& options) {
  Cache& cache = TheCache();
  std::vector<std::shared_ptr<Entry>> entries;
  std::vector<Job> jobs;
  std::vector<Key> keys;
  for (const kir::Kernel* kernel : kernels) keys.push_back({kir::Hash(*kernel), options.isa});
  {
    std::lock_guard lock(cache.mutex);
    for (size_t i = 0; i < kernels.size(); ++i) {
      auto [it, fresh] = cache.entries.try_emplace(keys[i]);
      if (fresh) {
        it->second = std::make_shared<Entry>();
        jobs.push_back({kernels[i], keys[i], it->second, kernels[i]->nodes.size() + 16});
      } else {
        ++cache.counters.hits;
      }
      entries.push_back(it->second);
    }
  }
  if (!jobs.empty()) {
    std::vector<std::function<void()>> tasks;
    for (std::vector<Job>& group : Deal(jobs, std::min<size_t>(PoolWidth(), jobs.size()))) {
      tasks.push_back([group = std::move(group), isa = options.isa] { Compile(group, isa); });
    }
    RunOnPool(std::move(tasks));
  }
  std::vector<Compiled> compiled;
  std::unique_lock lock(cache.mutex);
  for (const std::shared_ptr<Entry>& entry : entries) {
    cache.settled.wait(lock, [&] { return entry->result.has_value(); });
    if (!entry->result->ok()) return entry->result->status();
    compiled.push_back(**entry->result);
  }
  return compiled;
}

Result<Compiled> CompileKernel(const kir::Kernel& kernel, const EmitOptions& options) {
  const kir::Kernel* const one[] = {&kernel};
  TENON_ASSIGN_OR_RETURN(std::vector<Compiled> compiled, CompileKernels(one, options));
  return compiled[0];
}

Result<std::string> EmitLlvmText(const kir::Kernel& kernel, const EmitOptions& options) {
  return CompileToText(kernel, options.isa, TextKind::kLlvm);
}
Result<std::string> EmitAssembly(const kir::Kernel& kernel, const EmitOptions& options) {
  return CompileToText(kernel, options.isa, TextKind::kAssembly);
}

CacheCounters Counters() {
  Cache& cache = TheCache();
  std::lock_guard lock(cache.mutex);
  CacheCounters counters = cache.counters;
  counters.live = static_cast<int64_t>(cache.entries.size());
  return counters;
}

void Shutdown() {
  StopPool();
  Cache& cache = TheCache();
  {
    std::lock_guard lock(cache.mutex);
    cache.entries.clear();
  }
  DropSessions();
}

}  // namespace tenon::emit_llvm
