#include "tenon/plugin/compile_options.h"

#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "tenon/base/primitive_type.h"

namespace tenon::plugin {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// protozero asserts when a field is read with another wire type than it was written with; these check first and skip.
bool IsVarint(const pbf_reader& r) { return r.wire_type() == pbf_wire_type::varint; }
bool IsBytes(const pbf_reader& r) { return r.wire_type() == pbf_wire_type::length_delimited; }

int64_t Int(pbf_reader& r) {
  if (IsVarint(r)) return r.get_int64();
  r.skip();
  return 0;
}
std::string Text(pbf_reader& r) {
  if (IsBytes(r)) return r.get_string();
  r.skip();
  return {};
}
pbf_reader Message(pbf_reader& r) {
  if (IsBytes(r)) return r.get_message();
  r.skip();
  return {};
}

// A repeated integer field, packed or not.
template <class F>
void ForEachInt(pbf_reader& r, F use) {
  if (IsBytes(r)) {
    for (int64_t v : r.get_packed_int64()) use(v);
  } else {
    use(Int(r));
  }
}

bool ReadShape(pbf_reader r, ArraySpec& spec) {
  bool is_array = false;
  while (r.next()) {
    switch (r.tag()) {
      case 2:
        spec.shape.dtype = DTypeFromPrimitiveType(Int(r));
        is_array = spec.shape.dtype != DType::kInvalid;
        break;
      case 3:
        ForEachInt(r, [&](int64_t v) { spec.shape.dims.push_back(v); });
        break;
      case 5: {
        pbf_reader layout = Message(r);
        while (layout.next()) {
          if (layout.tag() == 1) {
            ForEachInt(layout, [&](int64_t v) { spec.minor_to_major.push_back(v); });
          } else {
            layout.skip();
          }
        }
        break;
      }
      default:
        r.skip();
    }
  }
  return is_array && NormalizeLayout(spec).ok();
}

DeviceAssignment ReadAssignment(pbf_reader r) {
  DeviceAssignment a;
  std::vector<std::vector<int>> by_computation;
  while (r.next()) {
    switch (r.tag()) {
      case 1:
        a.num_replicas = static_cast<int>(Int(r));
        break;
      case 2:
        a.num_partitions = static_cast<int>(Int(r));
        break;
      case 3: {
        std::vector<int>& replicas = by_computation.emplace_back();
        pbf_reader c = Message(r);
        while (c.next()) {
          if (c.tag() == 1) {
            ForEachInt(c, [&](int64_t v) { replicas.push_back(static_cast<int>(v)); });
          } else {
            c.skip();
          }
        }
        break;
      }
      default:
        r.skip();
    }
  }
  // A wrong size stays wrong, for the caller to report.
  bool complete = static_cast<int64_t>(by_computation.size()) == a.num_partitions;
  for (const auto& c : by_computation) complete = complete && static_cast<int64_t>(c.size()) == a.num_replicas;
  if (!complete) {
    a.ids.assign(1, -1);
    return a;
  }
  for (int rep = 0; rep < a.num_replicas; ++rep) {
    for (const auto& c : by_computation) a.ids.push_back(c[rep]);
  }
  return a;
}

void ReadDebugOptions(pbf_reader r, CompileOptions& o) {
  while (r.next()) {
    int field = static_cast<int>(r.tag());
    if (IsVarint(r)) {
      o.debug_integers[field] = r.get_int64();
    } else if (IsBytes(r)) {
      o.debug_strings[field] = r.get_string();
    } else {
      r.skip();
    }
  }
}

void ReadOverride(pbf_reader r, CompileOptions& o) {
  std::string key;
  Value value = std::string();
  while (r.next()) {
    if (r.tag() == 1) {
      key = Text(r);
    } else if (r.tag() == 2) {
      pbf_reader v = Message(r);
      while (v.next()) {
        if (v.tag() == 1 && IsBytes(v)) {
          value = v.get_string();
        } else if (v.tag() == 2 && IsVarint(v)) {
          value = v.get_bool();
        } else if (v.tag() == 3 && IsVarint(v)) {
          value = v.get_int64();
        } else if (v.tag() == 4 && v.wire_type() == pbf_wire_type::fixed64) {
          value = static_cast<float>(v.get_double());
        } else {
          v.skip();
        }
      }
    } else {
      r.skip();
    }
  }
  o.overrides.insert_or_assign(std::move(key), std::move(value));
}

Status ReadBuildOptions(pbf_reader r, CompileOptions& o) {
  while (r.next()) {
    switch (r.tag()) {
      case 1:
        o.device_ordinal = Int(r);
        break;
      case 2: {
        ArraySpec spec;
        if (ReadShape(Message(r), spec)) o.result_layout = std::move(spec);
        break;
      }
      case 3:
        ReadDebugOptions(Message(r), o);
        break;
      case 4:
      case 5: {
        bool replicas = r.tag() == 4;
        int64_t n = Int(r);
        if (n < 1 || n > (1 << 20)) {
          return InvalidArgument(
              fmt::format("{} is {}, wanted at least 1", replicas ? "num_replicas" : "num_partitions", n));
        }
        (replicas ? o.num_replicas : o.num_partitions) = static_cast<int>(n);
        break;
      }
      case 6:
        o.use_spmd_partitioning = Int(r) != 0;
        break;
      case 9:
        o.device_assignment = ReadAssignment(Message(r));
        break;
      case 10:
        o.alias_passthrough_parameters = Int(r) != 0;
        break;
      case 12:
        ForEachInt(r, [&](int64_t v) { o.propagate_sharding_to_outputs.push_back(v != 0); });
        break;
      case 15:
        o.device_memory_size = Int(r);
        break;
      case 18:
        ForEachInt(r, [&](int64_t v) { o.propagate_sharding_to_parameters.push_back(v != 0); });
        break;
      case 19:
        o.use_shardy = Int(r) != 0;
        break;
      case 22:
        o.process_index = Int(r);
        break;
      case 23:
        o.process_count = Int(r);
        break;
      case 24:
        o.optimization_level = static_cast<int>(Int(r));
        break;
      case 25:
        o.memory_fitting_level = static_cast<int>(Int(r));
        break;
      default:
        r.skip();
    }
  }
  return OkStatus();
}

Status Read(std::string_view bytes, CompileOptions& o) {
  pbf_reader r(bytes.data(), bytes.size());
  while (r.next()) {
    switch (r.tag()) {
      case 1: {
        ArraySpec spec;
        bool known = ReadShape(Message(r), spec);
        o.argument_layouts.push_back(known ? std::optional<ArraySpec>(std::move(spec)) : std::nullopt);
        break;
      }
      case 2:
        o.parameters_are_tupled = Int(r) != 0;
        break;
      case 3:
        TENON_RETURN_IF_ERROR(ReadBuildOptions(Message(r), o));
        break;
      case 4:
        o.portable = Int(r) != 0;
        break;
      case 7:
        ReadOverride(Message(r), o);
        break;
      default:
        r.skip();
    }
  }
  return OkStatus();
}

}  // namespace

Result<CompileOptions> DecodeCompileOptions(std::string_view bytes) {
  CompileOptions o;
  o.serialized = bytes;
  Status read;
  try {
    read = Read(bytes, o);
  } catch (const protozero::exception&) {
    return InvalidArgument("failed to deserialize CompileOptionsProto");
  }
  TENON_RETURN_IF_ERROR(read);
  const DeviceAssignment& a = o.device_assignment;
  if (!a.empty() && (a.num_replicas != o.num_replicas || a.num_partitions != o.num_partitions ||
                     a.ids.size() != static_cast<size_t>(o.num_replicas) * o.num_partitions)) {
    return InvalidArgument(
        fmt::format("the device assignment has {} replicas and {} partitions (or not all of them); num_replicas is {}, "
                    "num_partitions {}",
                    a.num_replicas, a.num_partitions, o.num_replicas, o.num_partitions));
  }
  return o;
}

Status CheckOverrides(CompileOptions& options, std::span<const OptionSpec> known) {
  TENON_ASSIGN_OR_RETURN(options.overrides, CheckOptions(options.overrides, known, "compile option"));
  return OkStatus();
}

std::string SerializeDeviceAssignment(const DeviceAssignment& assignment) {
  std::string bytes;
  protozero::pbf_writer w(bytes);
  w.add_int32(1, assignment.num_replicas);
  w.add_int32(2, assignment.num_partitions);
  for (int p = 0; p < assignment.num_partitions; ++p) {
    std::vector<int64_t> replicas;
    replicas.reserve(static_cast<size_t>(assignment.num_replicas));
    for (int r = 0; r < assignment.num_replicas; ++r) replicas.push_back(assignment.at(r, p));
    protozero::pbf_writer c(w, 3);
    c.add_packed_int64(1, replicas.begin(), replicas.end());
  }
  return bytes;
}

namespace {

// Copies what `r` has next.
void CopyField(pbf_reader& r, protozero::pbf_writer& w) {
  switch (r.wire_type()) {
    case pbf_wire_type::varint:
      w.add_uint64(r.tag(), r.get_uint64());
      break;
    case pbf_wire_type::fixed64:
      w.add_fixed64(r.tag(), r.get_fixed64());
      break;
    case pbf_wire_type::fixed32:
      w.add_fixed32(r.tag(), r.get_fixed32());
      break;
    case pbf_wire_type::length_delimited:
      w.add_bytes(r.tag(), r.get_view());
      break;
    default:
      r.skip();
  }
}

}  // namespace

std::string WithDeviceAssignment(std::string_view serialized, const DeviceAssignment& assignment) {
  std::string bytes, build;
  protozero::pbf_writer w(bytes);
  protozero::pbf_writer b(build);
  // Fields of the message may stand in several pieces of it, which count together.
  for (pbf_reader r(serialized.data(), serialized.size()); r.next();) {
    if (r.tag() != 3 || !IsBytes(r)) {
      CopyField(r, w);
      continue;
    }
    for (pbf_reader inner = r.get_message(); inner.next();) {
      if (inner.tag() == 9)
        inner.skip();
      else
        CopyField(inner, b);
    }
  }
  b.add_message(9, SerializeDeviceAssignment(assignment));
  w.add_message(3, build);
  return bytes;
}

}  // namespace tenon::plugin
