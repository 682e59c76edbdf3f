#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/builder/literal.h"
#include "tenon/builder/type.h"

namespace tenon::builder {

/// Which dims of a product's operands belong together: pairs go by position.
struct DotDims {
  Dims lhs_batching = {}, rhs_batching = {}, lhs_contracting = {}, rhs_contracting = {};
  friend bool operator==(const DotDims&, const DotDims&) = default;
};

/// See StableHLO's gather. `index_vector_dim` may equal the rank of the indices: each is a vector of one then.
struct GatherDims {
  Dims offset_dims = {}, collapsed_slice_dims = {}, operand_batching_dims = {}, start_indices_batching_dims = {},
       start_index_map = {};
  int64_t index_vector_dim = 0;
  friend bool operator==(const GatherDims&, const GatherDims&) = default;
};

/// See StableHLO's scatter.
struct ScatterDims {
  Dims update_window_dims = {}, inserted_window_dims = {}, input_batching_dims = {}, scatter_indices_batching_dims = {},
       scatter_dims_to_operand_dims = {};
  int64_t index_vector_dim = 0;
  friend bool operator==(const ScatterDims&, const ScatterDims&) = default;
};

/// Which dims of a convolution mean what.
struct ConvDims {
  int64_t input_batch = 0, input_feature = 1;
  Dims input_spatial = {};
  int64_t kernel_output_feature = 0, kernel_input_feature = 1;
  Dims kernel_spatial = {};
  int64_t output_batch = 0, output_feature = 1;
  Dims output_spatial = {};

  /// [N, C, spatial...] x [O, I, spatial...] -> [N, O, spatial...]
  static ConvDims ChannelsFirst(int64_t spatial_rank);
  /// [N, spatial..., C] x [spatial..., I, O] -> [N, spatial..., O]
  static ConvDims ChannelsLast(int64_t spatial_rank);
  friend bool operator==(const ConvDims&, const ConvDims&) = default;
};

/// Padding below and above one dim.
using Padding = std::vector<std::pair<int64_t, int64_t>>;

/// The value of an attribute. Types of its own stand for what is spelled differently in text.
struct AttrInt32 {
  int32_t value;
};
struct AttrFloat {
  float value;
};
struct AttrString {
  std::string value;  ///< Any bytes.
};
struct AttrSymbol {
  std::string name;
};
struct AttrEnum {
  std::string_view type, value;  ///< "comparison_direction", "LT"
};
struct AttrUnit {};
/// A matrix of integers: dense<...> : tensor<rows x columns x i64>.
struct AttrMatrix {
  int64_t rows, columns;
  std::vector<int64_t> values;
};
/// As it is in text.
struct AttrText {
  std::string text;
};
using Attribute =
    std::variant<int64_t, bool, Dims, std::vector<bool>, AttrInt32, AttrFloat, AttrString, AttrSymbol, AttrEnum,
                 AttrUnit, AttrMatrix, AttrText, DotDims, GatherDims, ScatterDims, ConvDims, Literal>;

struct NamedAttribute {
  std::string name;
  Attribute value;
};

/// The attribute in StableHLO's text.
std::string ToString(const Attribute& attribute);
/// With quotes, and escapes for what may not stand between them.
std::string Quoted(std::string_view text);

/// Where an array lives when there are several devices, as an attribute of arguments, results and ops.
struct Sharding {
  std::string name;  ///< "sdy.sharding" or "mhlo.sharding"; empty: none.
  std::string text;

  /// Shardy's: per dim the mesh axes that divide it, most significant first. Needs Module::AddMesh.
  static Sharding Sdy(std::string_view mesh, const std::vector<std::vector<std::string>>& dims);
  /// GSPMD's, e.g. "{devices=[2,1]<=[2]}" or "{replicated}".
  static Sharding Mhlo(std::string_view text);
  bool empty() const { return name.empty(); }
};

}  // namespace tenon::builder
