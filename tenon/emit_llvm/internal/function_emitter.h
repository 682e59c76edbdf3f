#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/emit_llvm/internal/analysis.h"
#include "tenon/emit_llvm/internal/interleave.h"
#include "tenon/emit_llvm/internal/plan_stage.h"
#include "tenon/emit_llvm/internal/scalar_lowering.h"
#include "tenon/emit_llvm/internal/tables.h"
#include "tenon/emit_llvm/policy.h"
#include "tenon/kir/magnitudes.h"
#include "tenon/target/lanes.h"
#include "tenon/target/rows.h"

namespace tenon::emit_llvm {

/// Vectors without a mask that may do for what is left of a row.
struct RowPieces {
  unsigned most = 0;      ///< 0: none.
  unsigned shortest = 4;  ///< Lanes of a whole register of the narrowest elements.
};

/// How a row may end that is no whole number of vectors.
struct RowEnd {
  RowPieces pieces;      ///< See FunctionEmitter::RestOf.
  bool overlap = false;  ///< In a vector that begins among those before it: points may be computed twice.
  bool masks = true;     ///< Instructions move all of its elements through masks.
};

/// Writes one kernel's body into an LLVM function of kir::KernelFn's signature.
///
/// Values are cached per node while the insertion point is inside the loop nest that computed them (scopes). Whenever a
/// loop is about to be opened, everything that its body needs and that can be known already is emitted before it:
/// hoisting is structural and no optimiser has to find it. Inside a vector loop there may be several copies of the body
/// (unrolling, or the rows of a transposing tile); values that differ between copies are cached per copy.
class FunctionEmitter {
 public:
  FunctionEmitter(const Analysis& analysis, isa::IsaLevel isa, llvm::Function* function);
  /// UNIMPLEMENTED names what cannot be emitted; the function's body is unfinished then.
  Status Emit();

 private:
  using Value = llvm::Value;
  using Values = llvm::SmallVector<Value*, 8>;
  using NodeList = std::vector<kir::Val>;
  static constexpr unsigned kMaxCopies = 16;  // structural: rows of a transposing tile

  /// The vector loop that the insertion point is in.
  struct Lanes {
    int dim = -1;  ///< The dim whose consecutive values are lanes; -1: scalar code.
    unsigned lanes = 1;
    int copy_dim = -1;  ///< The dim that copies differ in: `dim` itself (by `lanes`) or another one (by 1).
    unsigned copies = 1;
    unsigned together = 1;   ///< Copies whose operations alternate, so that none waits for the one before it.
    Value* mask = nullptr;   ///< <lanes x i1>: lanes that exist; null: all.
    Value* count = nullptr;  ///< i64: how many those are, the first ones.
    Value* stream =
        nullptr;  ///< i1: stores of whole vectors should pass the caches by (they are aligned then); null: never.
    const StagePlan* short_tile = nullptr;  ///< Copies are the vectors of its tile; `dim` is one of its dims.
  };

  // --- rows of several stages (rows.cc)
  /// All stages of the rows along the innermost outer dim; results of reductions wait in memory for later stages.
  void EmitRows(kir::DimId dim, const RowsPlan& plan);
  Value* RowsOfTurn(const RowsPlan& plan);
  /// A reduction whose rows, as many as a vector has lanes, meet within their vectors at once: what each row's vector
  /// of accumulators holds waits in memory until then.
  struct Meeting;
  /// Of the turn's reductions those for which that may be done, whose results only later turns ask for.
  void OfferMeetings(kir::DimId dim, const RowsPlan& plan, const kir::Stage& stage, const NodeList& needed);
  /// The results of all rows of a meeting that took place; null otherwise.
  Value* MetRows(Meeting& meeting);

  // --- function and control flow (function_emitter.cc)
  void EmitPieces();
  void EmitFlatRows(const llvm::SmallVector<kir::DimId, 4>& rows, kir::DimId last);
  void EmitOuterDims(size_t next);
  /// All steps for so many vectors at once along the dim, the last of them masked, as long as half as many are too few
  /// for what is left; the dim's range is the rest then.
  void EmitSeqInVectors(kir::DimId along, unsigned vectors, const NodeList& needed);
  void EmitSeq(const kir::Seq& seq);
  void EmitLoop(const kir::Loop& loop);
  /// Whether the carry is the number of the trip, from zero.
  bool CountsTrips(const kir::Loop& loop, size_t carry) const;
  /// Before a loop: what its stages compute in the lanes of a dim that is a single vector, and that no trip changes.
  void HoistVectors(const kir::Seq& body);
  /// One run of the body; the carries' next values.
  Values EmitIteration(const kir::Loop& loop, const NodeList& needed, const Values& state);
  Value* SizeValue(kir::Size size);
  Value* Product(kir::Size a, kir::Size b);
  Value* BufferBase(kir::Buf buf);
  Value* LocalBase(kir::Buf buf);
  Value* DimLow(kir::DimId dim);
  Value* DimHigh(kir::DimId dim);
  /// Dims of which a stage may have a range. In a loop all: what a trip stores the next one reads, in vectors that lie
  /// as they were stored.
  kir::DimMask CutDims() const;
  Value* I64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
  Value* Alloca(llvm::Type* type, uint64_t count);
  llvm::BasicBlock* NewBlock(const char* name);
  /// for (i = lo; i < hi; i += step) body(i). `before` runs where the loop is known to run at least once. `carried`
  /// holds the current values of what the loop carries; the body replaces them.
  void For(Value* lo, Value* hi, Value* step, Values* carried, llvm::function_ref<void()> before,
           llvm::function_ref<void(Value*)> body);
  void If(Value* condition, Values* carried, llvm::function_ref<void()> then);
  void IfElse(Value* condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);

  // --- scopes and values (values.cc)
  size_t Mark() const { return undo_.size(); }
  void Rewind(size_t mark);
  kir::DimMask CopyDims() const;
  unsigned CopyOf(kir::DimMask deps, unsigned copy) const { return deps & CopyDims() ? copy : 0; }
  kir::DimMask LaneDims() const;
  bool IsVector(kir::Val v) const { return lanes_.dim >= 0 && (an_.deps[v] & LaneDims()) != 0; }
  bool Has(kir::Val v, unsigned copy) const { return values_[Slot(v, copy)] != nullptr; }
  size_t Slot(kir::Val v, unsigned copy) const { return CopyOf(an_.deps[v], copy) * k_.nodes.size() + v; }
  void Set(kir::Val v, unsigned copy, Value* value);
  /// The node's value: scalar when it is the same for all lanes.
  Value* Get(kir::Val v, unsigned copy);
  /// Splat over the lanes when it is scalar.
  Value* GetLanes(kir::Val v, unsigned copy);
  bool Available(kir::Val v, unsigned copy) const;
  bool AxisAvailable(const kir::Axis& axis, unsigned copy) const;
  /// Emits whatever of `needed` can be known here, and the parts of their addresses.
  void Precompute(const NodeList& needed);
  /// Of the copies [first, first + count), operation by operation.
  void PrecomputeCopies(const NodeList& needed, unsigned first, unsigned count);
  /// Splats of scalars that the vector nodes among `needed` will ask for.
  void PrecomputeSplats(const NodeList& needed);
  void EmitNode(kir::Val v, unsigned copy);
  /// A quotient by a constant, by products; null where the node is none, or its dividend may be too close to zero.
  Value* QuotientByConstant(kir::Val v, unsigned copy);
  /// The counter that a node keeps where it is as long as its loop runs; null for others.
  Value* CounterWithin(kir::Val v, unsigned copy);
  void EmitMath(kir::Val v, llvm::ArrayRef<unsigned> copies);
  /// What the node is computed from: vectors where it is one.
  llvm::SmallVector<Value*, 4> Operands(kir::Val v, unsigned copy);
  Value* DimValue(kir::DimId dim, unsigned copy);
  /// The dim over all lanes as integers of `bits`.
  Value* DimLanes(kir::DimId dim, unsigned copy, unsigned bits);
  Value* ToI64(kir::Val v, Value* value);

  // --- memory (memory.cc)
  struct Place {
    Value* pointer = nullptr;           ///< Of lane 0, or of everything when scalar.
    std::optional<int64_t> stride = 0;  ///< Bytes between lanes; nothing: see `stride_value`.
    Value* stride_value = nullptr;
    Value* offsets = nullptr;  ///< <lanes x i64> bytes from `pointer`; then strides do not count.
    bool vector = false;
  };
  size_t AccessId(const kir::Store& store);
  void ExtendPointer(size_t access);
  Place PlaceOf(size_t access, unsigned copy, int component);
  /// What an access's guards ask: of all lanes together, and of each; null: nothing.
  struct Guarded {
    Value* shared = nullptr;  ///< i1
    Value* lanes = nullptr;   ///< <lanes x i1>; null where no vector is made.
  };
  /// Whether a lane of the access lies inside its guards, as far as these go along the lanes; null: some lane does, or
  /// all are near, or places that come from data and differ between lanes decide.
  Value* TouchesGuarded(const Access& access, unsigned copy);
  Guarded GuardsOf(const Access& access, unsigned copy, bool vector);
  /// A row along the dim, where what all of its stores ask about the row as a whole holds: points do not ask it again.
  void IfStored(const std::vector<const kir::Store*>& stores, kir::DimId dim, llvm::function_ref<void()> row);
  /// How many numbers the guard lets through, where its modulus does.
  Value* WidthOf(const kir::Guard& guard);
  /// A vector none of whose lanes is moved is looked for in memory all the same, at the price of hundreds where there
  /// is none: outside of the buffer. Such ones move at its beginning.
  void KeepInside(Place& place, const Access& access, const Guarded& guarded, unsigned bytes, unsigned copy);
  /// <lanes x i1>
  Value* GuardMask(const Guarded& guarded);
  Value* AndMasks(Value* a, Value* b);
  Value* EmitRead(kir::Val v, unsigned copy);
  void EmitStore(const kir::Store& store, unsigned copy, bool in_vector_loop);
  void EmitStreamingStores(const std::vector<const kir::Store*>& stores, unsigned copies);
  /// Both components of a complex element that are stored together.
  bool EmitPairedStore(const kir::Store& real, const kir::Store& imaginary, unsigned copy);
  /// What the lanes find in a row that registers hold (tables.cc); null where they do not.
  Value* TableRead(kir::Val v, unsigned copy);
  /// The registers of the row, where it is the same in all vectors of the loop that is about to be opened.
  void PrecomputeRow(kir::Val v);
  bool RowServesCopies(size_t read) const;
  /// Those that begin at `pointer`.
  Values RowOf(const Table& table, size_t read, Value* pointer);
  /// Of each lane the element of two registers that its key counts (of `low` alone at AVX2), which may have higher
  /// bits.
  Value* Permuted(Value* low, Value* high, Value* keys);
  /// `lanes` elements, every second one from `pointer` on.
  Value* LoadEverySecond(llvm::Type* element, unsigned lanes, Value* pointer);
  Value* LoadLanes(llvm::Type* element, const Place& place, Value* mask, Value* otherwise);
  void StoreLanes(Value* value, const Place& place, Value* mask);
  Value* LaneOffsets(const Place& place);
  static constexpr unsigned kLongestUnit = 16;  // structural: bytes of a vector on every level
  /// So many bytes, of 64 at most, in few moves, which may overlap.
  void MoveBytes(Value* to, Value* from, unsigned bytes);
  /// Neighbours of so many bytes in the lanes of the mask; `all`, `by_lane`: moves of all, and of those one by one.
  void MoveMasked(Value* to, Value* from, Value* mask, unsigned bytes, llvm::function_ref<void()> all,
                  llvm::function_ref<void()> by_lane);
  /// Neighbours that were stored a few instructions ago, or one element, so that nobody waits to read them again.
  struct Stored {
    kir::Buf buf = 0;
    int64_t element = 0;  ///< Of lane 0.
    unsigned lanes = 1;   ///< 0: a scalar, and its place is `moves`, so many times each, further on.
    llvm::SmallVector<std::pair<Value*, int64_t>, 2> moves = {};
    std::optional<int64_t> count = {};  ///< Lanes that exist, where not all do.
    Value* value = nullptr;
    llvm::BasicBlock* block = nullptr;  ///< Only what follows within it may use the value.
  };
  /// The place of the lanes of the copy, where it is known and they are neighbours; without value and block.
  std::optional<Stored> KnownPlace(const Access& access, unsigned copy) const;
  /// The place of one element, as far as it can be told from others; without value and block.
  std::optional<Stored> KnownElement(const Access& access, unsigned copy);
  /// What was stored there; null where that is not at hand.
  Value* StoredElement(const std::optional<Stored>& place) const;
  void ForgetStored(kir::Buf buf);
  // Groups of neighbours (groups.cc)
  /// Whether vectors of such elements are shuffled register by register, and all lanes or the first ones exist.
  bool GroupsMove(unsigned bytes) const;
  /// The lanes of one of these registers; 0: they are not shuffled.
  int LanesShuffled(unsigned bytes) const;
  /// Vectors of equal length, as many as a power of two, one behind the other; and a part of such a vector.
  Value* Joined(llvm::ArrayRef<Value*> parts);
  Value* PartOf(Value* vector, int first, int lanes);
  /// Whether all lanes' places follow from the first one's, without guards.
  bool IsGroupAccess(const Access& access) const;
  /// <lanes x i1>: the first `count` (i64, below 0 as 0) of so many.
  Value* FirstLanes(Value* count, int of);
  std::vector<Value*> RunNetwork(const LaneNetwork& network, std::vector<Value*> vectors);
  /// Reads what lies beside one another along another dim together, and sets the value of all of it.
  bool EmitGroupRead(kir::Val v, unsigned copy);
  /// Components of rows of `stride` elements, at least as many as the vector's, that begin at `base`: those of each
  /// point are moved as vectors of their own. `points`: how many there are of as many as lanes; null for all.
  std::vector<llvm::Value*> LoadRows(llvm::Type* vector, llvm::Value* base, int stride, llvm::Value* points);
  void StoreRows(const std::vector<llvm::Value*>& components, llvm::Value* base, llvm::Value* points);
  /// All lanes, or none where there is no such row.
  llvm::Value* RowExists(llvm::Value* points, int row, int lanes);
  /// The same for stores from `first` on: how many it has written.
  size_t EmitGroupStore(const std::vector<const kir::Store*>& stores, size_t first, unsigned copy);
  /// Keeps instruction selection from looking through a whole network of shuffles at once, whose cost explodes.
  static void Fence(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<Value*>& rows);
  /// In-register transpose of an n x n tile: element j of row i goes to element i of row j.
  static void TransposeRows(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<Value*>& rows, unsigned bytes);
  /// Reads a square tile along the other dim, transposes it in registers and sets the value for all copies.
  bool EmitTileRead(kir::Val v);
  // Tiles of short dims (short_tile.cc)
  void EmitShortTile(const kir::Stage& stage, const StagePlan& plan, const NodeList& needed);
  void EmitShortStores(const std::vector<const kir::Store*>& stores, unsigned copy);
  /// Reads what all vectors of the tile take from there, and sets the node's value for all of them.
  void EmitShortRead(kir::Val v);
  /// Neighbours or, of fewer than a register, single elements in lane 0, as vectors of the tile's lanes.
  Value* LoadWindow(llvm::Type* element, Value* pointer, int width);
  void LaneLoop(const Place& place, Value* mask, llvm::function_ref<void(Value* lane, Value* pointer)> body);
  bool MaskedMoveIsLegal(unsigned bytes) const;
  Value* ActiveMask(Value* count, unsigned lanes);
  /// A mask of the first lanes, of none below 1.
  llvm::Constant* FirstOf(int64_t count, unsigned lanes);
  /// Whether the parts of consecutive complex numbers can be moved as whole vectors and shuffled.
  bool PairsAreWhole() const;
  /// The mask for half 0 or 1 of them: the lanes' mask with every lane twice.
  Value* PairMask(unsigned half);
  /// The same of any mask; `down`: of lanes that lie in memory the other way round.
  Value* LanesTwice(Value* mask, unsigned half, bool down);

  // --- stages (stage.cc)
  void EmitStage(const kir::Stage& stage);
  void EmitStageBody(const kir::Stage& stage);
  void EmitElementwise(const kir::Stage& stage, const StagePlan& plan);
  /// All points along the plan's dim in lanes.
  void EmitRow(const kir::Stage& stage, const StagePlan& plan, const NodeList& needed, Value* stream);
  void EmitTiles(const kir::Stage& stage, const StagePlan& plan, const NodeList& needed);
  // Rows that share much (rows_ahead.cc)
  target::RowStage RowStageOf(const kir::Stage& stage, const StagePlan& plan, const NodeList& needed) const;
  /// The rows along the innermost loop around them, a vector of rows' shared values at a time.
  void ForRowsAhead(kir::DimId along, const target::ValuesAhead& ahead, llvm::function_ref<void()> row);
  // Rows of which each computes one of two things (choices.cc)
  /// What is known of a condition when code is made; null: nothing.
  const llvm::ConstantInt* Decided(kir::Val condition) const;
  /// Makes the condition known until the enclosing scope ends.
  void Decide(const NodeList& needed, kir::Val condition, bool holds);
  /// row(what it needs) in the loops around it, of which so many are open.
  void ForRows(const kir::Stage& stage, const StagePlan& plan, const target::RowChoices& choices, size_t open,
               llvm::function_ref<void(const NodeList&)> row);
  /// Whether the stage combines one vector after another with memory at places that only data knows.
  bool MayPair(const kir::Stage& stage, const StagePlan& plan);
  /// Two iterations of the serial dim at once where they go to one place: what is added to what was just stored waits
  /// for the store.
  void EmitPairs(const kir::Stage& stage, const StagePlan& plan, const NodeList& needed);
  void EmitPoint(const std::vector<const kir::Store*>& stores, const NodeList& needed);
  void ForDims(const llvm::SmallVector<kir::DimId, 4>& dims, size_t next, const NodeList& needed, Values* carried,
               llvm::function_ref<void()> body);
  /// Whether points of the stage may be computed and stored twice.
  bool MayRepeat(const kir::Stage& stage, const NodeList& needed) const;
  RowEnd RowEndOf(const kir::Stage& stage, const NodeList& needed, kir::DimId dim) const;
  /// The lanes of a vector that a row may end in so, or of two that cover a row shorter than `lanes`; 0: none.
  unsigned Overlapping(int64_t length, unsigned lanes) const;
  /// A row of a known length, every vector of which is written out; false, and nothing is done, where it is no such
  /// row.
  bool WrittenOutRow(kir::DimId dim, unsigned lanes, unsigned most_vectors, bool overlap, const NodeList& needed,
                     llvm::function_ref<void()> body);
  /// for lanes of `dim` in [lo, hi): `copies` bodies at a time, then one masked body for the rest; or masked bodies
  /// only. `stream`: see Lanes; of all whole vectors from the dim's low end.
  void VectorLoop(kir::DimId dim, unsigned lanes, unsigned copies, bool masked_only, const NodeList& needed,
                  Value* stream, llvm::function_ref<void()> body, RowEnd ends = {});
  /// The rest of a row whose length is known, in vectors one after another, each half of a longer one.
  struct RestOfRow {
    llvm::SmallVector<unsigned, 4> widths;
    bool masked = false;  ///< The one vector is longer than the rest.
  };
  static constexpr unsigned kShortestVector = 4;  // structural: 16 bytes of the smallest elements that are split so
  /// As many vectors without a mask as there may be, or one with it; where none may be, of full width.
  static RestOfRow RestOf(int64_t rest, unsigned lanes, RowPieces pieces);
  /// Vectors without a mask that the rest of a row along `dim` is worth. What was written through a mask is slow to
  /// read again, which the next trip of a loop does.
  RowPieces PiecesOf(const kir::Stage& stage, const NodeList& needed, kir::DimId dim) const;
  static std::optional<int64_t> Known(Value* v) {
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(v);
    return constant == nullptr ? std::nullopt : std::optional<int64_t>(constant->getSExtValue());
  }
  /// i1: all stores should stream and are aligned (to a vector of `lanes`, and to `aligned_bytes`) while `dims`, then
  /// `along`, run from their low ends in the loops that are about to be opened; null: never.
  Value* StreamingAllowed(const std::vector<const kir::Store*>& stores, const llvm::SmallVector<kir::DimId, 4>& dims,
                          kir::DimId along, int64_t aligned_bytes, unsigned lanes);
  Value* BytesOf(const kir::Buffer& buffer);
  /// Whether the store's memory is too large to stay in the caches and writing around them pays; null: no.
  Value* WantsStreaming(const kir::Store& store);
  bool StreamsAlong(const kir::Store& store, kir::DimId dim);

  // --- rows that memory is asked for early (prefetch.cc)
  struct ForeseenRow {
    size_t access = 0;
    std::vector<kir::Val> starts = {};  ///< Values that decide where it is.
    int along = -1;                     ///< The dim whose elements it has; -1: it is no such row.
  };
  /// What one trip over `dim` reads side by side at a place from data.
  ForeseenRow ForeseenRowOf(kir::DimId dim, size_t read);
  /// At the beginning of a trip of the loop over `dim`, whose value is `i`: the rows that a trip further on reads at
  /// places from data, which no hardware foresees.
  void PrefetchRows(kir::DimId dim, Value* i, const NodeList& needed);

  // --- reductions (reduce.cc)
  struct Accumulators {
    const kir::Reduce* reduce = nullptr;
    const kir::Graph* combiner = nullptr;
    bool lanes_order = false;
    bool symmetric = false;          ///< The identity changes nothing from either side.
    unsigned width = 1;              ///< W of kLanes.
    unsigned registers = 1;          ///< Vectors per value in a row reduction: W / lanes.
    unsigned first = 0;              ///< Of its values in the list of carried values.
    std::vector<Value*> memory;      ///< Per value (times copies): the accumulators' array.
    std::vector<uint64_t> identity;  ///< Bits; empty when kSequential without a known one.
    /// Values are floats as integers in the same order meanwhile, of which this takes the most or the least.
    std::optional<llvm::Intrinsic::ID> ordered = {};
    size_t values() const { return reduce->in.size(); }
  };
  struct Meeting {
    Value* memory = nullptr;  ///< A vector per row.
    unsigned rows = 0;        ///< And lanes.
    Value* row = nullptr;     ///< At hand.
    bool joined = false;      ///< Then what it joined as:
    llvm::Type* type = nullptr;
    Accumulators acc = {};
    StagePlan plan = {};
  };
  /// The meeting that the reduction, in vectors of so many lanes, is to join; null for none.
  Meeting* MeetingOf(const Accumulators& acc, unsigned lanes);
  void EmitReduction(const kir::Stage& stage, const StagePlan& plan);
  void ReduceRows(const kir::Stage& stage, const StagePlan& plan, std::vector<Accumulators>& accs,
                  const std::vector<const kir::Store*>& during, const NodeList& needed);
  void ReduceGeneral(const kir::Stage& stage, const StagePlan& plan, std::vector<Accumulators>& accs,
                     const std::vector<const kir::Store*>& during, const NodeList& needed);
  void ReduceColumns(const StagePlan& plan, std::vector<Accumulators>& accs,
                     const std::vector<const kir::Store*>& during, const std::vector<const kir::Store*>& after,
                     const NodeList& needed, const NodeList& needed_after);
  /// Whether the elements of such sums are few enough to be written out, each where the order of lanes has it.
  bool FitsTree(const StagePlan& plan, const std::vector<Accumulators>& accs, const NodeList& needed);
  /// Sums in the order of lanes without accumulators in memory: each branch of the tree is done before the next one.
  void ReduceAsTree(const StagePlan& plan, const std::vector<Accumulators>& accs, const NodeList& needed);
  bool ManyRows(const StagePlan& plan, const NodeList& needed) const;
  /// The vectors of columns whose sums registers hold at once; 0: rows are too few to be worth it, or sums too many.
  unsigned ColumnCopies(const StagePlan& plan, const std::vector<Accumulators>& accs) const;
  /// The rows, a few at a time: of these the sums of some vectors of columns stay in registers, and between them lie in
  /// `slot`.
  void ReduceColumnsInRegisters(const StagePlan& plan, std::vector<Accumulators>& accs, const NodeList& needed,
                                unsigned copies,
                                llvm::function_ref<Value*(const Accumulators&, size_t, unsigned)> slot);
  Values OrderedIntegers(const Values& floats, bool most);
  Values FloatsOf(const Values& ordered, llvm::Type* type);
  Value* Mirrored(Value* integers);
  Values Combine(const Accumulators& acc, llvm::ArrayRef<Value*> accumulator, llvm::ArrayRef<Value*> element);
  /// What has met, behind the initial values; these alone where the reduced dims have no points.
  Values StartWith(const Accumulators& acc, const StagePlan& plan, const Values& init, const Values& met);
  /// Accumulators of one vector, or of a part of it: aligned pieces, in order. What they leave out is the identity.
  struct Piece {
    unsigned at = 0;
    unsigned lanes = 1;
    Values values = {};
  };
  using Pieces = std::vector<Piece>;
  /// Combined lane by lane within [at, at + lanes).
  Pieces Sum(const Accumulators& acc, Pieces a, Pieces b, unsigned at, unsigned lanes);
  /// Those below and those from the middle of [at, at + lanes).
  std::pair<Pieces, Pieces> Halve(const Pieces& pieces, unsigned at, unsigned lanes);
  /// `registers`: by vector, the W accumulators in order.
  void FinishRow(Accumulators& acc, const StagePlan& plan, std::vector<Pieces> registers);
  /// What is left of a row whose length is known, from `from` on, into the registers.
  void ReduceRest(const kir::Stage& stage, const StagePlan& plan, std::vector<Accumulators>& accs,
                  const std::vector<const kir::Store*>& during, const NodeList& needed, int64_t from, int64_t to,
                  std::vector<std::vector<Pieces>>& registers);
  void FinishMemory(Accumulators& acc);
  void SetReduced(const Accumulators& acc, unsigned copy, llvm::ArrayRef<Value*> result);
  Accumulators MakeAccumulators(const kir::Reduce& reduce);
  DType TypeOf(kir::Val v) const { return k_.nodes[v].type; }

  const Analysis& an_;
  const kir::Kernel& k_;
  isa::IsaLevel isa_;
  llvm::Function* fn_;
  llvm::IRBuilder<> b_;
  llvm::IRBuilder<> entry_;  ///< Inserts into the entry block: parameters, bases, products of sizes.
  ScalarLowering low_;

  Lanes lanes_;
  kir::DimMask promoted_ = 0;                 ///< Stage dims that the split turned into outer loops.
  Value* dim_value_[32] = {};                 ///< The current value (of lane 0, copy 0); null: not open.
  bool cuts_stages_ = false;                  ///< A piece is a range of the first dim of each stage (kir::StageCuts).
  std::pair<Value*, Value*> range_[32] = {};  ///< Where it is not [0, extent).
  int outer_vector_dim_ = -1;
  unsigned outer_lanes_ = 1;
  unsigned together_ = 1;    ///< Lanes::together of the stage's vector loops.
  bool streams_ = false;     ///< Some code streams: the function ends with a fence.
  bool mutable_ok_ = false;  ///< Reads of memory that the kernel writes may be emitted here.
  int loops_ = 0;            ///< Native loops that are open.
  kir::DimMask pinned_ = 0;  ///< Dims that are one vector each, of which some values are there before the loop.

  struct Undo {
    Value** where;
    Value* old;
  };
  std::vector<Undo> undo_;
  void Assign(Value** where, Value* value) {
    undo_.push_back({where, *where});
    *where = value;
  }
  std::vector<Value*> values_;
  std::vector<Value*> splats_;
  const NodeList* needed_now_ = nullptr;  ///< What is being emitted as far as it can be known.
  struct PointerState {
    Value* pointer = nullptr;
    uint64_t done = 0;  ///< Parts that `pointer` includes.
  };
  std::vector<Access> accesses_;         ///< Reads, then stores as they are met.
  SmallVector<kir::Guard, 1> answered_;  ///< They hold where code goes now (IfStored).
  std::map<const kir::Store*, size_t> store_access_;
  std::vector<PointerState> pointers_;
  struct PointerUndo {
    size_t access;
    PointerState old;
    size_t mark;  ///< Size of undo_ when it was changed.
  };
  std::vector<PointerUndo> pointer_undo_;
  std::vector<Stored> stored_;
  std::vector<Value*> params_;
  std::vector<Value*> buffers_;
  std::map<std::pair<int64_t, int64_t>, Value*> products_;
  struct Width {
    kir::Size lo, hi;
    Value* value = nullptr;
  };
  std::vector<Width> widths_;
  using ResultMap = std::map<uint32_t, std::vector<Value*>>;
  ResultMap reduced_;                     ///< Per id: copy * values + i.
  std::map<uint32_t, Meeting> meetings_;  ///< Per id, within rows.
  ResultMap carried_;
  struct ResultUndo {
    ResultMap* map;
    uint32_t id;
    size_t mark;
  };
  std::vector<ResultUndo> result_undo_;
  /// Makes the values of an id known until the enclosing scope ends.
  void SetResult(ResultMap& map, uint32_t id, std::vector<Value*> values);
  std::vector<std::array<Value*, target::kTableRegisters>> rows_;  ///< Per read: RowOf, or null.
  std::vector<std::array<Value*, 2>> pairs_;  ///< Per read and copy: both components, as loaded, in two vectors.
  llvm::DenseMap<Value*, int64_t> counted_;   ///< Counters of loops, which start at zero, and their last values.
  std::vector<kir::Magnitude> magnitudes_;    ///< Per node, once somebody asks.
};

}  // namespace tenon::emit_llvm
