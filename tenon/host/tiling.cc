#include "tenon/host/tiling.h"

#include "tenon/base/strided_copy.h"

namespace tenon::host {

Dims PartDims(const Dims& whole, const compiler::Tiling& tiling, size_t part_rank) {
  Dims dims;
  for (size_t i = whole.size() - part_rank; i < whole.size(); ++i) dims.push_back(whole[i] / tiling.tiles[i]);
  return dims;
}

bool IsWhole(const compiler::Tiling& tiling) { return NumElements(tiling.tiles) == 1; }

void CopyPart(std::byte* whole, const Shape& shape, const Dims& strides_elems, const compiler::Tiling& tiling,
              size_t device, std::byte* part, const plugin::ArraySpec& part_spec, bool to_whole) {
  const int64_t width = ByteWidth(shape.dtype);
  Dims dims = shape.dims;
  Dims whole_strides = strides_elems;
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] /= tiling.tiles[i];
    whole_strides[i] *= width;
    offset += tiling.tile_of_device[device][i] * dims[i] * whole_strides[i];
  }
  Dims part_strides = plugin::DenseByteStrides(part_spec);
  // The dim that a stack has in front is none of the part's.
  if (part_strides.size() < dims.size()) part_strides.insert(part_strides.begin(), 0);
  if (to_whole)
    StridedCopy(whole + offset, whole_strides, part, part_strides, dims, width);
  else
    StridedCopy(part, part_strides, whole + offset, whole_strides, dims, width);
}

}  // namespace tenon::host
