// The text form of a target, and its hash: one "name value" per line, every field once.
#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>
#include <map>
#include <optional>

#include "tenon/kir/math.h"
#include "tenon/target/target.h"

namespace tenon::target {
namespace {

constexpr std::string_view kHeader = "target v1";

/// f(name, field) for every number; the order is that of the text.
template <class L, class F>
void ForEachLimit(L& l, const F& f) {
  f("limit.dims", l.dims);
  f("limit.members", l.members);
  f("limit.cost", l.cost);
  f("limit.nodes", l.nodes);
  f("limit.buffers", l.buffers);
  f("limit.loop_nodes", l.loop_nodes);
  f("limit.carries", l.carries);
  f("limit.carry_elements", l.carry_elements);
  f("limit.row_bytes", l.row_bytes);
}
static_assert(sizeof(KernelLimits) == 9 * sizeof(int64_t), "a new field belongs into ForEachLimit");

template <class N, class F>
void ForEachNumeric(N& n, const F& f) {
  f("numeric.fused_multiply_add", n.fused_multiply_add);
  f("numeric.reduce_lane_bytes", n.reduce_lane_bytes);
  f("numeric.reduce_accumulators", n.reduce_accumulators);
  f("numeric.written_out_reduce", n.written_out_reduce);
  f("numeric.product_lanes", n.product_lanes);
  f("numeric.written_out_product", n.written_out_product);
  f("numeric.written_out_terms", n.written_out_terms);
  f("numeric.long_sum", n.long_sum);
  f("numeric.long_sum_results", n.long_sum_results);
  f("numeric.long_sum_block", n.long_sum_block);
  f("numeric.long_sum_min_block", n.long_sum_min_block);
  f("numeric.long_sum_uneven_block", n.long_sum_uneven_block);
  f("numeric.long_sum_aligned", n.long_sum_aligned);
  f("numeric.long_sum_rest", n.long_sum_rest);
  f("numeric.tall_rows", n.tall_rows);
  f("numeric.tall_columns", n.tall_columns);
  f("numeric.tall_elements", n.tall_elements);
  f("numeric.tall_blocks", n.tall_blocks);
  f("numeric.strip_rows", n.strip_rows);
  f("numeric.short_row", n.short_row);
  f("numeric.strip", n.strip);
  f("numeric.long_scan", n.long_scan);
  f("numeric.short_scan", n.short_scan);
  f("numeric.long_window", n.long_window);
  f("numeric.scan_block", n.scan_block);
  f("numeric.window_in_passes", n.window_in_passes);
  f("numeric.written_out_window", n.written_out_window);
  f("numeric.written_out_taps", n.written_out_taps);
}
static_assert(sizeof(Numerics) == 28 * sizeof(int64_t), "a new field belongs into ForEachNumeric");

template <class T, class F>
void ForEachNumber(T& t, const F& f) {
  f("vector_bytes", t.vector_bytes);
  f("vector_registers", t.vector_registers);
  f("mask_registers", t.mask_registers);
  f("group_lanes", t.group_lanes);
  f("cores", t.cores);
  f("clock_ghz", t.clock_ghz);
  f("core_bytes_per_ns", t.core_bytes_per_ns);
  f("machine_bytes_per_ns", t.machine_bytes_per_ns);
  f("cached_bytes_per_ns", t.cached_bytes_per_ns);
  f("core_flops_per_ns", t.core_flops_per_ns);
  f("launch_ns", t.launch_ns);
  ForEachNumeric(t.numerics, f);
  ForEachLimit(t.limits, f);
}

template <class D, class F>
void ForEachFact(D& d, const F& f) {
  f("device.subgroup", d.subgroup);
  f("device.least_subgroup", d.least_subgroup);
  f("device.most_subgroup", d.most_subgroup);
  f("device.group_lanes", d.group_lanes);
  f("device.group_size.x", d.group_size[0]);
  f("device.group_size.y", d.group_size[1]);
  f("device.group_size.z", d.group_size[2]);
  f("device.group_count.x", d.group_count[0]);
  f("device.group_count.y", d.group_count[1]);
  f("device.group_count.z", d.group_count[2]);
  f("device.local_bytes", d.local_bytes);
  f("device.argument_bytes", d.argument_bytes);
  f("device.i8", d.i8);
  f("device.i16", d.i16);
  f("device.i64", d.i64);
  f("device.f16", d.f16);
  f("device.f64", d.f64);
  f("device.storage8", d.storage8);
  f("device.storage16", d.storage16);
  f("device.subgroup_arithmetic", d.subgroup_arithmetic);
  f("device.subgroup_shuffle", d.subgroup_shuffle);
  f("device.atomics64", d.atomics64);
  f("device.may_keep_subnormals", d.may_keep_subnormals);
  f("device.may_keep_nan_and_zeros", d.may_keep_nan_and_zeros);
  f("device.may_round_to_even", d.may_round_to_even);
  f("device.fused_f32", d.fused_f32);
  f("device.fused_f64", d.fused_f64);
  f("device.exact_divide", d.exact_divide);
  f("device.exact_sqrt", d.exact_sqrt);
  f("device.exact_divide_f64", d.exact_divide_f64);
  f("device.exact_sqrt_f64", d.exact_sqrt_f64);
  f("device.keeps_subnormals", d.keeps_subnormals);
  f("device.keeps_subnormals_f64", d.keeps_subnormals_f64);
  f("device.keeps_subnormals_f16", d.keeps_subnormals_f16);
  f("device.keeps_nan_and_zeros", d.keeps_nan_and_zeros);
  f("device.loads_beside_branches", d.loads_beside_branches);
  f("device.most_trips", d.most_trips);
  f("device.most_buffer_bytes", d.most_buffer_bytes);
  f("device.most_allocation_bytes", d.most_allocation_bytes);
  f("device.buffer_alignment", d.buffer_alignment);
  f("device.compute_units", d.compute_units);
  f("device.cache_bytes", d.cache_bytes);
  f("device.clock_ghz", d.clock_ghz);
  f("device.bytes_per_ns", d.bytes_per_ns);
  f("device.flops_per_ns", d.flops_per_ns);
  f("device.launch_ns", d.launch_ns);
  f("device.most_launch_ns", d.most_launch_ns);
}

std::string Names(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, " ")); }

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    words.emplace_back(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(text.size(), words.back().size() + 1));
  }
  return words;
}

/// What slashes part.
std::vector<std::string_view> Parts(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t slash = 0; slash != std::string_view::npos;) {
    slash = text.find('/');
    parts.push_back(text.substr(0, slash));
    if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
  }
  return parts;
}

template <class T>
std::optional<T> NumberOf(std::string_view text) {
  T value = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Lines by name, each taken once.
class Reader {
 public:
  static Result<Reader> Of(std::string_view text) {
    Reader reader;
    bool header = false;
    for (int number = 1; !text.empty(); ++number) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (!header) {
        if (line != kHeader) return InvalidArgument(fmt::format("a target begins with '{}', got '{}'", kHeader, line));
        header = true;
        continue;
      }
      const size_t space = line.find(' ');
      const std::string name(line.substr(0, space));
      const std::string value(space == std::string_view::npos ? std::string_view() : line.substr(space + 1));
      if (!reader.lines_.emplace(name, value).second)
        return InvalidArgument(fmt::format("line {} of a target: '{}' twice", number, name));
    }
    if (!header) return InvalidArgument(fmt::format("a target begins with '{}', got nothing", kHeader));
    return reader;
  }

  /// The value of that name, "" and an error when there is none.
  std::string Take(std::string_view name) {
    const auto at = lines_.find(name);
    if (at == lines_.end()) {
      Fail(fmt::format("a target without '{}'", name));
      return {};
    }
    std::string value = std::move(at->second);
    lines_.erase(at);
    return value;
  }
  void Fail(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }
  void Number(std::string_view name, int64_t& value) { Parsed(name, value); }
  void Number(std::string_view name, double& value) { Parsed(name, value); }
  void Number(std::string_view name, bool& value) {
    int64_t number = 0;
    Parsed(name, number);
    value = number != 0;
    if (number > 1) Fail(fmt::format("'{}' of a target is {}, wanted 0 or 1", name, number));
  }
  Status Finish() const {
    if (!error_.empty()) return InvalidArgument(error_);
    if (!lines_.empty())
      return InvalidArgument(fmt::format("'{}' is nothing that a target has", lines_.begin()->first));
    return OkStatus();
  }

 private:
  template <class T>
  void Parsed(std::string_view name, T& value) {
    const std::string text = Take(name);
    const std::optional<T> number = NumberOf<T>(text);
    if (number && *number >= 0) {
      value = *number;
    } else {
      Fail(fmt::format("'{}' of a target is '{}', wanted a number from 0 on", name, text));
    }
  }

  std::map<std::string, std::string, std::less<>> lines_;
  std::string error_;
};

std::string SpacesText(const std::vector<MemorySpace>& spaces) {
  std::vector<std::string> words;
  for (const MemorySpace& s : spaces) words.push_back(fmt::format("{}/{}/{}", s.name, s.bytes, s.host_visible ? 1 : 0));
  return Names(words);
}

std::vector<MemorySpace> TakeSpaces(Reader& reader, std::string_view name) {
  std::vector<MemorySpace> spaces;
  for (const std::string& word : Words(reader.Take(name))) {
    const std::vector<std::string_view> parts = Parts(word);
    const std::optional<int64_t> bytes = parts.size() == 3 ? NumberOf<int64_t>(parts[1]) : std::nullopt;
    if (!bytes || (parts[2] != "0" && parts[2] != "1")) {
      reader.Fail(fmt::format("memory '{}' of a target, wanted NAME/BYTES/HOST_VISIBLE", word));
      continue;
    }
    spaces.push_back({std::string(parts[0]), *bytes, parts[2] == "1"});
  }
  return spaces;
}

MatrixUnit MatrixUnitOf(Reader& reader, std::string_view word) {
  const std::vector<std::string_view> parts = Parts(word);
  const auto extent = [&](size_t i) { return i < parts.size() ? NumberOf<int64_t>(parts[i]).value_or(0) : 0; };
  const auto type = [&](size_t i) {
    const Result<DType> parsed = ParseDType(i < parts.size() ? parts[i] : std::string_view());
    return parsed.ok() ? *parsed : DType::kInvalid;
  };
  const MatrixUnit unit = {extent(0), extent(1), extent(2), type(3), type(4)};
  if (parts.size() != 5 || unit.m < 1 || unit.n < 1 || unit.k < 1 || unit.in == DType::kInvalid ||
      unit.out == DType::kInvalid)
    reader.Fail(fmt::format("matrix unit '{}' of a target, wanted M/N/K/IN/OUT", word));
  return unit;
}

}  // namespace

std::string Print(const Target& t) {
  std::string out(kHeader);
  const auto line = [&](std::string_view name, const auto& value) { out += fmt::format("\n{} {}", name, value); };
  line("name", t.name);
  line("kind", t.kind == Kind::kCpu ? "cpu" : "gpu");
  line("isa", t.isa);
  line("features", Names(t.features));
  std::vector<std::string> words;
  for (const CacheLevel& c : t.caches) words.push_back(fmt::format("{}/{}", c.bytes, c.line_bytes));
  line("caches", Names(words));
  words.clear();
  for (const DType type : t.types) words.emplace_back(DTypeName(type));
  line("types", Names(words));
  line("spaces", SpacesText(t.spaces));
  const auto number = [&](std::string_view name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) {
      line(name, value ? 1 : 0);
    } else {
      line(name, value);
    }
  };
  ForEachNumber(t, number);
  if (t.kind == Kind::kGpu) {
    line("device.name", t.device.name);
    words.clear();
    for (const MatrixUnit& u : t.device.matrix_units)
      words.push_back(fmt::format("{}/{}/{}/{}/{}", u.m, u.n, u.k, DTypeName(u.in), DTypeName(u.out)));
    line("device.matrix_units", Names(words));
    line("device.spaces", SpacesText(t.device.spaces));
    ForEachFact(t.device, number);
  }
  for (size_t i = 0; i < kir::kNumOps; ++i) {
    const auto op = static_cast<kir::Op>(i);
    line(fmt::format("cost.{}", kir::OpName(op)), t.costs.Of(op));
  }
  for (uint32_t i = 0; i < kir::NumMath(); ++i) line(fmt::format("cost.{}", kir::MathName(i)), t.costs.OfMath(i));
  return out + "\n";
}

Result<Target> Parse(std::string_view text) {
  TENON_ASSIGN_OR_RETURN(Reader reader, Reader::Of(text));
  Target t;
  t.name = reader.Take("name");
  const std::string kind = reader.Take("kind");
  if (kind != "cpu" && kind != "gpu") reader.Fail(fmt::format("kind '{}' of a target, wanted cpu or gpu", kind));
  t.kind = kind == "gpu" ? Kind::kGpu : Kind::kCpu;
  t.isa = reader.Take("isa");
  t.features = Words(reader.Take("features"));
  for (const std::string& word : Words(reader.Take("caches"))) {
    const size_t slash = word.find('/');
    const std::string_view view(word);
    const std::optional<int64_t> bytes = NumberOf<int64_t>(view.substr(0, slash));
    const std::optional<int64_t> line =
        slash == std::string::npos ? std::nullopt : NumberOf<int64_t>(view.substr(slash + 1));
    if (!bytes || !line) reader.Fail(fmt::format("cache '{}' of a target, wanted BYTES/LINE_BYTES", word));
    t.caches.push_back({bytes.value_or(0), line.value_or(0)});
  }
  for (const std::string& word : Words(reader.Take("types"))) {
    const Result<DType> type = ParseDType(word);
    if (!type.ok()) reader.Fail(fmt::format("type '{}' of a target is none", word));
    t.types.push_back(type.ok() ? *type : DType::kInvalid);
  }
  t.spaces = TakeSpaces(reader, "spaces");
  const auto number = [&](std::string_view name, auto& value) { reader.Number(name, value); };
  ForEachNumber(t, number);
  if (t.kind == Kind::kGpu) {
    t.device.name = reader.Take("device.name");
    for (const std::string& word : Words(reader.Take("device.matrix_units")))
      t.device.matrix_units.push_back(MatrixUnitOf(reader, word));
    t.device.spaces = TakeSpaces(reader, "device.spaces");
    ForEachFact(t.device, number);
  }
  t.costs = OpCosts::Standard();  // As many math functions as there are.
  for (size_t i = 0; i < kir::kNumOps; ++i) {
    const auto op = static_cast<kir::Op>(i);
    int64_t cost = 0;
    reader.Number(fmt::format("cost.{}", kir::OpName(op)), cost);
    t.costs.Set(op, static_cast<int>(cost));
  }
  for (uint32_t i = 0; i < kir::NumMath(); ++i) {
    int64_t cost = 0;
    reader.Number(fmt::format("cost.{}", kir::MathName(i)), cost);
    t.costs.SetMath(i, static_cast<int>(cost));
  }
  TENON_RETURN_IF_ERROR(reader.Finish());
  return t;
}

Hash128 Hash(const Target& target) {
  const std::string text = Print(target);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.low64, hash.high64};
}

}  // namespace tenon::target
