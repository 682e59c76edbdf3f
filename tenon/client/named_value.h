#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/abi/pjrt_base.h"
#include "tenon/base/status.h"

namespace tenon::client {

/// What a named value can hold: the five kinds of the C interface.
using Value = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;

/// An option or attribute.
struct NamedValue {
  std::string name;
  Value value;
  friend bool operator==(const NamedValue&, const NamedValue&) = default;
};

/// "3", "1.5", "true", "[1, 2]", or the string itself.
std::string ToString(const Value& value);
/// The value called `name`, or null.
const Value* Find(std::span<const NamedValue> values, std::string_view name);

/// Options for a plugin: `Options().Set("num_devices", 4).Set("name", "x")`. Setting a name again replaces its value.
class Options {
 public:
  Options() = default;
  Options(std::initializer_list<NamedValue> values);

  Options& Set(std::string name, std::string value) { return Put(std::move(name), std::move(value)); }
  Options& Set(std::string name, std::string_view value) { return Put(std::move(name), std::string(value)); }
  Options& Set(std::string name, const char* value) { return Put(std::move(name), std::string(value)); }
  Options& Set(std::string name, int64_t value) { return Put(std::move(name), value); }
  Options& Set(std::string name, int value) { return Put(std::move(name), int64_t{value}); }
  Options& Set(std::string name, std::vector<int64_t> value) { return Put(std::move(name), std::move(value)); }
  Options& Set(std::string name, float value) { return Put(std::move(name), value); }
  Options& Set(std::string name, bool value) { return Put(std::move(name), value); }

  const std::vector<NamedValue>& values() const { return values_; }

  /// "name=value,name=value" with integers, floats (with a point or exponent), true/false, [1;2;3] lists, and strings.
  static Result<Options> Parse(std::string_view text);

 private:
  Options& Put(std::string name, Value value);
  std::vector<NamedValue> values_;
};

/// C forms of `values`; they point into `values` and live no longer.
std::vector<PJRT_NamedValue> ToC(std::span<const NamedValue> values);
/// Copies. Kinds outside the list become an empty string.
std::vector<NamedValue> FromC(const PJRT_NamedValue* values, size_t count);

}  // namespace tenon::client
