#include "tenon/client/compile_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "tenon/base/primitive_type.h"

namespace tenon::client {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

enum class FlagKind { kBool, kInt, kText };
struct Flag {
  std::string_view name;
  int field;
  FlagKind kind;
};
constexpr Flag kFlags[] = {
#define TENON_DEBUG_OPTION(name, field, kind) {#name, field, FlagKind::kind},
#include "tenon/client/debug_options.def"
#undef TENON_DEBUG_OPTION
};

// Field numbers of xla.CompileOptionsProto and what hangs on it.
namespace options_field {
constexpr int kArgumentLayouts = 1, kBuildOptions = 3, kPortable = 4, kProfileVersion = 5, kOverrides = 7;
}
namespace build_field {
constexpr int kDeviceOrdinal = 1, kResultLayout = 2, kDebugOptions = 3, kReplicas = 4, kPartitions = 5, kSpmd = 6,
              kAssignment = 9, kPropagateToOutputs = 12, kDeviceMemorySize = 15, kPropagateToParameters = 18,
              kShardy = 19, kProcessIndex = 22, kProcessCount = 23, kOptimization = 24, kMemoryFitting = 25;
}
// ... of xla.ShapeProto, xla.LayoutProto and xla.TileProto.
namespace shape_field {
constexpr int kElementType = 2, kDimensions = 3, kTupleShapes = 4, kLayout = 5;
}
namespace layout_field {
constexpr int kMinorToMajor = 1, kTiles = 6;
}
namespace tile_field {
constexpr int kDimensions = 1;
}
constexpr int kTuplePrimitiveType = 13;

// One "name=value" or "name: value" of a list of flags.
struct FlagText {
  std::string name, value;
};

Result<std::vector<FlagText>> SplitFlags(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n,;";
  std::vector<FlagText> flags;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return flags;
    const size_t end = text.find_first_of("=: \t\r\n,;");
    std::string_view name = text.substr(0, end);
    while (name.starts_with('-')) name.remove_prefix(1);
    if (name.empty()) return InvalidArgument(fmt::format("debug options: expected a flag at '{}'", text));
    FlagText flag{std::string(name), "true"};
    text.remove_prefix(std::min(end, text.size()));
    if (!text.empty() && (text.front() == '=' || text.front() == ':')) {
      text.remove_prefix(1);
      text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
      if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
        const size_t close = text.find(text.front(), 1);
        if (close == std::string_view::npos) return InvalidArgument("debug options: a quoted value has no end");
        flag.value = text.substr(1, close - 1);
        text.remove_prefix(close + 1);
      } else {
        const size_t stop = std::min(text.find_first_of(kSpace), text.size());
        flag.value = text.substr(0, stop);
        text.remove_prefix(stop);
      }
    }
    flags.push_back(std::move(flag));
  }
}

bool ParseInt(const std::string& text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseBool(const std::string& text, bool& value) {
  if (text == "true" || text == "1" || text == "True") return value = true, true;
  if (text == "false" || text == "0" || text == "False") return value = false, true;
  return false;
}

CompileOptions::Override GuessOverride(const std::string& text) {
  if (int64_t number; ParseInt(text, number)) return number;
  if (bool flag; ParseBool(text, flag)) return flag;
  double number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && error == std::errc() && end == text.data() + text.size()) return number;
  return text;
}

void WriteFlags(pbf_writer& out, int field, const std::vector<bool>& flags) {
  if (flags.empty()) return;
  std::vector<bool> copy = flags;
  out.add_packed_bool(static_cast<protozero::pbf_tag_type>(field), copy.begin(), copy.end());
}

std::string WriteOverride(const CompileOptions::Override& value) {
  std::string bytes;
  pbf_writer out(bytes);
  switch (value.index()) {
    case 0:
      out.add_string(1, std::get<std::string>(value));
      break;
    case 1:
      out.add_bool(2, std::get<bool>(value));
      break;
    case 2:
      out.add_int64(3, std::get<int64_t>(value));
      break;
    default:
      out.add_double(4, std::get<double>(value));
      break;
  }
  return bytes;
}

Status CheckLayout(const ArrayLayout& array) {
  if (PrimitiveTypeFromDType(array.shape.dtype) == 0) {
    return InvalidArgument(
        fmt::format("the layout of {}: xla.PrimitiveType has no such element type", tenon::ToString(array.shape)));
  }
  TENON_RETURN_IF_ERROR(CheckedNumElements(array.shape.dims).status());
  if (!array.layout.has_value()) return OkStatus();
  std::vector<int64_t> sorted = array.layout->minor_to_major;
  std::sort(sorted.begin(), sorted.end());
  bool fits = sorted.size() == array.shape.rank();
  for (size_t i = 0; fits && i < sorted.size(); ++i) fits = sorted[i] == static_cast<int64_t>(i);
  if (fits) return OkStatus();
  return InvalidArgument(fmt::format("the layout {} does not order the dimensions of {}", array.layout->ToString(),
                                     tenon::ToString(array.shape)));
}

// The bytes of an xla.ShapeProto.
std::string WriteShape(const ArrayLayout& array) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_enum(shape_field::kElementType, PrimitiveTypeFromDType(array.shape.dtype));
  if (array.shape.rank() != 0)
    out.add_packed_int64(shape_field::kDimensions, array.shape.dims.begin(), array.shape.dims.end());
  if (array.layout.has_value()) {
    // Written apart: a scalar's layout is an empty message, and there.
    std::string layout_bytes;
    pbf_writer layout(layout_bytes);
    const std::vector<int64_t>& order = array.layout->minor_to_major;
    if (!order.empty()) layout.add_packed_int64(layout_field::kMinorToMajor, order.begin(), order.end());
    for (const std::vector<int64_t>& dims : array.layout->tiles) {
      pbf_writer tile(layout, layout_field::kTiles);
      tile.add_packed_int64(tile_field::kDimensions, dims.begin(), dims.end());
    }
    out.add_message(shape_field::kLayout, layout_bytes);
  }
  return bytes;
}

std::string WriteResultShape(const std::vector<ArrayLayout>& results) {
  if (results.size() == 1) return WriteShape(results.front());
  std::string bytes;
  pbf_writer out(bytes);
  out.add_enum(shape_field::kElementType, kTuplePrimitiveType);
  for (const ArrayLayout& result : results) out.add_message(shape_field::kTupleShapes, WriteShape(result));
  return bytes;
}

}  // namespace

std::string Serialize(const DeviceAssignment& assignment) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_int32(1, assignment.num_replicas);
  out.add_int32(2, assignment.num_partitions);
  for (int p = 0; p < assignment.num_partitions; ++p) {
    std::vector<int64_t> replicas;
    for (int r = 0; r < assignment.num_replicas; ++r) replicas.push_back(assignment.at(r, p));
    pbf_writer computation(out, 3);
    computation.add_packed_int64(1, replicas.begin(), replicas.end());
  }
  return bytes;
}

Result<DeviceAssignment> ParseDeviceAssignment(std::string_view bytes) {
  const auto bad = [] { return DataLoss("the bytes are no xla.DeviceAssignmentProto"); };
  DeviceAssignment assignment;
  std::vector<std::vector<int64_t>> by_partition;
  // protozero throws on malformed input.
  try {
    pbf_reader in(bytes.data(), bytes.size());
    while (in.next()) {
      if (in.tag() == 1 && in.wire_type() == pbf_wire_type::varint) {
        assignment.num_replicas = in.get_int32();
      } else if (in.tag() == 2 && in.wire_type() == pbf_wire_type::varint) {
        assignment.num_partitions = in.get_int32();
      } else if (in.tag() == 3 && in.wire_type() == pbf_wire_type::length_delimited) {
        auto& replicas = by_partition.emplace_back();
        pbf_reader computation = in.get_message();
        while (computation.next()) {
          if (computation.tag() == 1 && computation.wire_type() == pbf_wire_type::length_delimited) {
            for (const int64_t id : computation.get_packed_int64()) replicas.push_back(id);
          } else if (computation.tag() == 1 && computation.wire_type() == pbf_wire_type::varint) {
            replicas.push_back(computation.get_int64());
          } else {
            computation.skip();
          }
        }
      } else {
        in.skip();
      }
    }
  } catch (const protozero::exception&) {
    return bad();
  }
  if (assignment.num_replicas < 0 || by_partition.size() != static_cast<size_t>(std::max(assignment.num_partitions, 0)))
    return bad();
  for (const auto& replicas : by_partition) {
    if (replicas.size() != static_cast<size_t>(assignment.num_replicas)) return bad();
  }
  for (int r = 0; r < assignment.num_replicas; ++r) {
    for (const auto& replicas : by_partition)
      assignment.ids.push_back(static_cast<int>(replicas[static_cast<size_t>(r)]));
  }
  return assignment;
}

CompileOptions& CompileOptions::SetReplicas(int n) { return num_replicas_ = n, *this; }
CompileOptions& CompileOptions::SetPartitions(int n) { return num_partitions_ = n, *this; }
CompileOptions& CompileOptions::SetSpmd(bool on, bool shardy) { return spmd_ = on, shardy_ = on && shardy, *this; }
CompileOptions& CompileOptions::SetDeviceAssignment(DeviceAssignment assignment) {
  num_replicas_ = assignment.num_replicas;
  num_partitions_ = assignment.num_partitions;
  assignment_ = std::move(assignment);
  return *this;
}
CompileOptions& CompileOptions::SetDevice(int id) { return SetDeviceAssignment({1, 1, {id}}); }
CompileOptions& CompileOptions::SetPortable(bool on) { return portable_ = on, *this; }
CompileOptions& CompileOptions::SetOptimization(Effort effort) { return optimization_ = effort, *this; }
CompileOptions& CompileOptions::SetMemoryFitting(Effort effort) { return memory_fitting_ = effort, *this; }
CompileOptions& CompileOptions::SetPropagateShardingToParameters(std::vector<bool> allow) {
  return to_parameters_ = std::move(allow), *this;
}
CompileOptions& CompileOptions::SetPropagateShardingToOutputs(std::vector<bool> allow) {
  return to_outputs_ = std::move(allow), *this;
}
CompileOptions& CompileOptions::SetArgumentLayouts(std::vector<ArrayLayout> arguments) {
  return argument_layouts_ = std::move(arguments), *this;
}
CompileOptions& CompileOptions::SetResultLayouts(std::vector<ArrayLayout> results) {
  return result_layouts_ = std::move(results), *this;
}
CompileOptions& CompileOptions::SetDeviceMemorySize(int64_t bytes) { return device_memory_size_ = bytes, *this; }
CompileOptions& CompileOptions::SetProcess(int64_t index, int64_t count) {
  return process_index_ = index, process_count_ = count, *this;
}
CompileOptions& CompileOptions::SetProfileVersion(int64_t version) { return profile_version_ = version, *this; }
CompileOptions& CompileOptions::Set(std::string name, Override value) {
  return overrides_[std::move(name)] = std::move(value), *this;
}
CompileOptions& CompileOptions::SetDebugField(int field, int64_t value) { return debug_fields_[field] = value, *this; }
CompileOptions& CompileOptions::SetDebugField(int field, std::string value) {
  return debug_fields_[field] = std::move(value), *this;
}
CompileOptions& CompileOptions::SetDebugOptions(std::string text) {
  debug_text_set_ = true;
  return debug_text_ = std::move(text), *this;
}

Result<std::string> CompileOptions::Serialize() const {
  if (num_replicas_ < 1 || num_partitions_ < 1) {
    return InvalidArgument(fmt::format("compile options with {} replicas and {} partitions; both must be at least 1",
                                       num_replicas_, num_partitions_));
  }
  if (!assignment_.ids.empty() || assignment_.num_replicas != 0) {
    if (assignment_.num_replicas != num_replicas_ || assignment_.num_partitions != num_partitions_ ||
        assignment_.ids.size() != static_cast<size_t>(num_replicas_) * static_cast<size_t>(num_partitions_)) {
      return InvalidArgument(fmt::format(
          "a device assignment of {} replicas, {} partitions and {} ids for a program of {} replicas and {} "
          "partitions",
          assignment_.num_replicas, assignment_.num_partitions, assignment_.ids.size(), num_replicas_,
          num_partitions_));
    }
  }
  for (const auto* list : {&argument_layouts_, &result_layouts_}) {
    for (const ArrayLayout& array : *list) TENON_RETURN_IF_ERROR(CheckLayout(array));
  }
  // What the caller set explicitly wins over texts.
  auto debug_fields = debug_fields_;
  auto overrides = overrides_;
  const char* const environment = debug_text_set_ ? nullptr : std::getenv("XLA_DEBUG_OPTIONS");
  TENON_ASSIGN_OR_RETURN(
      const std::vector<FlagText> flags,
      SplitFlags(environment != nullptr ? std::string_view(environment) : std::string_view(debug_text_)));
  for (const FlagText& flag : flags) {
    const auto* const known =
        std::find_if(std::begin(kFlags), std::end(kFlags), [&](const Flag& f) { return f.name == flag.name; });
    if (known == std::end(kFlags)) {
      overrides.try_emplace(flag.name, GuessOverride(flag.value));
      continue;
    }
    std::variant<int64_t, std::string> value = flag.value;
    if (known->kind == FlagKind::kInt) {
      int64_t number;
      if (!ParseInt(flag.value, number))
        return InvalidArgument(fmt::format("debug option {}={} is no integer", flag.name, flag.value));
      value = number;
    } else if (known->kind == FlagKind::kBool) {
      bool on;
      if (!ParseBool(flag.value, on))
        return InvalidArgument(fmt::format("debug option {}={} is neither true nor false", flag.name, flag.value));
      value = int64_t{on};
    }
    debug_fields.try_emplace(known->field, std::move(value));
  }

  std::string bytes;
  pbf_writer out(bytes);
  for (const ArrayLayout& array : argument_layouts_)
    out.add_message(options_field::kArgumentLayouts, WriteShape(array));
  {
    pbf_writer build(out, options_field::kBuildOptions);
    build.add_int64(build_field::kDeviceOrdinal, -1);
    if (!result_layouts_.empty()) build.add_message(build_field::kResultLayout, WriteResultShape(result_layouts_));
    if (!debug_fields.empty()) {
      pbf_writer debug(build, build_field::kDebugOptions);
      for (const auto& [field, value] : debug_fields) {
        const auto tag = static_cast<protozero::pbf_tag_type>(field);
        if (const auto* number = std::get_if<int64_t>(&value)) {
          debug.add_int64(tag, *number);
        } else {
          debug.add_string(tag, std::get<std::string>(value));
        }
      }
    }
    build.add_int64(build_field::kReplicas, num_replicas_);
    build.add_int64(build_field::kPartitions, num_partitions_);
    if (spmd_) build.add_bool(build_field::kSpmd, true);
    if (!assignment_.ids.empty()) build.add_message(build_field::kAssignment, client::Serialize(assignment_));
    WriteFlags(build, build_field::kPropagateToOutputs, to_outputs_);
    if (device_memory_size_ != 0) build.add_int64(build_field::kDeviceMemorySize, device_memory_size_);
    WriteFlags(build, build_field::kPropagateToParameters, to_parameters_);
    if (shardy_) build.add_bool(build_field::kShardy, true);
    if (process_index_ != 0) build.add_int64(build_field::kProcessIndex, process_index_);
    if (process_count_ != 0) build.add_int64(build_field::kProcessCount, process_count_);
    if (optimization_ != Effort::kUnknown) build.add_enum(build_field::kOptimization, static_cast<int>(optimization_));
    if (memory_fitting_ != Effort::kUnknown)
      build.add_enum(build_field::kMemoryFitting, static_cast<int>(memory_fitting_));
  }
  if (portable_) out.add_bool(options_field::kPortable, true);
  if (profile_version_ != 0) out.add_int64(options_field::kProfileVersion, profile_version_);
  for (const auto& [name, value] : overrides) {
    pbf_writer entry(out, options_field::kOverrides);
    entry.add_string(1, name);
    entry.add_message(2, WriteOverride(value));
  }
  return bytes;
}

}  // namespace tenon::client
