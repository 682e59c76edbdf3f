#pragma once

/// Types and attributes of the builder in the encodings of portable artifacts.

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/builder/attribute.h"
#include "tenon/builder/internal/attr_text.h"
#include "tenon/builder/internal/state.h"
#include "tenon/vhlo/file.h"
#include "tenon/vhlo/table.h"
#include "tenon/vhlo/wire.h"

namespace tenon::builder::internal {

/// Encodes and numbers types and attributes, each once. "Native" ones are those that builtin and Shardy's operations
/// have. Errors stick: status() says the first one, and numbers given after it mean nothing.
class Portable {
 public:
  using Number = uint64_t;
  using Named = std::pair<std::string, Number>;

  explicit Portable(vhlo::Version target) : file_(target) {}

  vhlo::File& file() { return file_; }
  vhlo::Version target() const { return file_.target(); }
  const Status& status() const { return status_; }
  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  Number Type(const builder::Type& type);
  Number FunctionType(const std::vector<builder::Type>& inputs, const std::vector<builder::Type>& results);
  /// By StableHLO's name: "f32", "complex<f64>", "index", "none".
  Number ElementType(std::string_view name);
  Number NativeType(const builder::Type& type) { return Text(vhlo::File::Kind::kType, "builtin", type.ToString()); }

  Number Attr(const Attribute& attribute);
  Number Attr(const ParsedAttr& attribute);
  /// The attribute that `text` stands for.
  Number AttrOfText(std::string_view text);
  Number Integer(int64_t value, std::string_view element = "i64");
  Number Bool(bool value);
  Number String(std::string_view value);
  Number TypeAttr(Number type);
  Number Array(const std::vector<Number>& parts);
  Number Dictionary(std::vector<Named> entries);
  Number Ints(const Dims& values);
  Number Bools(const std::vector<bool>& values);
  /// A matrix of zeros: no padding.
  Number Zeros(int64_t rows);
  Number DefaultAccuracy();
  /// The case that `type` ("precision") calls `value` ("HIGH").
  Number Enum(std::string_view type, std::string_view value);
  Number Enum(vhlo::AttrCode code, uint64_t value);

  Number NativeString(std::string_view value);
  /// Attributes of an operation: those of VHLO operations in their portable form, others' native.
  Number NativeDictionary(std::vector<Named> entries);
  Number NativeText(std::string_view dialect, std::string_view text) {
    return Text(vhlo::File::Kind::kAttr, dialect, text);
  }
  Number UnknownLocation();

 private:
  Number Text(vhlo::File::Kind kind, std::string_view dialect, std::string_view text);
  Number Add(vhlo::File::Kind kind, vhlo::Sink& out);
  /// A sink that begins with the code; fails when the version lacks it.
  vhlo::Sink Begin(vhlo::AttrCode code);
  vhlo::Sink Begin(vhlo::TypeCode code);
  /// `bytes` as the builder keeps them: one byte per element for what is narrower; one element stands for all.
  Number Tensor(Number type, std::string_view element, int64_t count, std::string_view bytes);
  Number TensorType(const std::vector<int64_t>& dims, std::string_view element);

  vhlo::File file_;
  Status status_;
};

/// The attributes that `row` wants of `op`, in its order; consumes them from `op`'s own and its others. The names of
/// the latter go to `used`. INVALID_ARGUMENT names what this version cannot say.
Result<std::vector<Portable::Number>> AttributesOf(const OpState& op, const vhlo::Op& row, Portable& portable,
                                                   std::vector<std::string>& used);

/// The portable artifact of a module without errors.
Result<std::string> WriteArtifact(const ModuleState& module, vhlo::Version target);

}  // namespace tenon::builder::internal
