#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/vhlo/version.h"

/// A StableHLO program as plain data, for those who compile it: operations with their operands, types and attributes,
/// whatever form and version the bytes have. Nothing here needs LLVM.
namespace tenon::vhlo {

/// An extent that is known only when the program runs.
inline constexpr int64_t kDynamic = std::numeric_limits<int64_t>::min();

/// How stored integers stand for real numbers: real = (stored - zero_point) * scale.
struct Quantization {
  DType storage = DType::kInvalid;
  DType expressed = DType::kInvalid;
  std::vector<double> scales;  ///< One, or one per index of `axis`.
  std::vector<int64_t> zero_points;
  int64_t axis = -1;          ///< -1: one scale for all.
  int64_t low = 0, high = 0;  ///< Of the stored integers.
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

struct Type {
  enum class Kind : uint8_t {
    kTensor,    ///< `shape`, whose extents may be kDynamic, with `bounds` or without; `quantization` or null
    kElement,   ///< `shape.dtype` alone, kInvalid for what has no name there: see `name`
    kToken,     ///< Nothing.
    kTuple,     ///< `parts`
    kFuture,    ///< `parts`
    kFunction,  ///< `parts`: parameters, of which there are `num_parameters`, then results
    kUnranked,  ///< `shape.dtype`
    kBuffer,    ///< `shape`
    kOther,     ///< A type of another dialect: `name` is that, or the type as text.
  };
  Kind kind = Kind::kOther;
  Shape shape = {};
  std::string name = {};             ///< Of the element type: "f32", "index", "tf32", "none" ...
  std::vector<int64_t> bounds = {};  ///< Empty, or one per dim; kDynamic: none.
  std::shared_ptr<const Quantization> quantization = {};
  std::vector<const Type*> parts = {};
  size_t num_parameters = 0;

  /// An array of elements that DType knows, without unknown extents and quantization: what most devices take.
  bool is_plain_tensor() const;
  /// As in StableHLO: "tensor<2x3xf32>".
  std::string ToString() const;
};

struct Attribute {
  enum class Kind : uint8_t {
    kBool,        ///< `integer`
    kInteger,     ///< `integer`, as many low bits as `type` has, sign-extended unless that is unsigned
    kFloat,       ///< `real`
    kString,      ///< `text`; also names of functions
    kEnum,        ///< `text`: the case, "EQ"
    kType,        ///< `type`
    kTensor,      ///< `type`, `bytes`: elements in row-major order as in Tenon's buffers, or one that stands for all
    kArray,       ///< `parts`
    kDictionary,  ///< `parts`, called `names`; `text` names the kind of record it is, if it is one: "result_accuracy"
    kOpaque,      ///< Of another dialect: `text` is that, `bytes` its encoding, or nothing and `text` the attribute
  };
  Kind kind = Kind::kOpaque;
  int64_t integer = 0;
  double real = 0;
  std::string_view text = {}, bytes = {};
  const Type* type = nullptr;
  std::vector<std::string_view> names = {};
  std::vector<const Attribute*> parts = {};

  /// The part called `name`, or null.
  const Attribute* Find(std::string_view name) const;
  /// Whether one element of a tensor stands for several.
  bool is_splat() const;
  /// A tensor's bytes, each element written out. Empty for other kinds.
  std::string Expand() const;
  /// The numbers of a tensor of integers or booleans, or of an array of them; empty for other kinds and beyond 2^20.
  std::vector<int64_t> Ints() const;
};

struct NamedAttribute {
  std::string_view name;
  const Attribute* value;
};

/// A value: an index into Function::types.
using ValueId = uint32_t;

struct Operation;

/// A block of operations without its terminator, whose operands are the results.
struct Region {
  std::vector<ValueId> arguments;
  std::vector<Operation> operations;
  std::vector<ValueId> results;
};

struct Operation {
  std::string_view name;  ///< "stablehlo.add", "func.call" ...
  std::vector<ValueId> operands = {}, results = {};
  /// The operation's own, under the names that VHLO's newest form has: dimension numbers stand one by one
  /// ("lhs_contracting_dimensions"), lists of integers are tensors, units true, a channel is its "channel_id". What
  /// equals its default (no padding, strides of 1, precisions DEFAULT, false, an empty list; of dimension numbers also
  /// 0) is left out.
  std::vector<NamedAttribute> attributes = {};
  /// "mhlo.frontend_attributes", "sdy.sharding" ... Of operations of other dialects, their own are not read.
  std::vector<NamedAttribute> others = {};
  std::vector<Region> regions = {};
  std::string_view location = {};  ///< "file:line:column" of the caller's source; empty when that is not known.

  /// The attribute called `name`, own or other; null when it is left out.
  const Attribute* Find(std::string_view name) const;
  /// Of an integer or boolean; `absent` when it is left out.
  int64_t Int(std::string_view name, int64_t absent = 0) const;
  /// Attribute::Ints; empty when it is left out.
  std::vector<int64_t> Ints(std::string_view name) const;
  /// Of a string or an enum; empty when it is left out.
  std::string_view Text(std::string_view name) const;
};

struct Function {
  std::string_view name;
  bool is_private = false;
  std::vector<const Type*> types;  ///< Of every value, those in regions included.
  Region body;                     ///< Arguments are the parameters.
  /// Dictionaries, one per parameter and result; null where there is none. "tf.aliasing_output", "mhlo.sharding" ...
  std::vector<const Attribute*> parameter_attributes, result_attributes;
};

/// A program and what its parts refer to. Moves; parts stay where they are.
class Program {
 public:
  /// Reads a portable artifact of any version from 0.9.0 up to kCurrentVersion, which is what frameworks send, or text:
  /// MLIR's generic form, and of the pretty form functions, constants and what is written as
  /// `op operands {attributes} : types`. INVALID_ARGUMENT for what is malformed, with the operation at fault and its
  /// location; UNIMPLEMENTED, by name, for a pretty form that is not read.
  ///
  /// What is promised of the result: values are defined before they are used, operations exist and have as many
  /// operands, results and regions as they may, enums are cases, a tensor's bytes fit its type, no nesting is deeper
  /// than kMaxNesting, and memory is in proportion to `bytes`. Whether types and attributes suit the operation is the
  /// reader's to check.
  static Result<Program> Read(std::string_view bytes);

  Program();
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  std::string_view name() const;
  std::span<const Function> functions() const;
  /// The function called `name`, or null. "main" is the one that runs.
  const Function* Find(std::string_view name) const;
  /// Of the module: "mhlo.num_replicas", "mhlo.num_partitions" ...
  std::span<const NamedAttribute> attributes() const;
  /// Operations of the module that are no functions, such as sdy.mesh, by name and attributes alone.
  std::span<const Operation> others() const;

  struct Storage;
  Storage& storage() const { return *storage_; }

 private:
  std::unique_ptr<Storage> storage_;
};

/// The bound on nesting of regions, attributes and types.
inline constexpr uint32_t kMaxNesting = 256;

/// The program as text, for people and tests: MLIR's generic form with attributes as they stand here.
std::string ToText(const Program& program);

}  // namespace tenon::vhlo
