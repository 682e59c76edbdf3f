#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tenon/runtime/services.h"

namespace tenon::ffi_host {

/// Arrays of elements smaller than a byte: Tenon keeps an element in a byte, handlers expect them packed, the first in
/// a byte's lowest bits. One for each call.
class SubByteArrays {
 public:
  /// Where a handler finds the array `view`: its own memory, or a packed copy of it for types smaller than a byte, the
  /// same one for all views of the same memory. Null when there is no memory for a copy.
  void* Packed(const runtime::View& view);
  /// Writes the packed copy of `view`, if it has one, to the view's memory.
  void Unpack(const runtime::View& view) const;

 private:
  struct Copy {
    const void* of;
    std::unique_ptr<uint8_t[]> bytes;
  };
  const Copy* Find(const void* data) const;
  std::vector<Copy> copies_;
};

}  // namespace tenon::ffi_host
