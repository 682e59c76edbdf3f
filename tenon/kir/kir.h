#pragma once

/// A kernel as data: a value that can be compared, hashed, printed, parsed, verified and evaluated. It names no
/// pointer, vector width, processor or LLVM type, and its text alone fixes every bit of its result. Fusion writes
/// kernels, emitters turn them into code, and the slow evaluator (evaluate.h) tells a fusion bug from an emitter bug.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/hash.h"
#include "tenon/base/small_vector.h"
#include "tenon/base/status.h"

namespace tenon::kir {

using Val = uint32_t;   ///< Index into Kernel::nodes (or Graph::nodes).
using DimId = uint8_t;  ///< Index into Kernel::dims; at most 32 dims, so that sets of them are masks.
using DimMask = uint32_t;
using Buf = uint16_t;  ///< Index into Kernel::buffers.
inline constexpr Val kNone = ~0u;
inline constexpr Buf kNoBuf = 0xffff;  // structural: a name for none

/// A number that is known when the kernel is made, or a slot of the run-time parameter block (params[slot], int64).
struct Size {
  int64_t baked = 0;
  int32_t param = -1;  ///< >= 0: the slot; `baked` is 0 then.

  static Size Of(int64_t value) { return {value, -1}; }
  static Size Param(int32_t slot) { return {0, slot}; }
  bool is_param() const { return param >= 0; }
  int64_t Value(const int64_t* params) const { return is_param() ? params[param] : baked; }
  friend bool operator==(const Size&, const Size&) = default;
};

enum class DimKind : uint8_t {
  kParallel,  ///< Iterations are independent.
  kReduce,    ///< Summed over by some Reduce.
  kSerial,    ///< Iterations run in ascending order and may see each other's stores.
};
struct Dim {
  Size extent;
  DimKind kind = DimKind::kParallel;
  friend bool operator==(const Dim&, const Dim&) = default;
};

/// One axis of an access: offset + value(start) + sum coef*dim. A missing dim broadcasts, permuted dims transpose,
/// |coef| > 1 slices, coef < 0 reverses, two dims on one axis form a window. `start` (an integer Val) is the
/// data-dependent part of gather, dynamic_slice and loops; whatever clamps it is explicit in the graph.
struct Term {
  DimId dim = 0;
  Size coef = Size::Of(1);
  friend bool operator==(const Term&, const Term&) = default;
};
struct Axis {
  SmallVector<Term, 2> terms;
  Size offset = Size::Of(0);
  Val start = kNone;
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// Holds when lo <= value(e) < hi and (value(e) - lo) % mod == 0: padding edges, interior padding, dilation, scatter
/// bounds.
struct Guard {
  Axis e;
  Size lo = Size::Of(0);
  Size hi = Size::Of(0);
  int64_t mod = 1;
  friend bool operator==(const Guard&, const Guard&) = default;
};

enum class BufKind : uint8_t {
  kArg,    ///< Read only; element-aligned.
  kOut,    ///< Written, and readable where written before.
  kConst,  ///< Read only, known when the program was compiled.
  kLocal,  ///< Scratch of one outer iteration (a cache-resident row); its contents do not survive it.
  kTile,   ///< A tile that a library driver lends to a hook; read and written.
  /// One pred, read only, which others may set while the kernel runs: its loops end early then, and what the kernel
  /// leaves is unspecified.
  kSignal,
};

/// `stride` is in elements of `type`, which for complex types is one (real, imaginary) pair.
struct Buffer {
  BufKind kind = BufKind::kArg;
  DType type = DType::kInvalid;
  SmallVector<Size, 4> extent;
  SmallVector<Size, 4> stride;
  Buf in_place_of = kNoBuf;  ///< A kOut buffer that shares its memory with this kArg one.
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

enum class Op : uint8_t {
#define TENON_KIR_OP(enumerator, name, operands) enumerator,
#include "tenon/kir/scalar.def"
#undef TENON_KIR_OP
};
// structural: counted
inline constexpr size_t kNumOps = 0
#define TENON_KIR_OP(enumerator, name, operands) +1
#include "tenon/kir/scalar.def"
#undef TENON_KIR_OP
    ;

/// Node::imm of kCompare.
enum Cmp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };
inline constexpr uint8_t kTotalOrder = 0x10;  // structural: a bit of a format
/// Node::imm of kSelect: the predicate is rarely true (a hint).
inline constexpr uint8_t kRare = 1;  // structural: a bit of a format
/// Node::imm of kFma: what follows counts on the product not being rounded, on targets without such an operation too,
/// where a plain kFma rounds it.
inline constexpr uint8_t kExactProduct = 1;  // structural: a bit of a format

/// One node of a pure scalar graph. There is no fast-math: whatever is contracted, rounded or clamped is a node. Inputs
/// have lower indices than the node. Complex values do not occur: they are pairs of real nodes.
struct Node {
  Op op = Op::kConst;
  DType type = DType::kInvalid;
  uint8_t imm = 0;
  uint32_t attr = 0;
  SmallVector<Val, 3> in;
  friend bool operator==(const Node&, const Node&) = default;
};

/// A scalar function: combiner, comparator, math function. Literals are its own.
struct Graph {
  std::vector<DType> arguments;
  std::vector<Node> nodes;
  std::vector<uint64_t> literals;
  SmallVector<Val, 2> results;
  friend bool operator==(const Graph&, const Graph&) = default;
};

/// buf[at...]; where a guard fails, the value is node `otherwise` and memory is not touched.
struct Read {
  Buf buf = 0;
  SmallVector<Axis, 4> at;
  SmallVector<Guard, 1> guard;
  Val otherwise = kNone;
  friend bool operator==(const Read&, const Read&) = default;
};

/// How the elements of a reduction meet. Points are visited in row-major order of the reduced dims.
enum class ReduceOrder : uint8_t {
  /// acc = init; for each point ascending: acc = combine(acc, element).
  kSequential,
  /// Needs `identity`. Only for reductions of one or more reduced dims, whose innermost (last in Stage::dims) index,
  /// counted from the low end of its
  /// range, is r below. With L = 64 / width of the first value's type and W = 4L: W accumulators start as `identity`; a
  /// point goes to accumulator r mod W (outer reduced dims ascending, all into the same accumulators), acc =
  /// combine(acc, element).
  /// Then accumulators meet as v[l] = combine(combine(a[l], a[l+L]), combine(a[l+2L], a[l+3L])) for l < L, then halves:
  /// v[l] = combine(v[l],
  /// v[l+L/2]), down to one, and the result is combine(init, v[0]).
  kLanes,
  /// A sum of products whose terms may meet, and be rounded, as the target's matrix units do it; kSequential where
  /// there are none. Two values are reduced: the factors. The combiner of (sum, unused, x, y) is (sum + x * y, unused)
  /// and init is zero.
  kMatrix,
};

/// Reduces n values together; the combiner has 2n arguments (n accumulators, then n elements) and n results. The result
/// (node kReduced) belongs to each point of the stage's other dims. `init` is folded in exactly once, as the leftmost
/// operand. Zero points give init.
struct Reduce {
  uint32_t id = 0;   ///< What kReduced nodes name; unique in the kernel.
  DimMask dims = 0;  ///< A non-empty subset of the stage's dims, each of kind kReduce.
  SmallVector<Val, 2> in;
  SmallVector<Val, 2> init;
  uint32_t combiner = 0;  ///< Index into Kernel::graphs.
  ReduceOrder order = ReduceOrder::kSequential;
  SmallVector<Val, 2> identity;  ///< Constants with combine(identity, x) == x bit for bit; required by kLanes.
  friend bool operator==(const Reduce&, const Reduce&) = default;
};

enum class StoreOrder : uint8_t {
  kDisjoint,  ///< No two iterations write one element (proved or promised).
  kRowMajor,  ///< They may: iterations act in ascending row-major order, so the last one wins.
};

/// buf[at...] = value, or combine(buf[at...], value) with `combine` >= 0 (a graph of two arguments). Where a guard
/// fails, nothing happens. A store whose value, index or guard depends on a kReduced node of its own stage runs once
/// per point of the stage's dims outside that reduce, after it; any other store runs once per point of all dims of the
/// stage.
struct Store {
  Buf buf = 0;
  SmallVector<Axis, 4> at;
  SmallVector<Guard, 1> guard;
  Val value = kNone;
  uint8_t component = 0;  ///< 0 real, 1 imaginary part of a complex buffer.
  int32_t combine = -1;
  StoreOrder order = StoreOrder::kDisjoint;
  friend bool operator==(const Store&, const Store&) = default;
};

/// [lo, hi) of one dim of a stage.
struct Range {
  DimId dim = 0;
  Size lo;
  Size hi;
  friend bool operator==(const Range&, const Range&) = default;
};

/// One loop nest inside the kernel's outer dims: for each point of `dims` (outermost first): evaluate, reduce, store.
/// All nodes that the stores of a point need are evaluated before the first of these stores acts; the stores act in
/// their order. Nodes are evaluated where they are needed; what a node depends on (its dims) says how far it hoists, so
/// nothing relies on an optimiser for that.
struct Stage {
  SmallVector<DimId, 4> dims;  ///< Inner dims. Reduced dims come last. May be empty: one point.
  std::vector<Reduce>
      reduces;  ///< All over the same set of dims. A reduce may not use another one's result within one stage.
  std::vector<Store> stores;
  SmallVector<Range, 2> domain;  ///< Restricts dims to a sub-box (concatenate, pad: several stages over disjoint
                                 ///< boxes). Absent dims run in full.
  friend bool operator==(const Stage&, const Stage&) = default;
};

struct Step;
using Seq = std::vector<Step>;

/// A while loop kept native; carries live in registers, larger state in place in buffers. Repeats: if `condition`
/// (evaluated over the current carries) is false, stop; run `body`; all carries become `next` at once. With condition
/// == kNone it runs trip_count times. `body` stages may store to buffers and later iterations see it.
struct Loop {
  uint32_t id = 0;  ///< What kCarried nodes name; unique in the kernel.
  std::vector<DType> types;
  std::vector<Val> init;
  std::vector<Val> next;
  Val condition = kNone;
  Size trip_count;
  Seq body;
  friend bool operator==(const Loop&, const Loop&);
};

struct Step {
  std::variant<Stage, Loop> is;
  friend bool operator==(const Step&, const Step&);
};

/// How the kernel may be cut into pieces that run in any order, side by side. The dims in `dims` (a prefix of
/// Kernel::dims, all kParallel) are numbered row-major as one flat index; piece i covers flat indices [i*grain,
/// min((i+1)*grain, total)). Without outer dims, d0 alone stands for the first dim of every stage, each cut where the
/// piece ends or it does, and the total is the largest of their extents. Depends on extents alone. No dims: one piece.
struct Split {
  DimMask dims = 0;
  Size grain = Size::Of(1);
  friend bool operator==(const Split&, const Split&) = default;
};

struct Kernel {
  std::vector<Dim> dims;
  uint8_t outer = 0;  ///< dims[0, outer) are shared by all steps: seq runs once per point of them. A row-wise chain is
                      ///< several stages under one row dim.
  std::vector<Buffer> buffers;
  std::vector<Node> nodes;
  std::vector<uint64_t> literals;  ///< Bit patterns, zero-extended from the node's type (signed integers too).
  std::vector<Read> reads;
  std::vector<Graph> graphs;
  Seq seq;
  Split split;
  uint16_t num_params = 0;
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// The code of a kernel, however it was made. `buffers`: one pointer per Kernel::buffers entry (kLocal entries are
/// ignored; they live in `scratch`, LocalBytes(kernel, params) bytes, 64-byte aligned; kSignal entries are one byte).
/// [begin, end) is a range of the split's flat index ([0, 1) without split dims). Must be called with denormals flushed
/// as its owner wants them; does not block, allocate or fail.
using KernelFn = void (*)(void* const* buffers, const int64_t* params, int64_t begin, int64_t end, void* scratch);

/// What is wrong with the kernel, naming the part; OK when every index is in range, types fit, dims are used where they
/// exist, guards have their `otherwise`, splits cut only what may be cut. Everything else here requires a verified
/// kernel.
Status Verify(const Kernel& kernel);
/// The same for a graph that stands alone.
Status Verify(const Graph& graph);

Hash128 Hash(const Kernel& kernel);
Hash128 Hash(const Graph& graph);

/// The text form, complete: Parse(Print(k)) == k. One line per node; stable across versions of the library that keep
/// the format version.
std::string Print(const Kernel& kernel);
std::string Print(const Graph& graph);
Result<Kernel> Parse(std::string_view text);
Result<Graph> ParseGraph(std::string_view text);

/// The dims that a node depends on, through reads and starts, without those that a kReduced hides. A read of a buffer
/// that the kernel may write (any but kArg and kConst) depends on all outer and all serial dims besides; carries depend
/// on all outer dims. A node that uses a carry, or a buffer that a loop's body writes, must not leave that loop either.
std::vector<DimMask> DependentDims(const Kernel& kernel);

/// The dims that stages are cut along, each for itself (Split): the different ones that stages begin with, ascending;
/// empty where the split dims are common to all.
SmallVector<DimId, 4> StageCuts(const Kernel& kernel);
/// Points of the flat index that the split numbers (1 without), and the number of pieces.
int64_t SplitTotal(const Kernel& kernel, const int64_t* params);
int64_t NumPieces(const Kernel& kernel, const int64_t* params);
/// Bytes of all kLocal buffers, each rounded up to 64; they lie in `scratch` in the order of Kernel::buffers.
int64_t LocalBytes(const Kernel& kernel, const int64_t* params);

std::string_view OpName(Op op);
/// Number of inputs; -1 when it varies.
int OpOperands(Op op);
/// The operation of that text name; INVALID_ARGUMENT when there is none.
Result<Op> ParseOp(std::string_view name);

}  // namespace tenon::kir
