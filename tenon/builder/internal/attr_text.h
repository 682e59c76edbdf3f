#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::builder::internal {

/// An attribute's text taken apart.
struct ParsedAttr {
  enum class Kind : uint8_t {
    kInteger,     ///< `bits`, `element`
    kFloat,       ///< `real`, `element`
    kBool,        ///< `bits`
    kString,      ///< `text`, without quotes and escapes
    kSymbol,      ///< `text`, without @
    kType,        ///< `element`
    kUnit,        ///< Nothing.
    kArray,       ///< `parts`
    kDictionary,  ///< `parts`, called `fields`
    kEnum,        ///< `name` ("precision") and `text` ("HIGH") of #stablehlo<precision HIGH>
    kRecord,      ///< `name`, `parts`, called `fields`, of #stablehlo.name<field = value, ...>
    kTensor,      ///< `dims`, `element`, `text`: its bytes, or those of one element that stands for all
    kForeign,     ///< `name`: the dialect, `text`: as it stands
  };
  Kind kind = Kind::kUnit;
  std::string name, text;
  std::string element;  ///< An element type: "i32", "bf16", "index" ...
  uint64_t bits = 0;
  double real = 0;
  std::vector<int64_t> dims;
  std::vector<ParsedAttr> parts;
  std::vector<std::string> fields;

  /// The field called `field`, or null.
  const ParsedAttr* Find(std::string_view field) const;
};

/// Reads numbers, strings, symbols, element types, arrays, dictionaries, tensors of integers, f32, f64 and bytes, and
/// attributes of StableHLO; those of other dialects stay text. UNIMPLEMENTED for everything else, and for what is
/// malformed, with the place.
Result<ParsedAttr> ParseAttrText(std::string_view text);

}  // namespace tenon::builder::internal
