#include "tenon/target/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tenon::target {
namespace {

/// Every field with its name in the text form.
template <class W, class F>
void ForEachField(W& work, const F& f) {
  f("ops", work.ops);
  f("flops", work.flops);
  f("serial", work.serial);
  f("read", work.bytes_read);
  f("written", work.bytes_written);
  f("cached", work.bytes_cached);
  f("launches", work.launches);
}
static_assert(sizeof(Work) == 7 * sizeof(double), "a new field belongs into ForEachField and the operators");

}  // namespace

Work& Work::operator+=(const Work& other) {
  ops += other.ops;
  flops += other.flops;
  serial += other.serial;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  bytes_cached += other.bytes_cached;
  launches += other.launches;
  return *this;
}

Work operator*(double times, Work work) {
  ForEachField(work, [&](std::string_view, double& v) { v *= times; });
  return work;
}

namespace {

/// Of arrays of so many bytes together, which were written or read not long ago: where they fit is where they are.
double BytesPerNs(const Target& t, double bytes) {
  const auto holds = [&](size_t level) { return static_cast<double>(t.Cache(level).bytes) >= bytes; };
  if (t.caches.empty()) return t.core_bytes_per_ns;
  // The last cache is shared, and between the two others in speed.
  if (t.caches.size() > 1 && holds(t.caches.size() - 2)) return t.cached_bytes_per_ns;
  return holds(t.caches.size() - 1) ? std::sqrt(t.cached_bytes_per_ns * t.core_bytes_per_ns) : t.core_bytes_per_ns;
}

}  // namespace

double TimeNs(const Target& t, const Work& w) {
  const double f32_lanes = static_cast<double>(t.vector_bytes) / sizeof(float);
  const double arithmetic = w.ops / (f32_lanes * t.clock_ghz) + w.flops / t.core_flops_per_ns;
  const double bytes = w.bytes_read + w.bytes_written;
  const double memory = bytes / BytesPerNs(t, bytes) + w.bytes_cached / t.cached_bytes_per_ns;
  return w.launches * t.launch_ns + w.serial / t.clock_ghz + std::max(arithmetic, memory);
}

std::string Print(const Work& work) {
  std::string text;
  ForEachField(work, [&](std::string_view name, double v) {
    if (v != 0) text += fmt::format("{}{} {}", text.empty() ? "" : " ", name, v);
  });
  return text.empty() ? "none" : text;
}

Result<Work> ParseWork(std::string_view text) {
  Work work;
  if (text == "none") return work;
  const auto word = [&] {
    const std::string_view w = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), w.size() + 1));
    return w;
  };
  if (text.empty()) return InvalidArgument("work without a number, wanted 'none'");
  while (!text.empty()) {
    const std::string_view name = word();
    const std::string_view number = word();
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size() || !(value > 0) || !std::isfinite(value))
      return InvalidArgument(fmt::format("work of '{}': got '{}', wanted a positive finite number", name, number));
    bool known = false;
    bool twice = false;
    ForEachField(work, [&](std::string_view n, double& v) {
      if (n != name) return;
      known = true;
      twice = v != 0;
      v = value;
    });
    if (!known) return InvalidArgument(fmt::format("'{}' is no kind of work", name));
    if (twice) return InvalidArgument(fmt::format("work of '{}' twice", name));
  }
  return work;
}

}  // namespace tenon::target
