#include "tenon/builder/attribute.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

namespace tenon::builder {
namespace {

ConvDims MakeConvDims(int64_t spatial_rank, int64_t first, ConvDims dims) {
  Dims spatial(static_cast<size_t>(spatial_rank));
  std::iota(spatial.begin(), spatial.end(), first);
  dims.input_spatial = dims.output_spatial = spatial;
  return dims;
}

std::string List(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

std::string Record(std::string_view name, std::initializer_list<std::pair<std::string_view, const Dims*>> lists,
                   int64_t index_vector_dim) {
  std::string text = fmt::format("#stablehlo.{}<", name);
  for (const auto& [field, dims] : lists) {
    if (!dims->empty()) text += fmt::format("{} = {}, ", field, List(*dims));
  }
  if (index_vector_dim >= 0) return text + fmt::format("index_vector_dim = {}>", index_vector_dim);
  if (text.ends_with(", ")) text.resize(text.size() - 2);
  return text + ">";
}

std::string ConvList(char first, int64_t first_dim, char second, int64_t second_dim, const Dims& spatial) {
  std::vector<std::string> letters(spatial.size() + 2);
  letters[static_cast<size_t>(first_dim)] = first;
  letters[static_cast<size_t>(second_dim)] = second;
  for (size_t i = 0; i < spatial.size(); ++i) letters[static_cast<size_t>(spatial[i])] = fmt::format("{}", i);
  return fmt::format("[{}]", fmt::join(letters, ", "));
}

std::string MatrixText(const AttrMatrix& m) {
  const std::string type = fmt::format("tensor<{}x{}xi64>", m.rows, m.columns);
  if (m.values.empty()) return fmt::format("dense<> : {}", type);
  std::string text = "dense<[";
  for (int64_t row = 0; row < m.rows; ++row) {
    const auto* begin = m.values.data() + row * m.columns;
    text += fmt::format("{}[{}]", row == 0 ? "" : ", ", fmt::join(begin, begin + m.columns, ", "));
  }
  return fmt::format("{}]> : {}", text, type);
}

struct Printer {
  std::string operator()(int64_t v) const { return fmt::format("{} : i64", v); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(const Dims& v) const {
    return v.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(v, ", "));
  }
  std::string operator()(const std::vector<bool>& v) const {
    std::string text;
    for (const bool b : v) text += fmt::format("{}{}", text.empty() ? ": " : ", ", b);
    return fmt::format("array<i1{}>", text);
  }
  std::string operator()(const AttrInt32& v) const { return fmt::format("{} : i32", v.value); }
  // Nine digits bring every float back.
  std::string operator()(const AttrFloat& v) const { return fmt::format("{:.8e} : f32", v.value); }
  std::string operator()(const AttrString& v) const { return Quoted(v.value); }
  std::string operator()(const AttrSymbol& v) const { return "@" + v.name; }
  std::string operator()(const AttrEnum& v) const { return fmt::format("#stablehlo<{} {}>", v.type, v.value); }
  std::string operator()(const AttrUnit&) const { return "unit"; }
  std::string operator()(const AttrMatrix& v) const { return MatrixText(v); }
  std::string operator()(const AttrText& v) const { return v.text; }
  std::string operator()(const DotDims& v) const {
    return Record("dot",
                  {{"lhs_batching_dimensions", &v.lhs_batching},
                   {"rhs_batching_dimensions", &v.rhs_batching},
                   {"lhs_contracting_dimensions", &v.lhs_contracting},
                   {"rhs_contracting_dimensions", &v.rhs_contracting}},
                  -1);
  }
  std::string operator()(const GatherDims& v) const {
    return Record("gather",
                  {{"offset_dims", &v.offset_dims},
                   {"collapsed_slice_dims", &v.collapsed_slice_dims},
                   {"operand_batching_dims", &v.operand_batching_dims},
                   {"start_indices_batching_dims", &v.start_indices_batching_dims},
                   {"start_index_map", &v.start_index_map}},
                  v.index_vector_dim);
  }
  std::string operator()(const ScatterDims& v) const {
    return Record("scatter",
                  {{"update_window_dims", &v.update_window_dims},
                   {"inserted_window_dims", &v.inserted_window_dims},
                   {"input_batching_dims", &v.input_batching_dims},
                   {"scatter_indices_batching_dims", &v.scatter_indices_batching_dims},
                   {"scatter_dims_to_operand_dims", &v.scatter_dims_to_operand_dims}},
                  v.index_vector_dim);
  }
  std::string operator()(const ConvDims& v) const {
    return fmt::format("#stablehlo.conv<{}x{}->{}>",
                       ConvList('b', v.input_batch, 'f', v.input_feature, v.input_spatial),
                       ConvList('i', v.kernel_input_feature, 'o', v.kernel_output_feature, v.kernel_spatial),
                       ConvList('b', v.output_batch, 'f', v.output_feature, v.output_spatial));
  }
  std::string operator()(const Literal& v) const { return v.ToString(); }
};

}  // namespace

ConvDims ConvDims::ChannelsFirst(int64_t spatial_rank) {
  ConvDims dims = MakeConvDims(spatial_rank, 2, {});
  dims.kernel_spatial = dims.input_spatial;
  return dims;
}

ConvDims ConvDims::ChannelsLast(int64_t spatial_rank) {
  ConvDims dims = MakeConvDims(spatial_rank, 1, {});
  dims.input_feature = dims.output_feature = spatial_rank + 1;
  dims.kernel_input_feature = spatial_rank;
  dims.kernel_output_feature = spatial_rank + 1;
  dims.kernel_spatial.resize(static_cast<size_t>(spatial_rank));
  std::iota(dims.kernel_spatial.begin(), dims.kernel_spatial.end(), 0);
  return dims;
}

std::string ToString(const Attribute& attribute) { return std::visit(Printer(), attribute); }

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      quoted += fmt::format("\\{:02X}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

Sharding Sharding::Sdy(std::string_view mesh, const std::vector<std::vector<std::string>>& dims) {
  std::string text = fmt::format("<@{}, [", mesh);
  for (size_t i = 0; i < dims.size(); ++i) {
    text += i == 0 ? "{" : ", {";
    for (size_t j = 0; j < dims[i].size(); ++j) text += (j == 0 ? "" : ", ") + Quoted(dims[i][j]);
    text += "}";
  }
  return {"sdy.sharding", text + "]>"};
}

Sharding Sharding::Mhlo(std::string_view text) { return {"mhlo.sharding", Quoted(text)}; }

}  // namespace tenon::builder
