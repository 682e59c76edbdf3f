#include "tools/tenon/array.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tenon::cli {
namespace {

using client::kDTypeOf;

// Calls visitor.operator()<T>() with the C++ type of elements of `type`; false for types without elements.
template <class V>
bool Visit(DType type, V&& visitor) {
  const auto one = [&]<class T>() {
    if (type != kDTypeOf<T>) return false;
    visitor.template operator()<T>();
    return true;
  };
  const auto any = [&]<class... T>() { return (one.template operator()<T>() || ...); };
  return any
      .template operator()<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float,
                           double, std::complex<float>, std::complex<double>, client::F16, client::BF16, client::F8E5M2,
                           client::F8E4M3, client::F8E3M4, client::F8E4M3FN, client::F8E4M3B11FNUZ, client::F8E5M2FNUZ,
                           client::F8E4M3FNUZ, client::F4E2M1FN, client::F6E2M3FN, client::F6E3M2FN, client::F8E8M0FNU,
                           client::S1, client::S2, client::S4, client::U1, client::U2, client::U4>();
}

template <class T>
T Get(const Array& array, size_t i) {
  // Plugins may leave any byte for true.
  if constexpr (std::is_same_v<T, bool>) return array.bytes[i] != std::byte{0};
  T value;
  std::memcpy(&value, array.bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void Set(Array& array, size_t i, const T& value) {
  std::memcpy(array.bytes.data() + i * sizeof(T), &value, sizeof(T));
}

template <class T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T>
inline constexpr bool kIsSmallInt = requires(T t) { t.byte; };
template <class T>
inline constexpr bool kIsFloat = !std::is_integral_v<T> && !kIsComplex<T> && !kIsSmallInt<T>;

template <class T>
std::string TextOf(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (kIsSmallInt<T>) {
    return std::to_string(static_cast<int>(value));
  } else if constexpr (kIsComplex<T>) {
    return fmt::format("({},{})", value.real(), value.imag());
  } else if constexpr (std::is_same_v<T, double>) {
    return fmt::format("{}", value);
  } else {
    // The shortest text that reads back as the same float; every smaller type is exact in one.
    return fmt::format("{}", static_cast<float>(value));
  }
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Result<double> ParseDouble(std::string_view text) {
  double value = 0;
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end == digits.data() + digits.size()) return value;
  return InvalidArgument(fmt::format("'{}' is no number", text));
}

template <class T>
Result<T> ParseAs(std::string_view text) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text == "true" || text == "True" || text == "1") return true;
    if (text == "false" || text == "False" || text == "0") return false;
    return InvalidArgument(fmt::format("'{}' is no pred, wanted true or false", text));
  } else if constexpr (std::is_integral_v<T> || kIsSmallInt<T>) {
    using Wide = std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>;
    Wide value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      return InvalidArgument(fmt::format("'{}' is no {}", text, DTypeName(kDTypeOf<T>)));
    }
    bool fits;
    if constexpr (kIsSmallInt<T>) {
      fits = value >= -128 && value < 128 && static_cast<int>(T(static_cast<int>(value))) == value;
      if (fits) return T(static_cast<int>(value));
    } else {
      fits = std::in_range<T>(value);
      if (fits) return static_cast<T>(value);
    }
    return InvalidArgument(fmt::format("{} does not fit into {}", text, DTypeName(kDTypeOf<T>)));
  } else if constexpr (kIsComplex<T>) {
    using Real = typename T::value_type;
    if (!text.starts_with('(')) {
      TENON_ASSIGN_OR_RETURN(const double real, ParseDouble(text));
      return T(static_cast<Real>(real), 0);
    }
    const size_t comma = text.find(',');
    if (comma == text.npos || !text.ends_with(')'))
      return InvalidArgument(fmt::format("'{}' is no complex number, wanted (re,im)", text));
    TENON_ASSIGN_OR_RETURN(const double real, ParseDouble(Trim(text.substr(1, comma - 1))));
    TENON_ASSIGN_OR_RETURN(const double imaginary, ParseDouble(Trim(text.substr(comma + 1, text.size() - comma - 2))));
    return T(static_cast<Real>(real), static_cast<Real>(imaginary));
  } else {
    TENON_ASSIGN_OR_RETURN(const double value, ParseDouble(text));
    return T(value);
  }
}

}  // namespace

Result<Array> MakeArray(const Shape& shape) {
  if (ByteWidth(shape.dtype) == 0)
    return InvalidArgument(fmt::format("arrays of {} have no elements", DTypeName(shape.dtype)));
  TENON_ASSIGN_OR_RETURN(const int64_t bytes, CheckedSizeBytes(shape));
  // Beyond what is there the system would end some process rather than refuse.
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  if (memory > 0 && bytes > memory)
    return ResourceExhausted(
        fmt::format("{} takes {} bytes, this machine has {} bytes of memory", ToString(shape), bytes, memory));
  return Array{shape, std::vector<std::byte>(static_cast<size_t>(bytes))};
}

std::string ElementText(const Array& array, size_t i) {
  std::string text = "?";
  Visit(array.shape.dtype, [&]<class T>() { text = TextOf(Get<T>(array, i)); });
  return text;
}

std::complex<double> ElementNumber(const Array& array, size_t i) {
  std::complex<double> number;
  Visit(array.shape.dtype, [&]<class T>() {
    const T value = Get<T>(array, i);
    if constexpr (kIsComplex<T>) {
      number = {value.real(), value.imag()};
    } else if constexpr (kIsSmallInt<T>) {
      number = static_cast<double>(static_cast<int>(value));
    } else {
      number = static_cast<double>(value);
    }
  });
  return number;
}

Status ParseElement(Array& array, size_t i, std::string_view text) {
  Status status = InvalidArgument(fmt::format("{} has no literals", DTypeName(array.shape.dtype)));
  Visit(array.shape.dtype, [&]<class T>() {
    Result<T> value = ParseAs<T>(Trim(text));
    status = value.ok() ? OkStatus() : value.status();
    if (value.ok()) Set<T>(array, i, *value);
  });
  return status;
}

Result<Shape> ParseShape(std::string_view text) {
  text = Trim(text);
  const size_t bracket = text.find('[');
  TENON_ASSIGN_OR_RETURN(const DType type, ParseDType(Trim(text.substr(0, bracket))));
  Shape shape{type, {}};
  if (bracket == text.npos) return shape;
  if (!text.ends_with(']')) return InvalidArgument(fmt::format("shape '{}' lacks its closing bracket", text));
  std::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  while (!Trim(dims).empty()) {
    const size_t comma = dims.find(',');
    const std::string_view digits = Trim(dims.substr(0, comma));
    int64_t extent = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), extent);
    if (error != std::errc() || end != digits.data() + digits.size() || extent < 0) {
      return InvalidArgument(fmt::format("'{}' in shape '{}' is no extent", digits, text));
    }
    shape.dims.push_back(extent);
    dims = comma == dims.npos ? std::string_view() : dims.substr(comma + 1);
  }
  return shape;
}

Result<Array> ParseLiteral(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == text.npos)
    return InvalidArgument(fmt::format("'{}' is no literal, wanted TYPE[DIMS]:VALUES such as f32[3]:1,2,3", text));
  TENON_ASSIGN_OR_RETURN(const Shape shape, ParseShape(text.substr(0, colon)));
  TENON_ASSIGN_OR_RETURN(Array array, MakeArray(shape));
  const auto count = static_cast<size_t>(NumElements(shape.dims));
  std::vector<std::string_view> values;
  const std::string_view rest = text.substr(colon + 1);
  // Brackets are for readers; commas within parentheses belong to complex numbers.
  size_t from = 0;
  int depth = 0;
  for (size_t i = 0; i <= rest.size(); ++i) {
    const char c = i < rest.size() ? rest[i] : ',';
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if ((c != ',' && c != '[' && c != ']') || depth > 0) continue;
    const std::string_view value = Trim(rest.substr(from, i - from));
    if (!value.empty()) values.push_back(value);
    from = i + 1;
  }
  if (values.size() != count && values.size() != 1) {
    return InvalidArgument(
        fmt::format("'{}' has {} values, {} takes {} (or one for all)", text, values.size(), ToString(shape), count));
  }
  for (size_t i = 0; i < count; ++i) {
    TENON_RETURN_IF_ERROR(ParseElement(array, i, values[values.size() == 1 ? 0 : i]));
  }
  return array;
}

Result<Array> MakeFilled(const Shape& shape, Fill fill, uint64_t seed) {
  TENON_ASSIGN_OR_RETURN(Array array, MakeArray(shape));
  const auto count = static_cast<size_t>(NumElements(shape.dims));
  std::mt19937_64 random(seed);
  Visit(shape.dtype, [&]<class T>() {
    for (size_t i = 0; i < count; ++i) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      double value = fill == Fill::kOnes ? 1 : fill == Fill::kIota ? static_cast<double>(i) : 0;
      if (fill == Fill::kRandom) {
        if constexpr (std::is_same_v<T, bool>)
          value = unit < 0.5 ? 0 : 1;
        else if constexpr (kIsFloat<T> || kIsComplex<T>)
          value = 2 * unit - 1;
        else if constexpr (kIsSmallInt<T>)
          value = std::floor(unit * 2);
        else
          value = std::floor(std::is_signed_v<T> ? 20 * unit - 10 : 10 * unit);
      }
      if constexpr (kIsComplex<T>) {
        const double imaginary = fill == Fill::kRandom ? 2 * (static_cast<double>(random() >> 11) * 0x1p-53) - 1 : 0;
        Set<T>(array, i, T(static_cast<typename T::value_type>(value), static_cast<typename T::value_type>(imaginary)));
      } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        Set<T>(array, i, static_cast<T>(static_cast<int64_t>(value)));
      } else if constexpr (kIsSmallInt<T>) {
        Set<T>(array, i, T(static_cast<int>(value)));
      } else {
        Set<T>(array, i, T(value));
      }
    }
  });
  return array;
}

namespace {

void AppendText(std::string& out, const Array& array, size_t axis, size_t& at, size_t& left) {
  if (axis == array.shape.dims.size()) {
    out += ElementText(array, at++);
    --left;
    return;
  }
  size_t inner = 1;
  for (size_t i = axis + 1; i < array.shape.dims.size(); ++i) inner *= static_cast<size_t>(array.shape.dims[i]);
  out += '[';
  const auto extent = static_cast<size_t>(array.shape.dims[axis]);
  if (extent == 0) --left;  // An empty list takes the place of an element: there may be any number of them.
  for (size_t i = 0; i < extent; ++i) {
    if (i != 0) {
      out += ',';
      if (axis + 1 == array.shape.dims.size())
        out += ' ';
      else
        out += "\n" + std::string(axis + 1, ' ');
    }
    if (left == 0) {
      out += "...";
      at += inner * (extent - i);
      break;
    }
    AppendText(out, array, axis + 1, at, left);
  }
  out += ']';
}

nlohmann::json ElementJson(const Array& array, size_t i) {
  nlohmann::json json;
  Visit(array.shape.dtype, [&]<class T>() {
    const T value = Get<T>(array, i);
    if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>) {
      json = value;
    } else if constexpr (kIsSmallInt<T>) {
      json = static_cast<int>(value);
    } else if constexpr (kIsComplex<T>) {
      json = TextOf(value);
    } else if (std::isfinite(static_cast<double>(value))) {
      json = static_cast<double>(value);
    } else {
      json = TextOf(value);
    }
  });
  return json;
}

// Whether the array is written with at most so many elements and empty lists.
bool IsWrittenWithin(const Dims& dims, size_t most) {
  size_t count = 1;
  for (const int64_t dim : dims) {
    const auto extent = static_cast<size_t>(dim);
    if (extent == 0) break;
    if (count > most / extent) return false;
    count *= extent;
  }
  return count <= most;
}

nlohmann::json NestedJson(const Array& array, size_t axis, size_t& at) {
  if (axis == array.shape.dims.size()) return ElementJson(array, at++);
  nlohmann::json list = nlohmann::json::array();
  for (int64_t i = 0; i < array.shape.dims[axis]; ++i) list.push_back(NestedJson(array, axis + 1, at));
  return list;
}

}  // namespace

std::string ToText(const Array& array, size_t most) {
  std::string out;
  size_t at = 0, left = most;
  if (most == 0) return "...";
  AppendText(out, array, 0, at, left);
  return out;
}

nlohmann::json ToJson(const Array& array, size_t most) {
  nlohmann::json json = {{"dtype", DTypeName(array.shape.dtype)}, {"shape", nlohmann::json::array()}};
  for (const int64_t extent : array.shape.dims) json["shape"].push_back(extent);
  size_t at = 0;
  if (IsWrittenWithin(array.shape.dims, most)) json["data"] = NestedJson(array, 0, at);
  return json;
}

}  // namespace tenon::cli
