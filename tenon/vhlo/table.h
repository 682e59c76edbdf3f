#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tenon/vhlo/version.h"

/// The portable form of StableHLO as data: which op, attribute and type names exist on the wire, since and until which
/// version, and how each op's attributes relate to those of the StableHLO op.
namespace tenon::vhlo {

/// How an attribute on the wire relates to the one of the same name on the StableHLO op. "Dropped" means: when reading,
/// the value named is not put on the op; when writing, that value stands for an absent attribute.
enum class AttrKind : uint8_t {
  kCopy,           ///< The same attribute; must be present.
  kDenseArray,     ///< A 1-d tensor here, array<i64: ...> or array<i1: ...> on the op.
  kNoDenseArray,   ///< kDenseArray, the empty one dropped.
  kOnes,           ///< kDenseArray, all ones dropped.
  kFalses,         ///< kDenseArray of i1, all false dropped.
  kZeroPadding,    ///< A tensor of N x 2, all zeros dropped.
  kOldPadding,     ///< Zeros of N x 2; reading ignores it (an operand took its place).
  kNoTensor,       ///< A tensor, the empty one dropped.
  kUnit,           ///< A boolean here, a unit attribute on the op.
  kFalse,          ///< A boolean, false dropped.
  kMinusOne,       ///< An i64, -1 dropped.
  kVersion,        ///< An integer of any width, 0 dropped; i32 on the op.
  kNoString,       ///< A string, "" dropped.
  kNoArray,        ///< An array, the empty one dropped.
  kNoDictionary,   ///< A dictionary, the empty one dropped.
  kNoType,         ///< A comparison type, NOTYPE dropped.
  kSymbol,         ///< A string here, a symbol reference on the op.
  kSymbols,        ///< An array of kSymbol, the empty one dropped.
  kLayouts,        ///< An array; dropped when operand_layouts and result_layouts are both empty.
  kPrecision,      ///< An array of precisions, all DEFAULT dropped.
  kAccuracy,       ///< A result accuracy, the default one dropped.
  kApiVersion,     ///< A custom call API version, ORIGINAL dropped; i32 on the op.
  kBackendConfig,  ///< A string or dictionary, the empty one dropped.
  kChannelId,      ///< An i64 here, the handle of channel_handle on the op; 0 dropped.
  kField,          ///< One field of a structured attribute of the op: see Special.
};

/// Ops whose structured attribute is spread over several attributes (AttrKind::kField).
enum class Special : uint8_t { kPlain, kConvolution, kDotGeneral, kGather, kScatter, kTransfer };

struct Attr {
  std::string_view name;
  AttrKind kind;
};

struct Count {
  uint16_t number = 0;
  bool variadic = false;
  bool Allows(size_t n) const { return variadic ? n >= number : n == number; }
};

struct Op {
  std::string_view name;       ///< Without the dialect: "add_v1".
  std::string_view stablehlo;  ///< With the dialect: "stablehlo.add". return_v1 is func.return or stablehlo.return.
  Version since;
  Version until;  ///< Inclusive, the patch does not count.
  Count operands;
  Count results;
  Count regions;
  Special special;
  std::span<const Attr> attrs;  ///< In ascending order of name: the order of the property blob.

  bool ValidAt(Version target) const {
    return Version{target.major, target.minor, 0} >= since && Version{target.major, target.minor, 0} <= until;
  }
};

/// Every op, ordered by name.
std::span<const Op> Ops();
/// Null when there is none of that name ("add_v1").
const Op* FindOp(std::string_view name);
/// The form of the StableHLO op ("stablehlo.add") that belongs to `target`; null when that version has none.
const Op* FindForm(std::string_view stablehlo, Version target);
/// Whether any version has a form of the StableHLO op.
bool HasForm(std::string_view stablehlo);

/// Attribute codes on the wire.
enum class AttrCode : uint64_t {
  kArray = 1,
  kBoolean = 2,
  kComparisonDirection = 3,
  kComparisonType = 4,
  kApiVersion = 5,
  kDictionary = 6,
  kFftType = 7,
  kFloat = 8,
  kInteger = 9,
  kOutputOperandAlias = 10,
  kPrecision = 11,
  kRngAlgorithm = 12,
  kRngDistribution = 13,
  kString = 14,
  kTensor = 15,
  kTranspose = 16,
  kType = 17,
  kTypeExtensions = 18,
  kResultAccuracyMode = 19,
  kResultAccuracy = 20,
  kSubAxisInfo = 21,
  kAxisRef = 22,
  kReplicaGroupMeshAxes = 23,
  kMeshAxis = 24,
  kMesh = 25,
};

/// Type codes on the wire.
enum class TypeCode : uint64_t {
  kBoolean = 0,
  kComplex = 1,
  kBF16 = 2,
  kF16 = 3,
  kF32 = 4,
  kF64 = 5,
  kF8E4M3FN = 6,
  kF8E5M2 = 7,
  kFunction = 8,
  kIndex = 9,
  kSI4 = 10,
  kSI8 = 11,
  kSI16 = 12,
  kSI32 = 13,
  kSI64 = 14,
  kUI4 = 15,
  kUI8 = 16,
  kUI16 = 17,
  kUI32 = 18,
  kUI64 = 19,
  kRankedTensor = 20,
  kRankedTensorWithEncoding = 21,
  kToken = 22,
  kTuple = 23,
  kQuantized = 24,
  kUnrankedTensor = 25,
  kWitness = 26,
  kF8E4M3FNUZ = 27,
  kF8E5M2FNUZ = 28,
  kF8E4M3B11FNUZ = 29,
  kQuantizedPerAxis = 30,
  kSI2 = 31,
  kUI2 = 32,
  kNone = 33,
  kTF32 = 34,
  kF8E4M3 = 35,
  kF8E3M4 = 36,
  kF4E2M1FN = 37,
  kF6E2M3FN = 38,
  kF6E3M2FN = 39,
  kF8E8M0FNU = 40,
  kRankedBuffer = 41,
  kFuture = 42,
};

/// The first version with this attribute or type; none left the set since.
Version Since(AttrCode code);
Version Since(TypeCode code);
/// "tensor_v1" and so on, for messages; empty for a code outside the list.
std::string_view Name(AttrCode code);
std::string_view Name(TypeCode code);
/// The highest value of an enum attribute; nothing for other attributes. Every value from EnumFirst to EnumLast is a
/// case.
std::optional<uint64_t> EnumLast(AttrCode code);
uint64_t EnumFirst(AttrCode code);

/// The MLIR bytecode version in which an artifact of `target` is written.
int BytecodeVersion(Version target);

}  // namespace tenon::vhlo
