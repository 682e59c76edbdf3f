#include "tools/tenon/compare.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "tools/tenon/npy.h"

namespace tenon::cli {
namespace {

// How far apart, and how far from agreeing: at most 0 where they agree.
struct Distance {
  double absolute, relative, excess;
};

Distance DistanceOf(std::complex<double> got, std::complex<double> wanted, double tolerance) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  if (same(got.real(), wanted.real()) && same(got.imag(), wanted.imag())) return {0, 0, -1};
  const double absolute = std::abs(got - wanted), size = std::abs(wanted);
  if (!std::isfinite(absolute)) return {kInf, kInf, kInf};
  return {absolute, size > 0 ? absolute / size : kInf, absolute - tolerance * (1 + size)};
}

}  // namespace

Result<Difference> Compare(const Array& got, const Array& wanted, double tolerance) {
  if (got.shape != wanted.shape)
    return InvalidArgument(fmt::format("got {}, wanted {}", ToString(got.shape), ToString(wanted.shape)));
  Difference difference;
  difference.elements = static_cast<size_t>(NumElements(got.shape.dims));
  if (difference.elements == 0) return difference;
  const size_t width = got.bytes.size() / difference.elements;
  double furthest = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < difference.elements; ++i) {
    if (std::memcmp(got.bytes.data() + i * width, wanted.bytes.data() + i * width, width) == 0) continue;
    Distance distance = DistanceOf(ElementNumber(got, i), ElementNumber(wanted, i), tolerance);
    // Large integers that a double does not tell apart.
    const std::string got_text = ElementText(got, i), wanted_text = ElementText(wanted, i);
    if (distance.excess < 0 && tolerance == 0 && got_text != wanted_text && IsInteger(got.shape.dtype))
      distance = {1, 0, 1};
    difference.largest_absolute = std::max(difference.largest_absolute, distance.absolute);
    difference.largest_relative = std::max(difference.largest_relative, distance.relative);
    difference.different += distance.excess > 0 ? 1 : 0;
    if (distance.excess <= furthest) continue;
    furthest = distance.excess;
    difference.worst = i;
    difference.got = got_text;
    difference.wanted = wanted_text;
  }
  return difference;
}

std::string ToText(const Difference& difference, const Shape& shape) {
  if (difference.got.empty()) return fmt::format("equal ({} elements)", difference.elements);
  std::string index;
  size_t rest = difference.worst;
  for (size_t i = shape.dims.size(); i-- > 0;) {
    const auto extent = static_cast<size_t>(shape.dims[i]);
    index = fmt::format("{}{}{}", rest % extent, index.empty() ? "" : ",", index);
    rest /= extent;
  }
  const std::string largest = fmt::format("largest difference {:.3g} (relative {:.3g})", difference.largest_absolute,
                                          difference.largest_relative);
  if (difference.different == 0) return fmt::format("agrees ({} elements), {}", difference.elements, largest);
  return fmt::format("{} of {} elements differ; the worst is [{}]: got {}, wanted {}; {}", difference.different,
                     difference.elements, index, difference.got, difference.wanted, largest);
}

nlohmann::json ToJson(const Difference& difference) {
  const auto number = [](double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json("inf"); };
  nlohmann::json json = {{"elements", difference.elements},
                         {"different", difference.different},
                         {"largest_absolute", number(difference.largest_absolute)},
                         {"largest_relative", number(difference.largest_relative)}};
  if (!difference.got.empty()) {
    json["worst"] = {{"element", difference.worst}, {"got", difference.got}, {"wanted", difference.wanted}};
  }
  return json;
}

namespace {
// Which output a member is: by its name where that is out0, out1 ..., otherwise the next.
size_t OutputOf(std::string_view name, size_t next) {
  if (!name.starts_with("out")) return next;
  size_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : next;
}
}  // namespace

Result<std::vector<std::pair<std::string, Array>>> LoadArrays(const std::string& file,
                                                              const std::vector<DType>& types) {
  TENON_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
  std::vector<std::pair<std::string, std::string>> members;
  if (file.ends_with(".npz")) {
    auto parsed = ParseNpz(bytes);
    if (!parsed.ok()) return parsed.status().WithContext(file);
    members = std::move(parsed).value();
  } else if (file.ends_with(".npy")) {
    members.emplace_back("out0", bytes);
  } else {
    return InvalidArgument(fmt::format("'{}' is neither a .npy nor a .npz file", file));
  }
  std::vector<std::pair<std::string, Array>> arrays;
  for (auto& [name, content] : members) {
    const size_t output = OutputOf(name, arrays.size());
    const DType type = output < types.size() ? types[output] : DType::kInvalid;
    Result<Array> array = ParseNpy(content, type);
    if (!array.ok()) return array.status().WithContext(fmt::format("{}:{}", file, name));
    arrays.emplace_back(name, std::move(array).value());
  }
  return arrays;
}

}  // namespace tenon::cli
