#pragma once

/// A compiled program as data: which kernels and drivers run, in which order, on which memory. It holds no code and no
/// pointer, so it can be printed, parsed, verified, serialised and run by any runtime. The compiler writes it; runtime/
/// executes it.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/base/strided_array.h"
#include "tenon/drivers/registry.h"
#include "tenon/kir/kir.h"
#include "tenon/target/work.h"

namespace tenon::plan {

using SlotId = uint32_t;  ///< Index into Plan::slots.
inline constexpr SlotId kNoSlot = ~0u;

enum class SlotKind : uint8_t {
  kArg,    ///< Argument `index`; read only.
  kOut,    ///< Output `index`.
  kTemp,   ///< The arena.
  kConst,  ///< Constant `index`; read only.
};

/// Names an array as the program sees it, whatever memory it lies in: what Verify follows. 0 names none.
using ValueId = uint32_t;

/// A strided view of memory: element (i...) lies at base(kind, index) + offset_bytes + sum i*stride_elems *
/// ByteWidth(dtype). Several slots may view the same memory; in one step, no two slots overlap unless the kernel says
/// so (in_place_of).
struct Slot {
  SlotKind kind = SlotKind::kTemp;
  uint32_t index = 0;
  int64_t offset_bytes = 0;
  DType dtype = DType::kInvalid;
  Dims dims;
  Dims stride_elems;
  /// Of temporaries and outputs: whose elements these are. A read through this slot must find bytes that were written
  /// through slots of the same value. Output i's own value is i + 1; 0 makes no claim beyond that the bytes were
  /// written.
  ValueId value = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};

/// Bytes of a constant; shared, since big literals are held once however many plans name them.
struct Constant {
  std::shared_ptr<const std::string> bytes;
  Hash128 hash;
};

struct Input {
  Shape shape;
  Dims stride_elems;        ///< The layout that the plan expects: a permutation of dense.
  std::string memory_kind;  ///< Empty: the device's default.
  friend bool operator==(const Input&, const Input&) = default;
};

struct Output {
  Shape shape;
  Dims stride_elems;
  std::string memory_kind;
  /// >= 0: may take over the memory of that argument when the caller donates it (same size in bytes).
  int32_t alias_input = -1;
  /// The plan updates the argument's contents in place: without a donation the runtime copies the argument into the
  /// output before the first step.
  bool alias_contents = false;
  friend bool operator==(const Output&, const Output&) = default;
};

struct Step;
using Seq = std::vector<Step>;

/// Runs kernels[kernel] on `buffers` (one per kernel buffer; kNoSlot for kLocal and kSignal ones).
struct KernelStep {
  uint32_t kernel = 0;
  SmallVector<SlotId, 4> buffers;
  SmallVector<int64_t, 4> params;
  target::Work work;  ///< Of one run of the step.
  friend bool operator==(const KernelStep&, const KernelStep&) = default;
};

/// Numbers that a driver appends to a hook's params on each call: batch, row0, col0, rows, cols, row stride, column
/// stride of the tile (strides in elements).
inline constexpr int kTileParams = 7;  // structural: counted

/// A KIR kernel that a driver calls on its tiles, as one piece. Buffers bound to kNoSlot are the tile (kTile) and
/// locals; the params are `params` followed by the kTileParams numbers.
struct Hook {
  uint32_t kernel = 0;
  SmallVector<SlotId, 4> buffers;
  SmallVector<int64_t, 4> params;
  friend bool operator==(const Hook&, const Hook&) = default;
};

/// Calls a precompiled driver. The plan knows nothing of its family but the name: what `config` means, which operands
/// belong to it and what it touches is the family's to say (drivers/family.h).
struct DriverStep {
  std::string driver;  ///< The family's name.
  drivers::Config config;
  SmallVector<SlotId, 4> inputs;  ///< kNoSlot: a hook makes it.
  SmallVector<SlotId, 2> outputs;
  SlotId scratch = kNoSlot;                         ///< Bytes, 64-byte aligned; kNoSlot for none.
  std::vector<std::pair<std::string, Hook>> hooks;  ///< By the names of the family's hook points.
  target::Work work;                                ///< Of one run of the step.
  friend bool operator==(const DriverStep&, const DriverStep&) = default;
};

/// Copies one view to another of the same type and extents; the memory may not overlap, or must be the very same
/// (SamePlace): then nothing moves, and the bytes are the value of `to` from here on.
struct CopyStep {
  SlotId from = 0;
  SlotId to = 0;
  friend bool operator==(const CopyStep&, const CopyStep&) = default;
};

/// Repeats: run `condition`, which leaves a pred in `predicate`; stop if false; run `body`; then for each pair copy
/// `first` (the next value) to `second` (the carried slot), as if at once; pairs of the same place (SamePlace) move
/// nothing. Carries that no trip changes are absent. What is carried holds its value before the loop.
struct WhileStep {
  Seq condition;
  SlotId predicate = 0;
  int64_t trip_count = -1;  ///< >= 0: known; `condition` is empty then.
  Seq body;
  std::vector<std::pair<SlotId, SlotId>> carry;
  friend bool operator==(const WhileStep&, const WhileStep&);
};

/// Runs branches[i] with i = the s32 scalar in `index`; an i out of range means the last branch. A pred index selects 0
/// when false, 1 when true.
struct CaseStep {
  SlotId index = 0;
  std::vector<Seq> branches;
  friend bool operator==(const CaseStep&, const CaseStep&);
};

/// An attribute of a custom call, as XLA's FFI types them. Arrays are dense bytes of `dtype`.
struct Attribute {
  std::string name;
  enum class Kind : uint8_t { kString, kScalar, kArray, kDictionary } kind = Kind::kString;
  DType dtype = DType::kInvalid;
  std::string bytes;               ///< The text, or the scalar's or array's bytes.
  std::vector<Attribute> members;  ///< kDictionary.
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

struct CustomCallStep {
  std::string target;
  int32_t api_version = 0;          ///< StableHLO's api_version; 4 is the typed FFI.
  SmallVector<SlotId, 4> operands;  ///< kNoSlot: a token.
  SmallVector<SlotId, 4> results;   ///< kNoSlot: a token.
  std::vector<Attribute> attributes;
  std::string opaque;  ///< backend_config of the untyped versions.
  /// (result, operand): the result may or does share the operand's memory; the plan has placed the operand's contents
  /// in the result.
  std::vector<std::pair<uint32_t, uint32_t>> aliases;
  friend bool operator==(const CustomCallStep&, const CustomCallStep&) = default;
};

/// Hands a small StableHLO program (portable artifact, one function) to the evaluator that the embedder installed: the
/// way of ops that have no compiled form yet. Counted in the statistics.
struct EvaluateStep {
  std::string op;  ///< For statistics and errors: the op it stands for.
  std::shared_ptr<const std::string> program;
  SmallVector<SlotId, 4> operands;  ///< kNoSlot: a token.
  SmallVector<SlotId, 4> results;
  friend bool operator==(const EvaluateStep& a, const EvaluateStep& b);
};

/// An op of the program as the client wrote it; texts that are not known are empty.
struct Origin {
  std::string op;     ///< "dot_general".
  std::string scope;  ///< Where the client says that it belongs: "jit(step)/mlp/dot_general".
  std::string place;  ///< In the client's sources: "model.py:12".
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct Step {
  std::variant<KernelStep, DriverStep, CopyStep, WhileStep, CaseStep, CustomCallStep, EvaluateStep> is;
  /// For people: the ops that the step computes, or takes part in, as indices of Plan::origins; the last is what the
  /// others are for. No part of what the step is.
  SmallVector<uint32_t, 2> origins = {};
  friend bool operator==(const Step& a, const Step& b) { return a.is == b.is; }
};

struct Plan {
  std::string name;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Slot> slots;
  std::vector<Constant> constants;
  std::vector<kir::Kernel> kernels;  ///< Distinct ones.
  Seq steps;
  std::vector<Origin> origins;  ///< Those that steps name.
  int64_t arena_bytes = 0;      ///< Slots of kTemp lie in [0, arena_bytes); the arena is 64-byte aligned.
};
/// Constants compare by hash. Where the steps came from is not compared.
bool operator==(const Plan& a, const Plan& b);

/// Whether two slots view the same elements in the same memory, an output that starts with an argument's contents
/// (Output::alias_contents) being that argument. False for slots that the plan has not.
bool SamePlace(const Plan& plan, SlotId a, SlotId b);

/// What is wrong with the plan: indices, views that leave their memory, kernels bound to slots of other types, steps
/// whose outputs overlap their inputs without leave, arguments or constants that are written; and, by following every
/// byte of the arena and the outputs through all steps, branches and trips: reads of what was not written on every way
/// there, reads of bytes that another value has taken, outputs that are not fully written. Takes O(n log n) in the
/// number of steps and slots. Everything that runs plans requires a verified one. What is taken on trust:
///   - a kernel, driver or handler reads all of the views that it is given, and touches nothing else;
///   - drivers, handlers and evaluated programs write all of the views that they are given. Kernels must provably do
///     so, or update what was written before and nothing has read since (nor may carries be read before their loop);
///   - arrays of different values do not interleave: a strided write takes the whole range from its first to its last
///     byte. Strided parts of one value add up to it byte by byte where they are cut along one dim, or where they have
///     no more than some thousand runs; beyond that they are taken to be apart.
Status Verify(const Plan& plan);
/// The same, and that every driver step is one of a family of `families`, which accepts its config with these operands,
/// scratch and hooks.
Status Verify(const Plan& plan, const drivers::Registry& families);

/// How the operands of a driver step lie; an input without a slot has type kInvalid. The slots must exist.
struct DriverArrays {
  std::vector<StridedArray> inputs, outputs;
  drivers::Operands operands() const { return {inputs, outputs}; }
};
DriverArrays ArraysOf(const Plan& plan, const DriverStep& step);

/// The text form: Parse(Print(p)) == p. Constants appear as hex up to 64 bytes, otherwise by hash only, and Parse then
/// needs `constants` to find them. Where the steps came from is left out unless asked for.
std::string Print(const Plan& plan, bool with_origins = false);
Result<Plan> Parse(std::string_view text, const std::vector<Constant>& constants = {});

/// One self-contained byte string (text form, constants and programs), and back. DATA_LOSS for bytes that Serialize did
/// not write.
std::string Serialize(const Plan& plan);
Result<Plan> Deserialize(std::string_view bytes);

/// Counts over all steps, nested ones included.
struct Statistics {
  int64_t kernel_steps = 0;
  int64_t driver_steps = 0;
  int64_t copy_steps = 0;  ///< Those that move something.
  int64_t loops = 0;
  int64_t cases = 0;
  int64_t custom_calls = 0;
  int64_t evaluate_steps = 0;
};
Statistics Count(const Plan& plan);

/// Nanoseconds that one run takes on one core of the target. Loops of unknown trip counts count as if they had many
/// (policy.h), and of branches the longest.
double EstimateNs(const Plan& plan, const target::Target& target);

/// Bytes that the steps of one run read and write, in memory and in caches. Bodies of loops count once, of branches the
/// larger.
double BytesAccessed(const Plan& plan);

/// A picture of the steps and of the arena over time.
std::string ToSvg(const Plan& plan);

/// Dense strides of a dims list in elements, minor-to-major order given ("{1,0}" of XLA's layouts is minor first).
Dims StridesOfLayout(const Dims& dims, const Dims& minor_to_major);
/// Whether `minor_to_major` names each of `rank` dims once.
bool IsOrderOf(const Dims& minor_to_major, size_t rank);

}  // namespace tenon::plan
