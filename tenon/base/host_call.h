#pragma once

namespace tenon {

/// While one lives, its thread runs a function of whoever uses this library (a handler of a custom call), which may
/// call the library again.
class HostCallScope {
 public:
  HostCallScope() { ++Depth(); }
  ~HostCallScope() { --Depth(); }
  HostCallScope(const HostCallScope&) = delete;
  HostCallScope& operator=(const HostCallScope&) = delete;

  static bool IsInside() { return Depth() != 0; }

 private:
  static int& Depth() {
    static thread_local int depth = 0;
    return depth;
  }
};

}  // namespace tenon
