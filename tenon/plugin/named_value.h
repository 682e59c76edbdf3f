#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/abi/pjrt_base.h"
#include "tenon/base/status.h"

namespace tenon::plugin {

/// What an option or attribute can hold; the order is that of PJRT_NamedValue_Type.
using Value = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;
enum class ValueType : uint8_t { kString, kInt64, kInt64List, kFloat, kBool };
std::string_view ValueTypeName(ValueType type);

struct NamedValue {
  std::string name;
  Value value;
};

/// Options by name, as decoded and checked from a caller's array.
using Options = std::map<std::string, Value, std::less<>>;

/// The value of `name`; null when it is not there or of another type.
template <class T>
const T* FindOption(const Options& options, std::string_view name) {
  const auto it = options.find(name);
  return it == options.end() ? nullptr : std::get_if<T>(&it->second);
}

/// An option that a plugin understands.
struct OptionSpec {
  std::string name;
  ValueType type;
};

/// Reads a caller's array. INVALID_ARGUMENT for a NULL array with a count, an unnamed value, or an unknown type tag;
/// the later of two values of one name wins.
Result<Options> DecodeNamedValues(const PJRT_NamedValue* values, size_t count);

/// Checks that every option is among `known` and has its type. Strings are converted to numbers, booleans ("true", "1",
/// "false", "0") and lists ("1,2,3") where those are wanted, integers to floats and booleans. INVALID_ARGUMENT
/// otherwise; `what` begins the message, as in "No such <what>: 'x'".
Result<Options> CheckOptions(Options options, std::span<const OptionSpec> known, std::string_view what);

/// The C form of a list of attributes. Owns its strings; the array lives as long as this object and does not move with
/// it.
class NamedValueArray {
 public:
  explicit NamedValueArray(std::vector<NamedValue> values);
  NamedValueArray(const NamedValueArray&) = delete;
  NamedValueArray& operator=(const NamedValueArray&) = delete;

  const PJRT_NamedValue* data() const { return c_values_.empty() ? nullptr : c_values_.data(); }
  size_t size() const { return c_values_.size(); }
  const std::vector<NamedValue>& values() const { return values_; }

 private:
  std::vector<NamedValue> values_;
  std::vector<PJRT_NamedValue> c_values_;
};

}  // namespace tenon::plugin
