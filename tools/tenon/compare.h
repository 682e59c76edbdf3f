#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/tenon/array.h"

namespace tenon::cli {

/// How two arrays of one type and shape differ. Elements agree when they are equal (0 and -0, NaN and NaN are), or when
/// |got - wanted| <= tolerance * (1 + |wanted|).
struct Difference {
  size_t elements = 0;
  size_t different = 0;         ///< Elements that do not agree.
  double largest_absolute = 0;  ///< Of all elements, agreeing ones too; infinite where one of two is NaN or infinite.
  double largest_relative = 0;  ///< The same, |got - wanted| / |wanted|.
  size_t worst = 0;             ///< The element that is furthest from agreeing.
  std::string got, wanted;      ///< Its values.
};

/// What two compilers may differ by: types of 16 bits and less round after every operation, in an order that is the
/// compiler's own.
inline double UsualTolerance(DType type) {
  if (!IsFloat(type) && !IsComplex(type)) return 0;
  return ByteWidth(type) <= 2 ? 0.05 : 1e-4;
}

/// INVALID_ARGUMENT when type or shape differ.
Result<Difference> Compare(const Array& got, const Array& wanted, double tolerance);

/// "3 of 8 elements differ; the worst is [1,2]: got 1.5, wanted 1.25; largest difference 0.25 (relative 0.2)".
std::string ToText(const Difference& difference, const Shape& shape);
nlohmann::json ToJson(const Difference& difference);

/// The arrays of a .npz file with their names, or the one of a .npy file, called out0. `types` names the types of those
/// that NumPy stores as raw bytes: of out0, out1 ... by that number, of others by position.
Result<std::vector<std::pair<std::string, Array>>> LoadArrays(const std::string& file, const std::vector<DType>& types);

}  // namespace tenon::cli
