#pragma once

/// What a program is made of while it is read.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/vhlo/program.h"
#include "tenon/vhlo/table.h"

namespace tenon::vhlo {

struct Program::Storage {
  std::string name;
  std::vector<Function> functions;
  std::vector<NamedAttribute> attributes;
  std::vector<Operation> others;

  std::string input;  // What views point into.
  // Deques: elements stay where they are.
  std::deque<std::string> strings;
  std::deque<Type> types;
  std::deque<Attribute> values;
  std::unordered_map<std::string, const Type*> elements;  // Element types by name.

  std::string_view Keep(std::string text) { return strings.emplace_back(std::move(text)); }
  const Attribute* Add(Attribute value) { return &values.emplace_back(std::move(value)); }
  const Type* Add(Type type) { return &types.emplace_back(std::move(type)); }
  /// The element type called so ("i1", "f8E4M3FN", "complex<f32>", "index"); null when there is none.
  const Type* Element(std::string_view element);
  /// A tensor's attribute from one element or all of them, `width` bytes each, in Tenon's form. Null when the length
  /// does not fit, or the type is no tensor of known extents.
  const Attribute* Tensor(const Type* type, std::string_view bytes);
  const Attribute* Integer(int64_t value, std::string_view element);
  const Attribute* Bool(bool value);
  const Attribute* String(std::string_view value);
};

namespace internal {

/// Bytes of one element as literals hold it; 0 for types without literals.
size_t LiteralBytes(const Type& type);
/// The product of static extents; nothing when there is a dynamic or negative one, or the bytes pass 2^60.
std::optional<uint64_t> NumLiteralElements(const Type& tensor);
/// The least and the greatest integer of a type, as 64 bits.
std::pair<int64_t, int64_t> IntegerRange(DType type);
/// The element type of quantized tensors.
Type QuantizedElement(std::shared_ptr<const Quantization> quantization);
/// Whether `value` is what an absent attribute of this kind stands for.
bool IsDefault(AttrKind kind, const Attribute& value);
/// Names of an enum's cases from EnumFirst on; empty for other attributes.
std::span<const std::string_view> EnumCases(AttrCode code);
/// The newest form of a StableHLO operation, or null.
const Op* NewestForm(std::string_view name);

/// `storage.input` holds the bytes.
Status ReadArtifact(Program::Storage& storage);
Status ReadText(Program::Storage& storage);
/// One attribute or type as text; null when it is none that is read. Views point into `text`.
const Attribute* ReadAttribute(Program::Storage& storage, std::string_view text);
const Type* ReadType(Program::Storage& storage, std::string_view text);

}  // namespace internal
}  // namespace tenon::vhlo
