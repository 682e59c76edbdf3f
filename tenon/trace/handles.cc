#include "tenon/trace/handles.h"

#include <sched.h>

#include <algorithm>
#include <new>

namespace tenon::trace {
namespace {

constexpr size_t kNumShards = 64;
std::atomic<uint32_t> next_serial[kNumHandleKinds];

uint64_t Mix(void* handle) {
  uint64_t x = reinterpret_cast<uintptr_t>(handle);
  x = (x >> 4) * 0x9e3779b97f4a7c15ull;
  return x ^ (x >> 29);
}

}  // namespace

// Open addressing. Destroyed handles stay as markers until their address comes again; when they fill the table, they
// go.
struct alignas(64) Handles::Shard {
  struct Entry {
    void* key;
    HandleInfo info;
  };

  std::atomic<bool> locked{false};
  Entry* entries = nullptr;
  size_t capacity = 0;
  size_t used = 0;

  void Lock() {
    for (int spins = 0; locked.exchange(true, std::memory_order_acquire); ++spins) {
      if (spins > 100) sched_yield();
    }
  }
  void Unlock() { locked.store(false, std::memory_order_release); }

  Entry* Find(void* key) {
    if (capacity == 0) return nullptr;
    for (size_t i = Mix(key) >> 6;; ++i) {
      Entry& entry = entries[i & (capacity - 1)];
      if (entry.key == key) return &entry;
      if (entry.key == nullptr) return nullptr;
    }
  }

  Entry* Insert(void* key) {
    if (Entry* entry = Find(key)) return entry;
    if (2 * (used + 1) > capacity && !Rehash()) return nullptr;
    for (size_t i = Mix(key) >> 6;; ++i) {
      Entry& entry = entries[i & (capacity - 1)];
      if (entry.key != nullptr) continue;
      entry.key = key;
      entry.info = {};
      ++used;
      return &entry;
    }
  }

  bool Rehash() {
    size_t live = 0;
    for (size_t i = 0; i < capacity; ++i) {
      if (entries[i].key != nullptr && entries[i].info.state != HandleInfo::kDestroyed) ++live;
    }
    // Markers are worth keeping while they are few.
    constexpr size_t kKeepAll = 4096;
    const bool drop = capacity >= kKeepAll;
    const size_t old_capacity = capacity;
    Entry* old = entries;
    size_t wanted = std::max<size_t>(64, drop && 4 * live < capacity ? capacity : 2 * capacity);
    Entry* fresh = new (std::nothrow) Entry[wanted]();
    if (fresh == nullptr) return false;
    entries = fresh;
    capacity = wanted;
    used = 0;
    for (size_t i = 0; i < old_capacity; ++i) {
      if (old[i].key == nullptr || (drop && old[i].info.state == HandleInfo::kDestroyed)) continue;
      for (size_t k = Mix(old[i].key) >> 6;; ++k) {
        Entry& entry = entries[k & (capacity - 1)];
        if (entry.key != nullptr) continue;
        entry = old[i];
        ++used;
        break;
      }
    }
    delete[] old;
    return true;
  }
};

Handles& Handles::Get() {
  static Handles& handles = *new Handles;
  return handles;
}

Handles::Shard& Handles::ShardOf(void* handle) {
  static Shard* const shards = new Shard[kNumShards];
  return shards[Mix(handle) % kNumShards];
}

HandleInfo Handles::Created(void* handle, HandleKind kind, int creator, uint64_t now, uint64_t bytes) {
  if (handle == nullptr) return {};
  Shard& shard = ShardOf(handle);
  shard.Lock();
  HandleInfo result;
  if (Shard::Entry* entry = shard.Insert(handle)) {
    HandleInfo& info = entry->info;
    if (info.kind == kind && (info.state == HandleInfo::kLive || info.state == HandleInfo::kDeleted)) {
      ++info.count;
    } else {
      info = {.state = HandleInfo::kLive,
              .kind = kind,
              .serial = 1 + next_serial[static_cast<int>(kind)].fetch_add(1, std::memory_order_relaxed),
              .count = 1,
              .creator = static_cast<uint16_t>(creator),
              .bytes = bytes,
              .created = now};
      if (kind == HandleKind::kBuffer) live_bytes_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    }
    result = info;
  }
  shard.Unlock();
  return result;
}

template <class Change>
HandleInfo Handles::Update(void* handle, HandleKind kind, Change change) {
  if (handle == nullptr) return {};
  Shard& shard = ShardOf(handle);
  shard.Lock();
  HandleInfo before;
  // A handle of another kind at this address went in a way that was not seen.
  if (Shard::Entry* entry = shard.Find(handle); entry != nullptr && entry->info.kind == kind) {
    before = entry->info;
    change(entry->info);
    if (kind == HandleKind::kBuffer && before.state == HandleInfo::kLive && entry->info.state != HandleInfo::kLive)
      live_bytes_.fetch_sub(static_cast<int64_t>(before.bytes), std::memory_order_relaxed);
  }
  shard.Unlock();
  return before;
}

HandleInfo Handles::Find(void* handle, HandleKind kind) {
  return Update(handle, kind, [](HandleInfo&) {});
}

HandleInfo Handles::Destroyed(void* handle, HandleKind kind) {
  return Update(handle, kind, [](HandleInfo& info) {
    if (info.state != HandleInfo::kDestroyed && --info.count == 0) info.state = HandleInfo::kDestroyed;
  });
}

HandleInfo Handles::Deleted(void* handle, HandleKind kind) {
  return Update(handle, kind, [](HandleInfo& info) {
    if (info.state == HandleInfo::kLive) info.state = HandleInfo::kDeleted;
  });
}

void Handles::Forget(void* handle) {
  Shard& shard = ShardOf(handle);
  shard.Lock();
  if (Shard::Entry* entry = shard.Find(handle)) entry->info = {.state = HandleInfo::kDestroyed};
  shard.Unlock();
}

void Handles::SetReady(void* handle, uint32_t serial) {
  Update(handle, HandleKind::kEvent, [&](HandleInfo& info) { info.ready |= info.serial == serial; });
}

std::vector<HandleInfo> Handles::Live() {
  std::vector<HandleInfo> live;
  Shard* shards = &ShardOf(nullptr) - Mix(nullptr) % kNumShards;
  for (size_t i = 0; i < kNumShards; ++i) {
    shards[i].Lock();
    for (size_t k = 0; k < shards[i].capacity; ++k) {
      const Shard::Entry& entry = shards[i].entries[k];
      if (entry.key != nullptr && entry.info.state != HandleInfo::kDestroyed) live.push_back(entry.info);
    }
    shards[i].Unlock();
  }
  std::ranges::sort(live, [](const HandleInfo& a, const HandleInfo& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.serial < b.serial;
  });
  return live;
}

void Handles::Clear() {
  Shard* shards = &ShardOf(nullptr) - Mix(nullptr) % kNumShards;
  for (size_t i = 0; i < kNumShards; ++i) {
    shards[i].Lock();
    delete[] shards[i].entries;
    shards[i].entries = nullptr;
    shards[i].capacity = shards[i].used = 0;
    shards[i].Unlock();
  }
  for (std::atomic<uint32_t>& serial : next_serial) serial = 0;
  live_bytes_ = 0;
}

void Handles::UnlockAfterFork() {
  Shard* shards = &ShardOf(nullptr) - Mix(nullptr) % kNumShards;
  for (size_t i = 0; i < kNumShards; ++i) shards[i].Unlock();
}

}  // namespace tenon::trace
