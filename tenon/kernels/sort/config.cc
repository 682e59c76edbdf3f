#include "tenon/kernels/sort/config.h"

#include <fmt/format.h>

namespace tenon::kernels {

std::vector<int64_t> ToConfig(const SortConfig& config) {
  std::vector<int64_t> numbers = {config.dimension, static_cast<int64_t>(config.keys.size())};
  for (const SortConfig::Key& k : config.keys) numbers.push_back((k.descending ? 1 : 0) | (k.zeros_equal ? 2 : 0));
  for (bool is_position : config.is_position) numbers.push_back(is_position ? 1 : 0);
  return numbers;
}

Result<SortConfig> SortConfigOf(std::span<const int64_t> numbers) {
  SortConfig config;
  if (numbers.size() < 2 || numbers[1] < 0 || static_cast<uint64_t>(numbers[1]) > numbers.size() - 2) {
    return InvalidArgument(fmt::format(
        "a sort configuration of {} numbers, wanted a dimension, a count of keys, and one number per key and result",
        numbers.size()));
  }
  config.dimension = numbers[0];
  const auto keys = static_cast<size_t>(numbers[1]);
  for (size_t i = 0; i < keys; ++i) {
    const int64_t flags = numbers[2 + i];
    if (flags < 0 || flags > 3) return InvalidArgument(fmt::format("a sort configuration with flags {}", flags));
    config.keys.push_back({(flags & 1) != 0, (flags & 2) != 0});
  }
  for (int64_t n : numbers.subspan(2 + keys)) {
    if (n != 0 && n != 1) return InvalidArgument(fmt::format("a sort configuration with flags {}", n));
    config.is_position.push_back(n == 1);
  }
  return config;
}

Result<SortSignature> SignatureOf(const SortConfig& config, std::span<const StridedArray> keys,
                                  std::span<const StridedArray> in, std::span<const StridedArray> out) {
  size_t read = 0;
  for (bool is_position : config.is_position) read += is_position ? 0 : 1;
  if (keys.size() != config.keys.size() || out.size() != config.is_position.size() || in.size() != read ||
      keys.empty() || out.empty()) {
    return InvalidArgument(fmt::format("a sort of {} keys, {} operands and {} results, wanted {}, {} and {}",
                                       keys.size(), in.size(), out.size(), config.keys.size(), read,
                                       config.is_position.size()));
  }
  const Dims& dims = keys[0].dims;
  if (config.dimension < 0 || static_cast<size_t>(config.dimension) >= dims.size()) {
    return InvalidArgument(fmt::format("a sort along dimension {} of {}", config.dimension, dims.size()));
  }
  const auto along = static_cast<size_t>(config.dimension);
  SortSignature s;
  const auto outer = [&](const Dims& list) {
    Dims rest;
    for (size_t d = 0; d < list.size(); ++d) {
      if (d != along) rest.push_back(list[d]);
    }
    return rest;
  };
  const auto fits = [&](const StridedArray& a, int64_t length) {
    Dims wanted = dims;
    wanted[along] = length;
    return a.dims == wanted && a.strides.size() == wanted.size();
  };
  s.outer = outer(dims);
  s.length = dims[along];
  s.take = out[0].dims.size() == dims.size() ? out[0].dims[along] : -1;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!fits(keys[i], s.length)) return InvalidArgument("a sort of arrays of several shapes");
    s.keys.push_back({keys[i].type, config.keys[i].descending, config.keys[i].zeros_equal, keys[i].strides[along],
                      outer(keys[i].strides)});
  }
  size_t next = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!fits(out[i], s.take)) return InvalidArgument("a sort into arrays of several shapes");
    SortPayload p;
    p.width_bytes = ByteWidth(out[i].type);
    p.is_position = config.is_position[i];
    p.out_stride = out[i].strides[along];
    p.out_outer_strides = outer(out[i].strides);
    if (!p.is_position) {
      const StridedArray& from = in[next++];
      if (from.type != out[i].type || !fits(from, s.length))
        return InvalidArgument("a sort whose operand and result differ in type or shape");
      p.in_stride = from.strides[along];
      p.in_outer_strides = outer(from.strides);
    } else if (!IsInteger(out[i].type)) {
      return InvalidArgument(fmt::format("a sort that writes positions as {}", DTypeName(out[i].type)));
    }
    s.payloads.push_back(std::move(p));
  }
  TENON_RETURN_IF_ERROR(Verify(s));
  return s;
}

}  // namespace tenon::kernels
