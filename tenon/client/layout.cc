#include "tenon/client/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "tenon/client/internal/raw_enum.h"

namespace tenon::client {
namespace {
// Reads integers separated by commas up to `close`; moves `text` behind it.
Result<std::vector<int64_t>> ReadList(std::string_view& text, char close) {
  std::vector<int64_t> list;
  while (!text.empty() && text.front() != close) {
    int64_t number;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return InvalidArgument(fmt::format("expected an integer at '{}' in a layout", text));
    list.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.empty() && text.front() == ',')
      text.remove_prefix(1);
    else
      break;
  }
  return list;
}
}  // namespace

TiledLayout TiledLayout::RowMajor(size_t rank) {
  TiledLayout layout;
  for (size_t i = rank; i-- > 0;) layout.minor_to_major.push_back(static_cast<int64_t>(i));
  return layout;
}

TiledLayout TiledLayout::ColumnMajor(size_t rank) {
  TiledLayout layout;
  for (size_t i = 0; i < rank; ++i) layout.minor_to_major.push_back(static_cast<int64_t>(i));
  return layout;
}

std::string TiledLayout::ToString() const {
  std::string text = fmt::format("{{{}", fmt::join(minor_to_major, ","));
  if (!tiles.empty()) text += ":T";
  for (const auto& tile : tiles) text += fmt::format("({})", fmt::join(tile, ","));
  return text + "}";
}

Result<TiledLayout> TiledLayout::Parse(std::string_view text) {
  const std::string_view all = text;
  const auto bad = [&] {
    return InvalidArgument(fmt::format("'{}' is not a layout such as {{1,0}} or {{1,0:T(8,128)}}", all));
  };
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return bad();
  text = text.substr(1, text.size() - 2);
  TiledLayout layout;
  TENON_ASSIGN_OR_RETURN(layout.minor_to_major, ReadList(text, ':'));
  if (text.empty()) return layout;
  if (text.front() != ':') return bad();
  text.remove_prefix(1);
  if (text.empty() || text.front() != 'T') return layout;
  text.remove_prefix(1);
  while (!text.empty() && text.front() == '(') {
    text.remove_prefix(1);
    TENON_ASSIGN_OR_RETURN(std::vector<int64_t> tile, ReadList(text, ')'));
    if (text.empty() || text.front() != ')') return bad();
    text.remove_prefix(1);
    layout.tiles.push_back(std::move(tile));
  }
  return layout;
}

CLayout::CLayout(const Layout& layout) {
  c_.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  if (const auto* tiled = std::get_if<TiledLayout>(&layout)) {
    numbers_ = tiled->minor_to_major;
    for (const auto& tile : tiled->tiles) {
      tile_dims_.insert(tile_dims_.end(), tile.begin(), tile.end());
      tile_ranks_.push_back(tile.size());
    }
    c_.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    c_.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    c_.tiled.minor_to_major = numbers_.data();
    c_.tiled.minor_to_major_size = numbers_.size();
    c_.tiled.tile_dims = tile_dims_.data();
    c_.tiled.tile_dim_sizes = tile_ranks_.data();
    c_.tiled.num_tiles = tile_ranks_.size();
  } else {
    numbers_ = std::get<StridedLayout>(layout).byte_strides;
    c_.type = PJRT_Buffer_MemoryLayout_Type_Strides;
    c_.strides.struct_size = PJRT_Buffer_MemoryLayout_Strides_STRUCT_SIZE;
    c_.strides.byte_strides = numbers_.data();
    c_.strides.num_byte_strides = numbers_.size();
  }
}

Layout LayoutFromC(const PJRT_Buffer_MemoryLayout& c) {
  if (internal::RawEnum(c.type) == PJRT_Buffer_MemoryLayout_Type_Strides) {
    return StridedLayout{{c.strides.byte_strides, c.strides.byte_strides + c.strides.num_byte_strides}};
  }
  TiledLayout layout{{c.tiled.minor_to_major, c.tiled.minor_to_major + c.tiled.minor_to_major_size}, {}};
  const int64_t* dims = c.tiled.tile_dims;
  for (size_t i = 0; i < c.tiled.num_tiles; ++i) {
    layout.tiles.emplace_back(dims, dims + c.tiled.tile_dim_sizes[i]);
    dims += c.tiled.tile_dim_sizes[i];
  }
  return layout;
}

}  // namespace tenon::client
