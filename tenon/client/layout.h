#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tenon/abi/pjrt_base.h"
#include "tenon/base/shape.h"

namespace tenon::client {

/// How an array lies in memory: dimensions from fastest to slowest, and tiles.
struct TiledLayout {
  std::vector<int64_t> minor_to_major;
  std::vector<std::vector<int64_t>> tiles;

  /// {rank-1, ..., 0}.
  static TiledLayout RowMajor(size_t rank);
  /// {0, ..., rank-1}.
  static TiledLayout ColumnMajor(size_t rank);
  /// "{1,0}", "{1,0:T(8,128)(2,1)}".
  std::string ToString() const;
  /// The opposite; parts after the tiles (element size, memory space) are skipped.
  static Result<TiledLayout> Parse(std::string_view text);
  friend bool operator==(const TiledLayout&, const TiledLayout&) = default;
};

/// How an array lies in memory: bytes between neighbours per dimension, possibly negative or 0.
struct StridedLayout {
  std::vector<int64_t> byte_strides;
  friend bool operator==(const StridedLayout&, const StridedLayout&) = default;
};

using Layout = std::variant<TiledLayout, StridedLayout>;

/// The C form of a layout, and the storage it points into. Cannot be moved.
class CLayout {
 public:
  explicit CLayout(const Layout& layout);
  CLayout(const CLayout&) = delete;
  CLayout& operator=(const CLayout&) = delete;
  PJRT_Buffer_MemoryLayout* get() { return &c_; }

 private:
  std::vector<int64_t> numbers_, tile_dims_;
  std::vector<size_t> tile_ranks_;
  PJRT_Buffer_MemoryLayout c_{};
};
/// A copy of a C layout.
Layout LayoutFromC(const PJRT_Buffer_MemoryLayout& c);

}  // namespace tenon::client
