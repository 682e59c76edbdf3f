#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/tenon/array.h"

namespace tenon::cli {

/// Reads NumPy's .npy format, versions 1 to 3: booleans, integers, floats and complex numbers of either byte order, and
/// the raw bytes ("V1", "V2") in which NumPy stores ml_dtypes' types; `wanted` names the type of those (kInvalid: not
/// known). INVALID_ARGUMENT says what is wrong with the file's contents.
Result<Array> ParseNpy(std::string_view bytes, DType wanted);
/// What numpy.load reads. Types that NumPy does not have become raw bytes, narrow integers int8 or uint8.
std::string ToNpy(const Array& array);

/// The arrays of a .npz file, in its order, by name. Stored and deflated members.
Result<std::vector<std::pair<std::string, std::string>>> ParseNpz(std::string_view bytes);
/// The archive has sizes of 32 bits: `members` have at most kMostNpzBytes together.
inline constexpr size_t kMostNpzBytes = (size_t{4} << 30) - (size_t{1} << 20);
std::string ToNpz(const std::vector<std::pair<std::string, std::string>>& members);

/// Whole files. NOT_FOUND, PERMISSION_DENIED or INTERNAL with the reason of the operating system.
Result<std::string> ReadFile(const std::string& path);
/// Whether WriteFile may succeed, without touching the file.
Status CheckWritable(const std::string& path);
/// "-" is standard output.
Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace tenon::cli
