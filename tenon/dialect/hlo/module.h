#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/status.h"

/// HLO programs as plain data: what both wire forms (HloModuleProto and HLO text) say, and what StableHLO is made of
/// and written to. Names no type of MLIR or protobuf.
namespace tenon::hlo {

// --- Types. Numbers are those of xla.PrimitiveType.

inline constexpr int32_t kPred = 1, kS32 = 4, kS64 = 5, kU8 = 6, kU32 = 8, kU64 = 9, kF16 = 10, kF32 = 11, kF64 = 12,
                         kTuple = 13, kOpaque = 14, kC64 = 15, kBF16 = 16, kToken = 17, kC128 = 18;

enum class TypeKind : uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex, kOther };

struct TypeInfo {
  int32_t number;
  std::string_view name;  ///< As in HLO text: "f32", "pred", "s4".
  TypeKind kind;
  int bits;                ///< Significant bits of one element.
  int bytes;               ///< Bytes of one element in Literal::data; 0 for types without literals.
  uint32_t literal_field;  ///< Field of xla.LiteralProto that carries the elements.
};

/// Null when there is no such type.
const TypeInfo* FindType(int32_t number);
const TypeInfo* FindType(std::string_view name);

/// An array, a tuple (`members`), a token or an opaque value.
struct Shape {
  int32_t type = 0;
  std::vector<int64_t> dims;
  std::vector<bool> dynamic;  ///< Empty, or one per dim.
  std::vector<Shape> members;
  /// Dims from the fastest to the slowest; nothing when the program does not say.
  std::optional<std::vector<int64_t>> minor_to_major;
  bool tiled = false;  ///< The layout has tiles, padding or another memory form that is not a permutation.
  int64_t memory_space = 0;

  bool is_array() const { return type != kTuple && type != kToken && type != kOpaque; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Values that a value of this shape consists of when tuples are taken apart; 1 unless a tuple.
int64_t CountLeaves(const Shape& shape);
/// "f32[2,3]{1,0}", "(f32[], token[])"; without layouts if `layouts` is false.
std::string ToText(const Shape& shape, bool layouts = true);
/// Elements of an array; dims must be checked already.
int64_t CountElements(const Shape& shape);
bool IsRowMajor(const Shape& shape);

/// Elements in row-major order of the logical array, little-endian, bools and types narrower than a byte one byte each
/// (signed ones sign-extended).
struct Literal {
  Shape shape;
  std::string data;
  std::vector<Literal> members;
};

// --- Attributes of instructions.

struct WindowDim {
  int64_t size = 1, stride = 1, low = 0, high = 0, window_dilation = 1, base_dilation = 1;
  bool reversal = false;
};
struct SliceDim {
  int64_t start = 0, limit = 0, stride = 1;
};
struct PadDim {
  int64_t low = 0, high = 0, interior = 0;
};
struct DotDims {
  std::vector<int64_t> lhs_contracting, rhs_contracting, lhs_batch, rhs_batch, lhs_ragged, rhs_group;
};
struct ConvDims {
  int64_t input_batch = 0, input_feature = 0, kernel_input = 0, kernel_output = 0, output_batch = 0, output_feature = 0;
  std::vector<int64_t> input_spatial, kernel_spatial, output_spatial;
};
struct GatherDims {
  std::vector<int64_t> offset_dims, collapsed_slice_dims, start_index_map, operand_batching, indices_batching;
  int64_t index_vector_dim = 0;
};
struct ScatterDims {
  std::vector<int64_t> update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching,
      indices_batching;
  int64_t index_vector_dim = 0;
};
struct OutputAlias {
  std::vector<int64_t> output_index;
  int64_t operand = 0;
  std::vector<int64_t> operand_index;
};
struct Accuracy {
  bool highest = false, tolerance = false;
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
};

/// xla.OpSharding with its device list written out.
struct Sharding {
  enum class Kind { kReplicated, kMaximal, kTuple, kTiled, kManual, kUnknown, kUnreduced };
  Kind kind = Kind::kReplicated;
  std::vector<int64_t> tiles;    ///< Parts per dim of the array, then sizes of the trailing groups.
  std::vector<int64_t> devices;  ///< Row-major over `tiles`; one for kMaximal.
  std::vector<Kind> trailing;    ///< What the last dims of `tiles` mean.
  std::vector<Sharding> members;
};

using TextMap = std::vector<std::pair<std::string, std::string>>;

/// What few instructions have.
struct Extras {
  std::vector<WindowDim> window;
  std::vector<SliceDim> slice;
  std::vector<PadDim> padding;
  std::optional<DotDims> dot;
  std::optional<ConvDims> conv;
  std::optional<GatherDims> gather;
  std::optional<ScatterDims> scatter;
  std::vector<int64_t> sizes;      ///< dynamic_slice_sizes, gather_slice_sizes or fft_length.
  std::vector<int32_t> precision;  ///< 0 DEFAULT 1 HIGH 2 HIGHEST
  int32_t algorithm = 0;           ///< PrecisionConfig.Algorithm
  int64_t feature_group_count = 1, batch_group_count = 1;
  int32_t exponent_bits = 0, mantissa_bits = 0;
  int32_t distribution = 0;   ///< 1 UNIFORM 2 NORMAL
  int32_t rng_algorithm = 0;  ///< 0 DEFAULT 1 THREE_FRY 2 PHILOX
  float epsilon = 0;
  int64_t feature_index = 0;
  int64_t channel_id = 0;  ///< None when not positive.
  bool use_global_device_ids = false, is_host_transfer = false, has_dynamic_root = false;
  bool indices_are_sorted = false, unique_indices = false, is_stable = false, largest = true;
  int64_t k = 0;
  std::optional<std::vector<std::vector<int64_t>>> replica_groups;
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  int32_t fft_type = 0;  ///< 0 FFT 1 IFFT 2 RFFT 3 IRFFT
  bool lower = false, left_side = false, unit_diagonal = false;
  int32_t transpose_a = 0;  ///< 1 NO_TRANSPOSE 2 TRANSPOSE 3 ADJOINT
  std::string comparison_direction, comparison_type;
  std::string custom_call_target, backend_config;
  int32_t api_version = 0;
  bool has_side_effect = false, constrain_layout = false;
  std::vector<Shape> operand_shapes;  ///< operand_shapes_with_layout
  std::vector<OutputAlias> aliases;
  bool is_composite = false;
  std::optional<Accuracy> accuracy;
  std::string infeed_config, outfeed_config;
  TextMap frontend_attributes;
  std::optional<Sharding> sharding;
  std::shared_ptr<const Literal> literal;
};

struct Instruction {
  std::string name;
  std::string opcode;
  Shape shape;
  std::vector<uint32_t> operands;  ///< Positions in the same computation.
  std::vector<uint32_t> called;    ///< Positions in the module.
  std::vector<int64_t> dims;       ///< The field `dimensions`, whose meaning depends on the opcode.
  int64_t number = 0;              ///< parameter_number or tuple_index.
  std::string op_name, source_file;
  int32_t source_line = 0;

  const Extras& extras() const;
  Extras& mutable_extras();
  Instruction() = default;
  Instruction(Instruction&&) noexcept = default;
  Instruction& operator=(Instruction&&) noexcept = default;

 private:
  std::unique_ptr<Extras> extras_;
};

struct Computation {
  std::string name;
  std::vector<Instruction> instructions;  ///< After Check: operands before their users.
  uint32_t root = 0;
  bool is_fusion = false;
  std::vector<uint32_t> parameters;  ///< Filled by Check: positions by parameter number.
};

struct Alias {
  std::vector<int64_t> output_index;
  int64_t parameter = 0;
  std::vector<int64_t> parameter_index;
  bool must = false;
};
struct Donor {
  int64_t parameter = 0;
  std::vector<int64_t> parameter_index;
};

struct Module {
  std::string name;
  std::vector<Computation> computations;
  uint32_t entry = 0;
  /// Entry layouts, when the program states them.
  struct Signature {
    std::vector<Shape> parameters;
    Shape result;
  };
  std::optional<Signature> signature;
  std::vector<Alias> aliases;
  std::vector<Donor> donors;
  int64_t replica_count = 1, num_partitions = 1;
  TextMap frontend_attributes;
  std::vector<Sharding> parameter_shardings;
  std::optional<Sharding> output_sharding;
};

/// Whether the module hangs together: shapes are possible, parameters are numbered without gaps, nothing calls itself.
/// Puts instructions into an order in which operands come first, and computations into one in which callees come first;
/// fills Computation::parameters. INVALID_ARGUMENT names the instruction.
Status Check(Module& module);

// --- Wire forms.

/// Whether `bytes` can be nothing but one of the protobuf forms, or HLO text. Neither says that they are well-formed.
bool LooksLikeProto(std::string_view bytes);
bool LooksLikeText(std::string_view bytes);

/// Reads a serialized xla.HloModuleProto, HloModuleProtoWithConfig or HloProto; the result is checked. INVALID_ARGUMENT
/// names the instruction and the field.
Result<Module> ReadProto(std::string_view bytes);
/// Reads HLO text ("HloModule name ..."); the result is checked. INVALID_ARGUMENT gives line and column.
Result<Module> ReadText(std::string_view text);

/// Reads one sharding, as text ("{devices=[2,1]<=[2]}") or as a serialized xla.OpSharding.
Result<Sharding> ReadSharding(std::string_view bytes);

/// A serialized HloModuleProto, or HloModuleProtoWithConfig.
std::string WriteProto(const Module& module, bool with_config = false);
/// HLO text that XLA's parser and ReadText accept.
std::string WriteText(const Module& module);

}  // namespace tenon::hlo
