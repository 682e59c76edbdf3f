#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/vhlo/file.h"
#include "tenon/vhlo/wire.h"

namespace tenon::vhlo {

/// MLIR bytecode taken apart into views of its bytes. Nothing is decoded beyond the framing.
struct Container {
  struct Dialect {
    std::string_view name;
    std::string_view version;  ///< Its version record; empty when there is none.
  };
  struct OpName {
    uint32_t dialect;
    std::string_view name;   ///< Without the dialect.
    bool registered = true;  ///< Written where the op was known; when not, properties are one attribute.
  };
  struct Entry {
    uint32_t dialect;
    bool custom;  ///< In the dialect's own encoding; otherwise assembly text that ends in NUL.
    std::string_view bytes;
  };

  uint64_t version = 0;
  std::string_view producer;
  std::vector<std::string_view> strings;
  std::vector<Dialect> dialects;
  std::vector<OpName> op_names;
  std::vector<Entry> attrs;
  std::vector<Entry> types;
  std::vector<std::string_view> properties;
  std::string_view ir;
};

/// Takes bytecode of versions 0 to 6 apart. Every index in the result is in range, and the memory it takes is bounded
/// by a small multiple of the input. `bytes` must outlive the result. INVALID_ARGUMENT names the section at fault.
Result<Container> ReadContainer(std::string_view bytes);

/// Skips the order in which so many values are used, which nothing depends on.
void SkipUseListOrder(Cursor& in, size_t num_values);

}  // namespace tenon::vhlo
