#pragma once

/// What a driver's step says beside its operands: numbers with names. A family keeps them as a struct of its own, which
/// lists its members once; text, equality and the way through a plan follow from that list.

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/base/small_vector.h"
#include "tenon/base/status.h"

namespace tenon::drivers {

using Numbers = SmallVector<int64_t, 4>;

/// Plain data, in the order in which the struct lists its members; members that have their default value are absent.
struct Config {
  struct Field {
    std::string name;  ///< Letters, digits and underscores.
    Numbers values;
    friend bool operator==(const Field&, const Field&) = default;
  };
  std::vector<Field> fields;
  friend bool operator==(const Config&, const Config&) = default;
};

/// "{lhs_contracting=[1], accumulate=[1]}".
std::string ToString(const Config& config);

namespace internal {

inline void Write(int64_t value, Numbers& to) { to.push_back(value); }
inline void Write(bool value, Numbers& to) { to.push_back(value ? 1 : 0); }
inline void Write(const Dims& values, Numbers& to) { to = Numbers(values.begin(), values.end()); }
template <class E>
  requires std::is_enum_v<E>
void Write(E value, Numbers& to) {
  to.push_back(static_cast<int64_t>(value));
}

bool Read(std::span<const int64_t> from, int64_t& value);
bool Read(std::span<const int64_t> from, bool& value);
bool Read(std::span<const int64_t> from, Dims& values);

/// Finds the members' values among the fields of a configuration, each at most once.
class Reader {
 public:
  explicit Reader(const Config& config) : config_(config), used_(config.fields.size(), false) {}

  template <class T>
  void operator()(std::string_view name, T& member) {
    const Config::Field* field = Take(name);
    if (field != nullptr && !Read({field->values.data(), field->values.size()}, member)) Refuse(*field);
  }
  /// An enumeration from 0 to `last`.
  template <class E>
    requires std::is_enum_v<E>
  void operator()(std::string_view name, E& member, E last) {
    int64_t value = static_cast<int64_t>(member);
    (*this)(name, value);
    if (value < 0 || value > static_cast<int64_t>(last)) return Refuse({std::string(name), {value}});
    member = static_cast<E>(value);
  }

  /// INVALID_ARGUMENT when a value did not fit its member, or a field belongs to no member or comes twice.
  Status Finish() const;

 private:
  const Config::Field* Take(std::string_view name);
  void Refuse(const Config::Field& field);

  const Config& config_;
  std::vector<bool> used_;
  Status status_;
};

}  // namespace internal

/// The members of `d` as D::Fields lists them:
///   template <class Self, class F> static void Fields(Self& self, F&& field) { field("name", self.member); ... }
/// with members of type int64_t, bool and Dims, and enumerations as field("name", self.member, E::kLast).
template <class D>
Config ToConfig(const D& d) {
  const auto each = [](const D& from, const auto& f) {
    size_t index = 0;
    D::Fields(from, [&](std::string_view name, const auto& member, const auto&...) {
      Numbers values;
      internal::Write(member, values);
      f(index++, name, std::move(values));
    });
  };
  static const std::vector<Numbers> defaults = [&] {
    std::vector<Numbers> all;
    each(D{}, [&](size_t, std::string_view, Numbers values) { all.push_back(std::move(values)); });
    return all;
  }();
  Config config;
  each(d, [&](size_t index, std::string_view name, Numbers values) {
    if (!(values == defaults[index])) config.fields.push_back({std::string(name), std::move(values)});
  });
  return config;
}

/// The struct that ToConfig made `config` of. INVALID_ARGUMENT, naming the field, for anything that is not such a
/// struct; whether its numbers make sense together is for the family to say.
template <class D>
Result<D> FromConfig(const Config& config) {
  D d;
  internal::Reader reader(config);
  D::Fields(d, reader);
  TENON_RETURN_IF_ERROR(reader.Finish());
  return d;
}

}  // namespace tenon::drivers
