#pragma once

/// What an op says beside its operands: one struct per op, with StableHLO's names. attrs.def lists the structs and
/// ops.def says which op has which.

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/kir/kir.h"

namespace tenon::compiler {

enum class LinalgOp : uint8_t { kCholesky, kTriangularSolve, kLu };
enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };

#define TENON_IR_FIELD(type, name, meaning, of) type name{};
#define TENON_IR_ATTRS(name, fields)                                   \
  struct name {                                                        \
    fields friend bool operator==(const name&, const name&) = default; \
  };
#include "tenon/compiler/ir/attrs.def"
#undef TENON_IR_ATTRS
#undef TENON_IR_FIELD

/// Of ops that say nothing.
using NoAttrs = std::monostate;

/// What a field's numbers are, and of which array; see attrs.def.
enum class FieldMeaning : uint8_t { kDim, kDims, kPerDim, kSizes, kNumber, kNumbers };
enum class FieldOf : uint8_t { kNone, kIn0, kIn1, kOut, kIndices, kUpdates, kSpatial };

/// f(const char* name, field, FieldMeaning, FieldOf) for every field of an attribute struct, in order.
template <class F>
void ForEachField(const NoAttrs&, const F&) {}
#define TENON_IR_FIELD(type, name, meaning, of) f(#name, a.name, FieldMeaning::k##meaning, FieldOf::k##of);
#define TENON_IR_ATTRS(name, fields)             \
  template <class F>                             \
  void ForEachField(const name& a, const F& f) { \
    fields                                       \
  }                                              \
  template <class F>                             \
  void ForEachField(name& a, const F& f) {       \
    fields                                       \
  }
#include "tenon/compiler/ir/attrs.def"
#undef TENON_IR_ATTRS
#undef TENON_IR_FIELD

/// The attributes of one node: a value, compared field by field. Copies are deep.
class Attributes {
  /// Large structs are held by pointer, so that nodes stay small.
  template <class T>
  class Boxed {
   public:
    explicit Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
    Boxed(const Boxed& o) : value_(std::make_unique<T>(*o.value_)) {}
    Boxed(Boxed&&) noexcept = default;
    Boxed& operator=(const Boxed& o) {
      *this = Boxed(o);
      return *this;
    }
    Boxed& operator=(Boxed&&) noexcept = default;
    ~Boxed() = default;
    T& operator*() const { return *value_; }
    friend bool operator==(const Boxed& a, const Boxed& b) { return *a == *b; }

   private:
    std::unique_ptr<T> value_;
  };
  template <class T>
  static constexpr bool kBoxed = sizeof(T) > 2 * sizeof(int64_t);
  template <class T>
  using Held = std::conditional_t<kBoxed<T>, Boxed<T>, T>;

 public:
  Attributes() = default;
  template <class T>
    requires(!std::is_same_v<T, Attributes>)
  Attributes(T value) : held_(Held<T>(std::move(value))) {}

  template <class T>
  bool is() const {
    return std::holds_alternative<Held<T>>(held_);
  }
  /// The struct, which must be held.
  template <class T>
  T& as() {
    TENON_CHECK(is<T>());
    if constexpr (kBoxed<T>) {
      return *std::get<Held<T>>(held_);
    } else {
      return std::get<T>(held_);
    }
  }
  template <class T>
  const T& as() const {
    return const_cast<Attributes*>(this)->as<T>();
  }
  /// f(const Struct&), NoAttrs for none.
  template <class F>
  auto Visit(const F& f) const {
    return std::visit(
        [&]<class H>(const H& held) {
          if constexpr (requires { *held; }) {
            return f(std::as_const(*held));
          } else {
            return f(held);
          }
        },
        held_);
  }

  friend bool operator==(const Attributes& a, const Attributes& b) = default;

 private:
#define TENON_IR_ATTRS(name, fields) , Held<name>
  std::variant<NoAttrs
#include "tenon/compiler/ir/attrs.def"
               >
      held_;
#undef TENON_IR_ATTRS
};

/// " name=value" per field that says something: false, and empty lists, are left out.
std::string ToString(const Attributes& attributes);
uint64_t HashOf(const Attributes& attributes);

/// A dot's lists of one side: 0 left, 1 right.
inline const Dims& BatchingDims(const DotAttrs& a, size_t side) {
  return side == 0 ? a.lhs_batching_dimensions : a.rhs_batching_dimensions;
}
inline const Dims& ContractingDims(const DotAttrs& a, size_t side) {
  return side == 0 ? a.lhs_contracting_dimensions : a.rhs_contracting_dimensions;
}

}  // namespace tenon::compiler
