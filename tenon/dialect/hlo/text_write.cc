// Module -> HLO text.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tenon/dialect/hlo/enum_names.h"
#include "tenon/dialect/hlo/module.h"
#include "tenon/dialect/hlo/text_scanner.h"

namespace tenon::hlo {
namespace {

std::string Ints(const std::vector<int64_t>& values) { return fmt::format("{{{}}}", fmt::join(values, ",")); }

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7F)
      out += fmt::format("\\{:03o}", byte);
    else
      out.push_back(c);
  }
  return out + "\"";
}

std::string Real(double value, bool single) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

std::string Element(const TypeInfo& type, const char* at) {
  switch (type.kind) {
    case TypeKind::kBool:
      return *at != 0 ? "true" : "false";
    case TypeKind::kSigned: {
      int64_t v = 0;
      std::memcpy(&v, at, static_cast<size_t>(type.bytes));
      const int unused = 64 - 8 * type.bytes;
      return std::to_string(static_cast<int64_t>(static_cast<uint64_t>(v) << unused) >> unused);
    }
    case TypeKind::kUnsigned: {
      uint64_t v = 0;
      std::memcpy(&v, at, static_cast<size_t>(type.bytes));
      return std::to_string(v);
    }
    case TypeKind::kFloat:
      return Real(FloatValue(type, at), type.number != kF64);
    case TypeKind::kComplex: {
      const bool single = type.number == kC64;
      const TypeInfo& part = *FindType(single ? kF32 : kF64);
      return fmt::format("({}, {})", Real(FloatValue(part, at), single),
                         Real(FloatValue(part, at + part.bytes), single));
    }
    case TypeKind::kOther:
      return "";
  }
  return "";
}

void Elements(const Literal& literal, const Shape& shape, const TypeInfo& type, size_t dim, size_t& at,
              std::string& out) {
  if (dim == shape.dims.size()) {
    out += Element(type, literal.data.data() + at);
    at += static_cast<size_t>(type.bytes);
    return;
  }
  out += dim + 1 == shape.dims.size() ? "{" : "{ ";
  for (int64_t i = 0; i < shape.dims[dim]; ++i) {
    if (i > 0) out += ", ";
    Elements(literal, shape, type, dim + 1, at, out);
    // Nothing to tell apart below an empty dim.
    if (literal.data.empty() && i > 1000) break;
  }
  out += dim + 1 == shape.dims.size() ? "}" : " }";
}

void WriteLiteral(const Literal& literal, const Shape& shape, std::string& out) {
  if (shape.type == kTuple) {
    out += "( ";
    for (size_t m = 0; m < shape.members.size(); ++m) {
      if (m > 0) out += ", ";
      WriteLiteral(literal.members[m], shape.members[m], out);
    }
    out += " )";
    return;
  }
  size_t at = 0;
  if (!shape.dims.empty() && literal.data.empty()) {
    // XLA's parser wants the braces of the dims outside of the empty one.
    Shape outer = shape;
    size_t rank = 0;
    while (rank < shape.dims.size() && shape.dims[rank] != 0) ++rank;
    outer.dims.resize(rank + 1);
    Elements(literal, outer, *FindType(shape.type), 0, at, out);
    return;
  }
  Elements(literal, shape, *FindType(shape.type), 0, at, out);
}

std::string TextOf(const Sharding& s) {
  using Kind = Sharding::Kind;
  switch (s.kind) {
    case Kind::kReplicated:
      return "{replicated}";
    case Kind::kMaximal:
      return fmt::format("{{maximal device={}}}", s.devices.empty() ? 0 : s.devices[0]);
    case Kind::kManual:
      return "{manual}";
    case Kind::kUnknown:
      return "{unknown}";
    case Kind::kUnreduced:
      return "{unreduced}";
    case Kind::kTuple: {
      std::string text = "{";
      for (size_t m = 0; m < s.members.size(); ++m) text += (m > 0 ? ", " : "") + TextOf(s.members[m]);
      return text + "}";
    }
    case Kind::kTiled:
      break;
  }
  std::string text = fmt::format("{{devices=[{}]{}", fmt::join(s.tiles, ","), fmt::join(s.devices, ","));
  if (s.trailing.size() == 1 && s.trailing[0] == Kind::kReplicated) return text + " last_tile_dim_replicate}";
  if (!s.trailing.empty()) {
    text += " last_tile_dims={";
    for (size_t n = 0; n < s.trailing.size(); ++n) {
      text += n > 0 ? ", " : "";
      text += s.trailing[n] == Kind::kManual      ? "manual"
              : s.trailing[n] == Kind::kUnreduced ? "unreduced"
                                                  : "replicated";
    }
    text += "}";
  }
  return text + "}";
}

std::string Window(const Instruction& i) {
  std::string size, stride, pad, lhs, rhs, reversal;
  bool strided = false, padded = false, dilated_lhs = false, dilated_rhs = false, reversed = false;
  for (const WindowDim& w : i.extras().window) {
    const std::string_view x = size.empty() ? "" : "x";
    size += fmt::format("{}{}", x, w.size);
    stride += fmt::format("{}{}", x, w.stride);
    pad += fmt::format("{}{}_{}", x, w.low, w.high);
    lhs += fmt::format("{}{}", x, w.base_dilation);
    rhs += fmt::format("{}{}", x, w.window_dilation);
    reversal += fmt::format("{}{}", x, w.reversal ? 1 : 0);
    strided = strided || w.stride != 1;
    padded = padded || w.low != 0 || w.high != 0;
    dilated_lhs = dilated_lhs || w.base_dilation != 1;
    dilated_rhs = dilated_rhs || w.window_dilation != 1;
    reversed = reversed || w.reversal;
  }
  std::string text = "{size=" + size;
  if (strided) text += " stride=" + stride;
  if (padded) text += " pad=" + pad;
  if (dilated_lhs) text += " lhs_dilate=" + lhs;
  if (dilated_rhs) text += " rhs_dilate=" + rhs;
  if (reversed) text += " rhs_reversal=" + reversal;
  return text + "}";
}

std::string DimLabels(const ConvDims& c) {
  const auto labels = [](char batch, int64_t batch_dim, char feature, int64_t feature_dim,
                         const std::vector<int64_t>& spatial) {
    std::string text(spatial.size() + 2, '?');
    const auto set = [&](int64_t dim, char label) {
      if (dim >= 0 && dim < static_cast<int64_t>(text.size())) text[static_cast<size_t>(dim)] = label;
    };
    set(batch_dim, batch);
    set(feature_dim, feature);
    for (size_t d = 0; d < spatial.size(); ++d) set(spatial[d], static_cast<char>('0' + d));
    return text;
  };
  return labels('b', c.input_batch, 'f', c.input_feature, c.input_spatial) + "_" +
         labels('i', c.kernel_input, 'o', c.kernel_output, c.kernel_spatial) + "->" +
         labels('b', c.output_batch, 'f', c.output_feature, c.output_spatial);
}

template <size_t n>
std::string_view NameAt(const std::string_view (&names)[n], int64_t index) {
  return index >= 0 && index < static_cast<int64_t>(n) ? names[index] : names[0];
}

class TextWriter {
 public:
  explicit TextWriter(const Module& module) : module_(module) {}

  std::string Write() {
    out_ = "HloModule " + module_.name;
    if (!module_.aliases.empty()) {
      std::string list;
      for (const Alias& a : module_.aliases) {
        list += fmt::format("{}{}: ({}, {}, {})", list.empty() ? " " : ", ", Ints(a.output_index), a.parameter,
                            Ints(a.parameter_index), a.must ? "must-alias" : "may-alias");
      }
      Attribute("input_output_alias", "{" + list + " }");
    }
    if (!module_.donors.empty()) {
      std::string list;
      for (const Donor& d : module_.donors)
        list += fmt::format("{}({}, {})", list.empty() ? " " : ", ", d.parameter, Ints(d.parameter_index));
      Attribute("buffer_donor", "{" + list + " }");
    }
    const Computation& entry = module_.computations[module_.entry];
    std::string layout;
    for (size_t p = 0; p < entry.parameters.size(); ++p) {
      layout += (p > 0 ? ", " : "") + ToText(module_.signature ? module_.signature->parameters[p]
                                                               : entry.instructions[entry.parameters[p]].shape);
    }
    Attribute(
        "entry_computation_layout",
        fmt::format("{{({})->{}}}", layout,
                    ToText(module_.signature ? module_.signature->result : entry.instructions[entry.root].shape)));
    if (module_.replica_count > 1) Attribute("replica_count", std::to_string(module_.replica_count));
    if (module_.num_partitions > 1) Attribute("num_partitions", std::to_string(module_.num_partitions));
    if (!module_.frontend_attributes.empty()) Attribute("frontend_attributes", Map(module_.frontend_attributes));
    out_ += "\n";
    for (uint32_t c = 0; c < module_.computations.size(); ++c) WriteComputation(c);
    return std::move(out_);
  }

 private:
  void Attribute(std::string_view key, std::string_view value) { out_ += fmt::format(", {}={}", key, value); }
  void IfTrue(std::string_view key, bool value) {
    if (value) Attribute(key, "true");
  }

  static std::string Map(const TextMap& map) {
    std::string text = "{";
    for (const auto& [key, value] : map) text += fmt::format("{}{}={}", text.size() > 1 ? "," : "", key, Quoted(value));
    return text + "}";
  }

  void WriteComputation(uint32_t index) {
    const Computation& c = module_.computations[index];
    out_ += fmt::format("\n{}{} {{\n", index == module_.entry ? "ENTRY " : "", c.name);
    for (uint32_t n = 0; n < c.instructions.size(); ++n) {
      const Instruction& i = c.instructions[n];
      out_ += fmt::format("  {}{} = {} {}(", n == c.root ? "ROOT " : "", i.name, ToText(i.shape), i.opcode);
      if (i.opcode == "parameter") {
        out_ += std::to_string(i.number);
      } else if (i.opcode == "constant") {
        WriteLiteral(*i.extras().literal, i.shape, out_);
      } else {
        for (size_t o = 0; o < i.operands.size(); ++o) out_ += (o > 0 ? ", " : "") + c.instructions[i.operands[o]].name;
      }
      out_ += ")";
      WriteAttributes(i);
      out_ += "\n";
    }
    out_ += "}\n";
  }

  void WriteAttributes(const Instruction& i) {
    const Extras& x = i.extras();
    const std::string_view op = i.opcode;
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return std::find(names.begin(), names.end(), op) != names.end();
    };
    if (op == "iota" && !i.dims.empty()) {
      Attribute("iota_dimension", std::to_string(i.dims[0]));
    } else if (is({"broadcast", "transpose", "reverse", "concatenate", "reduce", "map", "sort", "get-dimension-size",
                   "set-dimension-size", "all-gather", "all-gather-start", "reduce-scatter"}) ||
               (op == "all-to-all" && !i.dims.empty())) {
      Attribute("dimensions", Ints(i.dims));
    }
    if (op == "get-tuple-element") Attribute("index", std::to_string(i.number));
    if (!x.slice.empty()) {
      std::string list;
      for (const SliceDim& s : x.slice) {
        list += fmt::format("{}[{}:{}", list.empty() ? "" : ", ", s.start, s.limit);
        list += s.stride == 1 ? "]" : fmt::format(":{}]", s.stride);
      }
      Attribute("slice", "{" + list + "}");
    } else if (op == "slice") {
      Attribute("slice", "{}");
    }
    if (op == "pad") {
      std::string text;
      for (const PadDim& p : x.padding) {
        text += fmt::format("{}{}_{}", text.empty() ? "" : "x", p.low, p.high);
        if (p.interior != 0) text += fmt::format("_{}", p.interior);
      }
      Attribute("padding", text);
    }
    if (op == "dynamic-slice") Attribute("dynamic_slice_sizes", Ints(x.sizes));
    if (!x.window.empty()) Attribute("window", Window(i));
    if (x.conv) Attribute("dim_labels", DimLabels(*x.conv));
    if (op == "convolution") {
      if (x.feature_group_count > 1) Attribute("feature_group_count", std::to_string(x.feature_group_count));
      if (x.batch_group_count > 1) Attribute("batch_group_count", std::to_string(x.batch_group_count));
    }
    if (x.dot) WriteDot(*x.dot);
    if (x.gather) {
      Attribute("offset_dims", Ints(x.gather->offset_dims));
      Attribute("collapsed_slice_dims", Ints(x.gather->collapsed_slice_dims));
      Attribute("start_index_map", Ints(x.gather->start_index_map));
      if (!x.gather->operand_batching.empty()) Attribute("operand_batching_dims", Ints(x.gather->operand_batching));
      if (!x.gather->indices_batching.empty())
        Attribute("start_indices_batching_dims", Ints(x.gather->indices_batching));
      Attribute("index_vector_dim", std::to_string(x.gather->index_vector_dim));
      Attribute("slice_sizes", Ints(x.sizes));
    }
    if (x.scatter) {
      Attribute("update_window_dims", Ints(x.scatter->update_window_dims));
      Attribute("inserted_window_dims", Ints(x.scatter->inserted_window_dims));
      Attribute("scatter_dims_to_operand_dims", Ints(x.scatter->scatter_dims_to_operand_dims));
      if (!x.scatter->input_batching.empty()) Attribute("input_batching_dims", Ints(x.scatter->input_batching));
      if (!x.scatter->indices_batching.empty())
        Attribute("scatter_indices_batching_dims", Ints(x.scatter->indices_batching));
      Attribute("index_vector_dim", std::to_string(x.scatter->index_vector_dim));
    }
    IfTrue("indices_are_sorted", x.indices_are_sorted);
    IfTrue("unique_indices", x.unique_indices);
    if (op == "fft") {
      Attribute("fft_type", NameAt(kFftTypes, x.fft_type));
      Attribute("fft_length", Ints(x.sizes));
    }
    if (op == "triangular-solve") {
      IfTrue("left_side", x.left_side);
      IfTrue("lower", x.lower);
      IfTrue("unit_diagonal", x.unit_diagonal);
      Attribute("transpose_a", NameAt(kTransposes, x.transpose_a));
    }
    if (op == "cholesky") IfTrue("lower", x.lower);
    if (op.starts_with("batch-norm")) {
      Attribute("epsilon", Real(static_cast<double>(x.epsilon), true));
      Attribute("feature_index", std::to_string(x.feature_index));
    }
    if (op == "reduce-precision") {
      Attribute("exponent_bits", std::to_string(x.exponent_bits));
      Attribute("mantissa_bits", std::to_string(x.mantissa_bits));
    }
    if (op == "rng") {
      Attribute("distribution", NameAt(kRngDistributions, x.distribution));
    }
    if (op == "rng-bit-generator") {
      Attribute("algorithm", NameAt(kRngAlgorithms, x.rng_algorithm));
    }
    if (!x.comparison_direction.empty()) Attribute("direction", x.comparison_direction);
    if (x.comparison_type == "TOTALORDER") Attribute("type", x.comparison_type);
    if (op == "topk") {
      Attribute("k", std::to_string(x.k));
      Attribute("largest", x.largest ? "true" : "false");
    }
    IfTrue("is_stable", x.is_stable);
    if (!x.precision.empty()) {
      bool any = false;
      std::string list;
      for (int32_t p : x.precision) {
        any = any || p != 0;
        list += fmt::format("{}{}", list.empty() ? "" : ",", NameAt(kPrecisions, p));
      }
      if (any) Attribute("operand_precision", "{" + list + "}");
    }
    if (x.algorithm != 0) {
      Attribute("algorithm", NameAt(kDotAlgorithms, x.algorithm));
    }
    if (x.channel_id > 0) Attribute("channel_id", std::to_string(x.channel_id));
    if (x.replica_groups) {
      std::string list;
      for (const auto& group : *x.replica_groups) list += (list.empty() ? "" : ",") + Ints(group);
      Attribute("replica_groups", "{" + list + "}");
    }
    IfTrue("use_global_device_ids", x.use_global_device_ids);
    if (op.starts_with("collective-permute")) {
      std::string list;
      for (const auto& [source, target] : x.source_target_pairs)
        list += fmt::format("{}{{{},{}}}", list.empty() ? "" : ",", source, target);
      Attribute("source_target_pairs", "{" + list + "}");
    }
    WriteCalls(i);
    if (op == "custom-call") WriteCustomCall(i);
    IfTrue("is_composite", x.is_composite);
    if (x.accuracy) {
      Attribute("result_accuracy", x.accuracy->tolerance ? fmt::format("{{tolerance={{atol={},rtol={},ulps={}}}}}",
                                                                       Real(x.accuracy->atol, false),
                                                                       Real(x.accuracy->rtol, false), x.accuracy->ulps)
                                                         : "{mode=highest}");
    }
    if (x.sharding) Attribute("sharding", TextOf(*x.sharding));
    if (!x.frontend_attributes.empty()) Attribute("frontend_attributes", Map(x.frontend_attributes));
    if (!i.op_name.empty() || !i.source_file.empty()) {
      std::string text;
      if (!i.op_name.empty()) text += "op_name=" + Quoted(i.op_name);
      if (!i.source_file.empty())
        text += fmt::format("{}source_file={} source_line={}", text.empty() ? "" : " ", Quoted(i.source_file),
                            i.source_line);
      Attribute("metadata", "{" + text + "}");
    }
  }

  void WriteDot(const DotDims& d) {
    const auto list = [&](std::string_view key, const std::vector<int64_t>& dims) {
      if (!dims.empty()) Attribute(key, Ints(dims));
    };
    list("lhs_batch_dims", d.lhs_batch);
    list("lhs_contracting_dims", d.lhs_contracting);
    list("rhs_batch_dims", d.rhs_batch);
    list("rhs_contracting_dims", d.rhs_contracting);
    list("lhs_ragged_dims", d.lhs_ragged);
    list("rhs_group_dims", d.rhs_group);
  }

  void WriteCalls(const Instruction& i) {
    if (i.called.empty()) return;
    const auto name = [&](size_t n) -> std::string_view { return module_.computations[i.called[n]].name; };
    if (i.opcode == "while" && i.called.size() == 2) {
      Attribute("condition", name(1));
      Attribute("body", name(0));
    } else if (i.opcode == "select-and-scatter" && i.called.size() == 2) {
      Attribute("select", name(0));
      Attribute("scatter", name(1));
    } else if (i.opcode == "fusion") {
      Attribute("kind", "kLoop");
      Attribute("calls", name(0));
    } else if (i.opcode == "async-start") {
      Attribute("calls", name(0));
    } else if (i.opcode == "conditional" || i.opcode == "custom-call") {
      std::string list;
      for (size_t n = 0; n < i.called.size(); ++n) list += fmt::format("{}{}", n > 0 ? ", " : "", name(n));
      Attribute(i.opcode == "conditional" ? "branch_computations" : "called_computations", "{" + list + "}");
    } else {
      Attribute("to_apply", name(0));
    }
  }

  void WriteCustomCall(const Instruction& i) {
    const Extras& x = i.extras();
    Attribute("custom_call_target", Quoted(x.custom_call_target));
    if (x.constrain_layout) {
      std::string list;
      for (const Shape& s : x.operand_shapes) list += (list.empty() ? "" : ", ") + ToText(s);
      Attribute("operand_layout_constraints", "{" + list + "}");
    }
    IfTrue("custom_call_has_side_effect", x.has_side_effect);
    if (!x.aliases.empty()) {
      std::string list;
      for (const OutputAlias& a : x.aliases)
        list += fmt::format("{}{}: ({}, {})", list.empty() ? "" : ", ", Ints(a.output_index), a.operand,
                            Ints(a.operand_index));
      Attribute("output_to_operand_aliasing", "{" + list + "}");
    }
    if (x.api_version > 1) Attribute("api_version", NameAt(kCallVersions, x.api_version));
    if (!x.backend_config.empty()) Attribute("backend_config", Quoted(x.backend_config));
  }

  const Module& module_;
  std::string out_;
};

}  // namespace

std::string WriteText(const Module& module) { return TextWriter(module).Write(); }

}  // namespace tenon::hlo
