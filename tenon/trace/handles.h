#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/trace/function.h"

namespace tenon::trace {

/// What is known of a handle.
struct HandleInfo {
  enum State : uint8_t { kUnknown, kLive, kDeleted, kDestroyed };
  State state = kUnknown;
  HandleKind kind = HandleKind::kNone;
  uint32_t serial = 0;   // 1, 2 ... per kind; 0: never seen
  uint32_t count = 0;    // how often it was handed out and not given back
  uint16_t creator = 0;  // function
  bool ready = false;    // an event that has fired
  uint64_t bytes = 0;    // of a buffer
  uint64_t created = 0;  // nanoseconds
};

/// Every handle that callers got, by address, and those destroyed whose address nobody has got since. Any thread; each
/// call locks one of many shards for a few instructions. Where memory runs out, handles go unknown.
class Handles {
 public:
  static Handles& Get();

  /// A plugin handed `handle` out. Handed out again while live: counted, as for plugins that share one event.
  HandleInfo Created(void* handle, HandleKind kind, int creator, uint64_t now, uint64_t bytes);
  HandleInfo Find(void* handle, HandleKind kind);
  /// The caller gives the handle back; returns what it was before. The last owner's call makes it kDestroyed.
  HandleInfo Destroyed(void* handle, HandleKind kind);
  HandleInfo Deleted(void* handle, HandleKind kind);
  /// The address says nothing any more.
  void Forget(void* handle);
  void SetReady(void* handle, uint32_t serial);

  /// Handles that are live, by kind and serial.
  std::vector<HandleInfo> Live();
  /// Bytes of the buffers that are live and not deleted.
  int64_t live_bytes() const { return live_bytes_.load(std::memory_order_relaxed); }

  /// Forgets everything.
  void Clear();
  /// In a child of fork(): no other thread holds a lock here.
  void UnlockAfterFork();

 private:
  struct Shard;
  Shard& ShardOf(void* handle);
  /// Applies `change` to what is known of the handle, if it is of this kind; returns what it was before.
  template <class Change>
  HandleInfo Update(void* handle, HandleKind kind, Change change);
  std::atomic<int64_t> live_bytes_{0};
};

}  // namespace tenon::trace
