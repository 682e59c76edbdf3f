// Module -> HloModuleProto.

#include <protozero/pbf_writer.hpp>

#include "tenon/dialect/hlo/module.h"
#include "tenon/dialect/hlo/proto_types.h"

namespace tenon::hlo {
namespace {

using protozero::pbf_writer;

struct Bytes {
  std::string bytes;
};

/// A message inside another, added when it ends. Unlike protozero's own it is also written when it is empty: readers
/// tell a message that is there, with all of its fields zero, from one that is not.
class Nested : private Bytes, public pbf_writer {
 public:
  Nested(pbf_writer& parent, uint32_t field) : pbf_writer(Bytes::bytes), parent_(parent), field_(field) {}
  ~Nested() { parent_.add_message(field_, Bytes::bytes); }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  pbf_writer& parent_;
  uint32_t field_;
};

// Zeros and empty lists are not written, as proto3 wants it.
void Put(pbf_writer& w, uint32_t field, int64_t value) {
  if (value != 0) w.add_int64(field, value);
}
void Put(pbf_writer& w, uint32_t field, bool value) {
  if (value) w.add_bool(field, true);
}
void Put(pbf_writer& w, uint32_t field, const std::string& text) {
  if (!text.empty()) w.add_bytes(field, text);
}
void Put(pbf_writer& w, uint32_t field, const std::vector<int64_t>& values) {
  if (!values.empty()) w.add_packed_int64(field, values.begin(), values.end());
}

void WriteShape(Nested w, const Shape& shape) {
  w.add_enum(2, shape.type);
  Put(w, 3, shape.dims);
  for (const Shape& member : shape.members) WriteShape(Nested(w, 4), member);
  if (shape.is_array()) {
    Nested layout(w, 5);
    std::vector<int64_t> order;
    for (size_t d = shape.dims.size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
    Put(layout, 1, shape.minor_to_major ? *shape.minor_to_major : order);
    layout.add_int64(16, 1);
  }
  // One entry for each dim, none of which is dynamic.
  const std::vector<bool> is_dynamic(shape.dims.size(), false);
  if (!is_dynamic.empty()) w.add_packed_bool(6, is_dynamic.begin(), is_dynamic.end());
}

template <class T>
std::vector<T> Elements(const std::string& data) {
  std::vector<T> values(data.size() / sizeof(T));
  data.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(T));
  return values;
}

void WriteLiteral(Nested w, const Literal& literal, const Shape& shape) {
  WriteShape(Nested(w, 1), shape);
  for (size_t m = 0; m < literal.members.size(); ++m) WriteLiteral(Nested(w, 10), literal.members[m], shape.members[m]);
  if (!shape.is_array() || literal.data.empty()) return;
  const TypeInfo& type = *FindType(shape.type);
  // Elements lie in the order of the layout.
  const std::string data =
      IsRowMajor(shape) ? literal.data : Permute(shape, literal.data, static_cast<size_t>(type.bytes), false);
  const uint32_t field = type.literal_field;
  const auto packed = [&](auto values, auto add) { add(values.begin(), values.end()); };
  switch (type.number) {
    case kPred:
      packed(Elements<uint8_t>(data), [&](auto a, auto b) { w.add_packed_bool(field, a, b); });
      return;
    case kS32:
      packed(Elements<int32_t>(data), [&](auto a, auto b) { w.add_packed_int32(field, a, b); });
      return;
    case kS64:
      packed(Elements<int64_t>(data), [&](auto a, auto b) { w.add_packed_int64(field, a, b); });
      return;
    case kU32:
      packed(Elements<uint32_t>(data), [&](auto a, auto b) { w.add_packed_uint32(field, a, b); });
      return;
    case kU64:
      packed(Elements<uint64_t>(data), [&](auto a, auto b) { w.add_packed_uint64(field, a, b); });
      return;
    default:
      break;
  }
  if (type.bits >= 8) {
    // Floats and complex numbers are packed as they lie; all others are bytes.
    w.add_bytes(field, data);
    return;
  }
  std::string masked = data;
  for (char& c : masked) c = static_cast<char>(c & ((1 << type.bits) - 1));
  w.add_bytes(field, masked);
}

void WriteSharding(Nested w, const Sharding& s) {
  using Kind = Sharding::Kind;
  const auto number = [](Kind kind) {
    switch (kind) {
      case Kind::kReplicated:
        return 0;
      case Kind::kMaximal:
        return 1;
      case Kind::kTuple:
        return 2;
      case Kind::kTiled:
        return 3;
      case Kind::kManual:
        return 4;
      case Kind::kUnknown:
        return 5;
      case Kind::kUnreduced:
        return 6;
    }
    return 0;
  };
  if (s.kind != Kind::kReplicated) w.add_enum(1, number(s.kind));
  Put(w, 3, s.kind == Kind::kMaximal ? std::vector<int64_t>{1} : s.tiles);
  Put(w, 4, s.devices);
  for (const Sharding& member : s.members) WriteSharding(Nested(w, 5), member);
  if (!s.trailing.empty()) {
    std::vector<int32_t> kinds;
    for (Kind kind : s.trailing) kinds.push_back(number(kind));
    w.add_packed_enum(8, kinds.begin(), kinds.end());
  }
}

void WriteMap(Nested w, const TextMap& map) {
  for (const auto& [key, value] : map) {
    Nested entry(w, 1);
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
}

void WriteProgramShape(Nested w, const std::vector<const Shape*>& parameters, const Shape& result,
                       const std::vector<std::string>& names) {
  for (const Shape* p : parameters) WriteShape(Nested(w, 1), *p);
  WriteShape(Nested(w, 2), result);
  for (const std::string& name : names) w.add_string(3, name);
}

void WriteDot(Nested w, const DotDims& d) {
  Put(w, 1, d.lhs_contracting);
  Put(w, 2, d.rhs_contracting);
  Put(w, 3, d.lhs_batch);
  Put(w, 4, d.rhs_batch);
}

// Fields that are messages of their own.
void WriteExtras(pbf_writer& w, const Instruction& i) {
  const Extras& x = i.extras();
  if (x.literal) WriteLiteral(Nested(w, 8), *x.literal, i.shape);
  if (!x.window.empty()) {
    Nested window(w, 15);
    for (const WindowDim& d : x.window) {
      Nested dim(window, 1);
      Put(dim, 1, d.size);
      Put(dim, 2, d.stride);
      Put(dim, 3, d.low);
      Put(dim, 4, d.high);
      Put(dim, 5, d.window_dilation);
      Put(dim, 6, d.base_dilation);
      Put(dim, 7, d.reversal);
    }
  }
  if (x.conv) {
    Nested c(w, 16);
    Put(c, 3, x.conv->kernel_input);
    Put(c, 4, x.conv->kernel_output);
    Put(c, 6, x.conv->kernel_spatial);
    Put(c, 7, x.conv->input_batch);
    Put(c, 8, x.conv->input_feature);
    Put(c, 9, x.conv->output_batch);
    Put(c, 10, x.conv->output_feature);
    Put(c, 11, x.conv->input_spatial);
    Put(c, 12, x.conv->output_spatial);
  }
  for (const SliceDim& s : x.slice) {
    Nested d(w, 17);
    Put(d, 1, s.start);
    Put(d, 2, s.limit);
    Put(d, 3, s.stride);
  }
  if (i.opcode == "pad") {
    Nested config(w, 21);
    for (const PadDim& p : x.padding) {
      Nested d(config, 1);
      Put(d, 1, p.low);
      Put(d, 2, p.high);
      Put(d, 3, p.interior);
    }
  }
  if (x.dot && i.opcode == "ragged-dot") {
    Nested ragged(w, 90);
    WriteDot(Nested(ragged, 1), *x.dot);
    Put(ragged, 2, x.dot->lhs_ragged);
    Put(ragged, 3, x.dot->rhs_group);
  } else if (x.dot) {
    WriteDot(Nested(w, 30), *x.dot);
  }
  if (x.gather) {
    Nested g(w, 33);
    Put(g, 1, x.gather->offset_dims);
    Put(g, 2, x.gather->collapsed_slice_dims);
    Put(g, 3, x.gather->start_index_map);
    Put(g, 4, x.gather->index_vector_dim);
    Put(g, 5, x.gather->operand_batching);
    Put(g, 6, x.gather->indices_batching);
  }
  if (x.scatter) {
    Nested s(w, 48);
    Put(s, 1, x.scatter->update_window_dims);
    Put(s, 2, x.scatter->inserted_window_dims);
    Put(s, 3, x.scatter->scatter_dims_to_operand_dims);
    Put(s, 4, x.scatter->index_vector_dim);
    Put(s, 5, x.scatter->input_batching);
    Put(s, 6, x.scatter->indices_batching);
  }
  if (!x.precision.empty() || x.algorithm != 0) {
    Nested p(w, 51);
    if (!x.precision.empty()) p.add_packed_enum(1, x.precision.begin(), x.precision.end());
    Put(p, 2, static_cast<int64_t>(x.algorithm));
  }
  for (const auto& [source, target] : x.source_target_pairs) {
    Nested pair(w, 52);
    Put(pair, 1, source);
    Put(pair, 2, target);
  }
  if (i.opcode == "triangular-solve") {
    Nested t(w, 59);
    Put(t, 1, x.left_side);
    Put(t, 2, x.lower);
    Put(t, 3, x.unit_diagonal);
    Put(t, 4, static_cast<int64_t>(x.transpose_a));
  }
  if (i.opcode == "cholesky") {
    Nested c(w, 62);
    Put(c, 1, x.lower);
  }
  for (const OutputAlias& a : x.aliases) {
    Nested alias(w, 74);
    Put(alias, 1, a.output_index);
    Put(alias, 2, a.operand);
    Put(alias, 3, a.operand_index);
  }
  if (x.replica_groups) {
    Nested list(w, 87);
    for (const auto& group : *x.replica_groups) {
      Nested one(list, 1);
      Put(one, 1, group);
    }
  }
  if (x.accuracy) {
    Nested a(w, 91);
    if (x.accuracy->tolerance) {
      Nested t(a, 2);
      t.add_double(1, x.accuracy->atol);
      t.add_double(2, x.accuracy->rtol);
      Put(t, 3, x.accuracy->ulps);
    } else {
      a.add_enum(1, 1);
    }
  }
  if (x.sharding) WriteSharding(Nested(w, 40), *x.sharding);
  for (const Shape& s : x.operand_shapes) WriteShape(Nested(w, 57), s);
  if (!x.frontend_attributes.empty()) WriteMap(Nested(w, 68), x.frontend_attributes);
}

void WriteInstruction(Nested w, const Instruction& i, int64_t first_id, int64_t id,
                      const std::vector<int64_t>& computation_ids) {
  const Extras& x = i.extras();
  w.add_string(1, i.name);
  w.add_string(2, i.opcode);
  WriteShape(Nested(w, 3), i.shape);
  if (!i.op_name.empty() || !i.source_file.empty()) {
    Nested m(w, 7);
    Put(m, 2, i.op_name);
    Put(m, 3, i.source_file);
    Put(m, 4, static_cast<int64_t>(i.source_line));
  }
  if (i.opcode == "parameter") Put(w, 9, i.number);
  if (i.opcode == "fusion") w.add_string(11, "kLoop");
  if (i.opcode == "get-tuple-element") Put(w, 13, i.number);
  Put(w, 14, i.dims);
  Put(w, 18, static_cast<int64_t>(x.exponent_bits));
  Put(w, 19, static_cast<int64_t>(x.mantissa_bits));
  Put(w, i.opcode == "gather" ? 34 : i.opcode == "fft" ? 32 : 20, x.sizes);
  Put(w, 23, static_cast<int64_t>(x.distribution));
  if (i.opcode.starts_with("batch-norm")) {
    w.add_float(24, x.epsilon);
    Put(w, 25, x.feature_index);
  }
  if (x.channel_id > 0) Put(w, 26, x.channel_id);
  Put(w, 28, x.custom_call_target);
  Put(w, 31, static_cast<int64_t>(x.fft_type));
  w.add_int64(35, id);
  std::vector<int64_t> ids;
  for (uint32_t o : i.operands) ids.push_back(first_id + o);
  Put(w, 36, ids);
  ids.clear();
  for (uint32_t c : i.called) ids.push_back(computation_ids[c]);
  Put(w, 38, ids);
  Put(w, 43, x.backend_config);
  if (i.opcode == "convolution" || i.opcode == "custom-call") {
    w.add_int64(50, x.feature_group_count);
    w.add_int64(58, x.batch_group_count);
  }
  Put(w, 56, x.constrain_layout);
  Put(w, 60, x.is_stable);
  Put(w, 63, x.comparison_direction);
  Put(w, 65, x.has_side_effect);
  Put(w, 67, x.indices_are_sorted);
  Put(w, 69, x.unique_indices);
  Put(w, 70, static_cast<int64_t>(x.rng_algorithm));
  Put(w, 71, x.use_global_device_ids);
  Put(w, 72, x.comparison_type);
  Put(w, 77, static_cast<int64_t>(x.api_version));
  Put(w, 81, x.k);
  if (i.opcode == "topk") Put(w, 85, x.largest);
  Put(w, 89, x.is_composite);
  WriteExtras(w, i);
}

struct ProgramShape {
  std::vector<const Shape*> parameters;
  const Shape* result;
  std::vector<std::string> names;
};

ProgramShape ShapeOf(const Computation& c) {
  ProgramShape shape{{}, &c.instructions[c.root].shape, {}};
  for (uint32_t p : c.parameters) {
    shape.parameters.push_back(&c.instructions[p].shape);
    shape.names.push_back(c.instructions[p].name);
  }
  return shape;
}

void WriteModule(pbf_writer& w, const Module& module) {
  // One counter numbers computations and instructions; readers that look at the low 32 bits and those that look at all
  // see the same.
  std::vector<int64_t> computation_ids;
  int64_t next = 1;
  for (size_t c = 0; c < module.computations.size(); ++c) computation_ids.push_back(next++);
  const Computation& entry = module.computations[module.entry];
  w.add_string(1, module.name);
  w.add_string(2, entry.name);
  for (size_t n = 0; n < module.computations.size(); ++n) {
    const Computation& c = module.computations[n];
    Nested out(w, 3);
    out.add_string(1, c.name);
    const int64_t first = next;
    for (const Instruction& i : c.instructions) WriteInstruction(Nested(out, 2), i, first, next++, computation_ids);
    const ProgramShape shape = ShapeOf(c);
    WriteProgramShape(Nested(out, 4), shape.parameters, *shape.result, shape.names);
    out.add_int64(5, computation_ids[n]);
    out.add_int64(6, first + c.root);
    Put(out, 7, c.is_fusion);
  }
  const ProgramShape shape = ShapeOf(entry);
  std::vector<const Shape*> parameters = shape.parameters;
  for (size_t p = 0; module.signature && p < parameters.size(); ++p) parameters[p] = &module.signature->parameters[p];
  WriteProgramShape(Nested(w, 4), parameters, module.signature ? module.signature->result : *shape.result, shape.names);
  w.add_int64(5, 1);
  w.add_int64(6, computation_ids[module.entry]);
  if (!module.aliases.empty()) {
    Nested list(w, 8);
    for (const Alias& a : module.aliases) {
      Nested entry_writer(list, 1);
      Put(entry_writer, 1, a.output_index);
      Put(entry_writer, 2, a.parameter);
      Put(entry_writer, 3, a.parameter_index);
      entry_writer.add_enum(4, a.must ? 2 : 1);
    }
  }
  if (module.output_sharding) WriteSharding(Nested(w, 12), *module.output_sharding);
  for (const Sharding& s : module.parameter_shardings) WriteSharding(Nested(w, 14), s);
  if (!module.donors.empty()) {
    Nested list(w, 18);
    for (const Donor& d : module.donors) {
      Nested entry_writer(list, 1);
      Put(entry_writer, 1, d.parameter);
      Put(entry_writer, 2, d.parameter_index);
    }
  }
  if (!module.frontend_attributes.empty()) WriteMap(Nested(w, 19), module.frontend_attributes);
}

}  // namespace

std::string WriteProto(const Module& module, bool with_config) {
  std::string bytes;
  if (!with_config) {
    pbf_writer w(bytes);
    WriteModule(w, module);
    return bytes;
  }
  pbf_writer w(bytes);
  {
    Nested inner(w, 1);
    WriteModule(inner, module);
  }
  {
    Nested config(w, 2);
    const ProgramShape shape = ShapeOf(module.computations[module.entry]);
    WriteProgramShape(Nested(config, 1), shape.parameters, *shape.result, shape.names);
    config.add_int64(4, module.replica_count);
    config.add_int64(5, module.num_partitions);
  }
  return bytes;
}

}  // namespace tenon::hlo
