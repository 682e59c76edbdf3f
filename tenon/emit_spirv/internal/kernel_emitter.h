#pragma once

/// One kernel as a module. A kernel is cut into parts, each a launch of its own (parts.cc); a part spreads points (of
/// the outer dims, or of a stage's parallel dims) over invocations or over workgroups ("teams") and emits its steps for
/// one point (stage.cc, reduce.cc). Values are made where they are first asked for, and hoisted out of loops that they
/// do not depend on (values.cc); access.cc is about memory, wide.cc about several elements of it at once.

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/emit_spirv/emit.h"
#include "tenon/emit_spirv/internal/scalars.h"
#include "tenon/emit_spirv/internal/writer.h"

namespace tenon::emit_spirv {

class KernelEmitter {
 public:
  KernelEmitter(const kir::Kernel& kernel, const target::Target& target, Places places);
  Result<Module> Run();

 private:
  using DimList = SmallVector<kir::DimId, 4>;
  using NodeList = std::vector<kir::Val>;
  using StoreList = std::vector<const kir::Store*>;

  /// Steps that one launch runs for each point of `grid`.
  struct Part {
    std::vector<const kir::Step*> steps;
    DimList grid;       ///< Outermost first.
    bool team = false;  ///< A workgroup works on each point; otherwise an invocation.
    int64_t group_size = 1;
    int64_t points_together = 1;        ///< That an invocation takes.
    const kir::Stage* stage = nullptr;  ///< The only step, whose domain the grid has.
    /// The last of the grid, of which a point has kWide neighbours.
    std::optional<kir::DimId> wide;
  };

  /// Constants where they are known, ids where not (or besides).
  struct Bounds {
    std::optional<int64_t> lo, hi;
    Id lo_id = 0, hi_id = 0;
    bool surely_some() const { return lo && hi && *lo < *hi; }
  };

  /// One summand of an element's place: factor = a * b.
  struct Summand {
    enum class Kind : uint8_t { kConstant, kDim, kStart } kind = Kind::kConstant;
    kir::DimId dim = 0;
    kir::Val start = kir::kNone;
    kir::Size a = kir::Size::Of(1), b = kir::Size::Of(1);
  };
  struct Access {
    kir::Buf buf = 0;
    const SmallVector<kir::Guard, 1>* guards = nullptr;
    SmallVector<Summand, 8> parts;
    bool wide = false;  ///< Places need 64 bits.
    // What has been summed up so far, at the present place in the code.
    Id sum = 0;
    uint64_t done = 0;
  };

  // parts.cc
  struct Touched {
    std::set<kir::Buf> reads, writes;  ///< Buffers in place of others count as these.
    std::set<kir::Buf> locals;
    std::set<uint32_t> uses, defines;  ///< Reduces and loops.
  };
  Status Check() const;
  std::vector<Part> MakeParts() const;
  Part StagePart(const kir::Step& step) const;
  Part ChainPart(std::vector<const kir::Step*> steps) const;
  Touched TouchedBy(const Part& part) const;
  void Touch(const kir::Step& step, Touched& touched, std::vector<kir::Val>& roots) const;
  void PlaceShared(const std::vector<Touched>& touched, Module& module);
  void EmitPart(const Part& part, const Touched& touched, size_t number, bool after_barrier, Module& module);
  void PlaceLocals(const Part& part, const Touched& touched, const Module& module, Dispatch& dispatch);
  void ForEachPoint(const Part& part, const Dispatch& dispatch, const std::function<void()>& body);
  void BindPoint(const Part& part, Id point);
  void LeaveResults(const Part& part);
  DType ResultType(uint32_t id, uint8_t result) const;
  /// Of its dims that are reduced, or are not: how many points; nothing when a parameter decides.
  std::optional<int64_t> PointsOf(const kir::Stage& stage, bool reduced) const;
  /// Invocations of a workgroup that do not meet, of which there are so many.
  int64_t FreeGroup(int64_t invocations) const;
  int64_t Elements(const kir::Buffer& buffer) const;
  /// Rounds of all loops of one invocation, about and at least; INT64_MAX when only run time knows.
  int64_t Trips(const Part& part) const;
  int64_t Trips(const Part& part, std::span<const kir::Step> steps) const;
  int64_t Trips(const Part& part, const kir::Stage& stage) const;

  // stage.cc
  void EmitSeq(const std::vector<const kir::Step*>& steps, bool inside_loop);
  void EmitStage(const kir::Stage& stage);
  void EmitLoop(const kir::Loop& loop);
  /// What the values and accesses of a stretch of code need, to be hoisted out of its loops.
  struct Wanted {
    NodeList nodes;
    std::vector<size_t> accesses;
  };
  Wanted WantedBy(const std::vector<kir::Val>& roots, const StoreList& stores) const;
  void Precompute(const Wanted& wanted);
  /// Nested loops over the dims, in order, with what is wanted hoisted.
  void ForDims(const DimList& dims, size_t next, const Wanted& wanted, const std::function<void()>& body);
  /// The same for one dim from lo + first on, by steps.
  void ForDim(kir::DimId dim, Id first, uint32_t step, const Wanted& wanted, const std::function<void()>& body);
  /// The parallel dims' points are spread over the team.
  /// `wide`: a point has kWide places of the last dim, from wide_first_ on.
  void ForTeam(const DimList& dims, const Wanted& wanted, const std::function<void()>& body, bool wide = false);
  /// Values of these dims at that point of their box, counted row-major.
  void BindFlat(const DimList& dims, Id flat);
  Bounds BoundsOf(kir::DimId dim);
  Id Length(const Bounds& bounds);
  void EmitPoint(const StoreList& stores);

  // wide.cc
  static constexpr int64_t kWide = 4;  ///< structural: elements that lie beside one another and move at once
  using WideReads = std::vector<std::pair<kir::Val, std::vector<Id>>>;
  /// Places of the only stage's last dim, when a point may have kWide of them and gains by it.
  std::optional<kir::DimId> WideDim(const kir::Stage& stage, kir::DimId last) const;
  /// Known ends of a dim of which whole groups of kWide may be made.
  bool HasWholeGroups(const kir::Stage& stage, kir::DimId dim) const;
  /// Whether neighbours along the dim are neighbours in memory, in whole groups that are aligned.
  bool IsWideAlong(const Access& access, kir::DimId dim) const;
  bool IsWideType(const Access& access) const;
  /// The same for a stage that a workgroup shares, of which these dims are left.
  bool IsWideInTeam(const kir::Stage& stage, const DimList& free, const Wanted& wanted) const;
  /// As BindFlat, but of the last dim wide_first_ is set alone; `flat` counts its groups.
  void BindWide(const DimList& dims, Id flat);
  void EmitWide(const StoreList& stores, kir::DimId dim);
  /// What is read at `first` of the dim and behind it, of the nodes that are wanted anyway.
  WideReads ReadWide(const NodeList& nodes, kir::DimId dim, Id first);
  std::vector<Id> LoadWide(size_t access);
  void StoreWide(size_t access, const std::vector<Id>& values);
  Id WidePointer(size_t access);
  Id WideType(kir::Buf buf);
  /// Finds reads of a stage that surely happen together and are neighbours in memory.
  void FindNeighbours(const NodeList& nodes);
  /// Reads all neighbours of that node; whether it has any.
  bool ReadNeighbours(kir::Val v);

  // reduce.cc
  using ReduceList = std::vector<const kir::Reduce*>;
  using Variables = std::vector<std::vector<Id>>;  ///< By reduce, then by value.
  void EmitReduction(const kir::Stage& stage, const DimList& free, const DimList& reduced);
  void ReduceAlone(const ReduceList& reduces, const DimList& reduced, const StoreList& at_points);
  void ReduceTogether(const kir::Stage& stage, const DimList& reduced, const StoreList& at_points);
  void SumInOrder(const ReduceList& reduces, const DimList& reduced, const StoreList& stores);
  void SumInLanes(const ReduceList& reduces, int64_t width, const DimList& reduced, const StoreList& stores);
  void MeetInTeam(const ReduceList& reduces, int64_t width, const Variables& acc, const DimList& reduced);
  void ShareResults(const ReduceList& reduces);
  Id TeamWord(const kir::Reduce& r, size_t i, int64_t elements, Id at);
  void Finish(const kir::Reduce& r, std::span<const Id> sum, const DimList& reduced);
  std::vector<Id> Combine(const kir::Reduce& r, std::span<const Id> left, std::span<const Id> right);
  std::vector<Id> MakeVariables(const kir::Reduce& r);
  std::vector<Id> LoadAll(const kir::Reduce& r, const std::vector<Id>& variables);
  void StoreAll(const std::vector<Id>& variables, std::span<const Id> values);
  std::vector<Id> ValuesOf(const SmallVector<kir::Val, 2>& values);
  int64_t Lanes(const kir::Reduce& r) const;
  void TreeLevel(const ReduceList& reduces, std::span<const int64_t> offsets, Id first, const Variables& out,
                 const DimList& reduced, int64_t width, const StoreList& stores);
  /// The points whose last index is `first` modulo `width`, in order; width 1: all.
  void Accumulate(const ReduceList& reduces, const DimList& reduced, Id first, int64_t width, const Variables& acc,
                  const StoreList& stores);
  Id AnyPoints(const DimList& reduced);  // 0: surely

  // matrix.cc
  /// A stage whose only reduce matrix units make for a whole tile: sums of [rows, terms] x [terms, columns].
  struct MatrixSum {
    const kir::Reduce* reduce = nullptr;
    const target::MatrixUnit* unit = nullptr;
    kir::DimId row = 0, column = 0;
    int64_t rows = 0, columns = 0;
    kir::Val x = kir::kNone, y = kir::kNone;  ///< The factors, of the unit's type.
    int64_t Units() const { return rows / unit->m * (columns / unit->n); }
  };
  std::optional<MatrixSum> FindMatrixSum(const kir::Stage& stage) const;
  /// Null: it is none.
  const MatrixSum* MatrixSumOf(const kir::Stage& stage) const {
    const auto it = matrix_sums_.find(&stage);
    return it == matrix_sums_.end() ? nullptr : &it->second;
  }
  int64_t MatrixTrips(const MatrixSum& m, int64_t terms, int64_t group_size) const;
  void EmitMatrixSum(const MatrixSum& m, const DimList& free, const DimList& reduced, const StoreList& after);
  /// Has the workgroup put the terms from `first` on of a factor into its memory, zeros beyond the last of `terms`: x
  /// as [rows, terms], y as [terms, columns].
  void FillTile(const MatrixSum& m, bool of_x, Id tile, const DimList& reduced, Id first, Id terms);
  /// What elements of a tile are in workgroup memory: as narrow as the type is.
  Id TileType(DType type);
  /// Which of the workgroup's subgroups this is, and of how many.
  Id SubgroupBuiltIn(uint32_t which);

  // values.cc
  Id Value(kir::Val v);
  void Set(kir::Val v, Id id);
  size_t Mark() const { return trail_.size(); }
  void Rewind(size_t mark);
  bool Available(kir::Val v) const;
  NodeList Needed(const std::vector<kir::Val>& roots) const;
  std::vector<Id> InlineGraph(const kir::Graph& graph, std::span<const Id> args);
  Id Math(uint32_t math, std::span<const Id> args);
  Id External(uint32_t id, uint8_t result, DType type);
  void CountMath(const std::vector<kir::Node>& nodes);
  DType InType(const kir::Node& node) const;

  // access.cc
  void MakeAccess(Access& access, kir::Buf buf, const SmallVector<kir::Axis, 4>& at,
                  const SmallVector<kir::Guard, 1>& guards) const;
  size_t AccessOf(const kir::Store& store) const { return store_access_.at(&store); }
  void Extend(size_t access);
  Id Place(size_t access, int component);
  /// To the buffer's first element where `condition` does not hold, unless that is 0.
  Id Pointer(size_t access, int component, Id condition = 0);
  Id LoadFrom(kir::Buf buf, Id pointer);
  void StoreTo(kir::Buf buf, Id pointer, Id value);
  Id Read(const kir::Node& node);
  Id ReadSignal(const kir::Node& node);
  void Act(const kir::Store& store);
  /// Whether all guards hold: an id, or an answer that is known.
  std::optional<bool> Guards(const SmallVector<kir::Guard, 1>& guards, Id* condition);
  std::optional<bool> GuardHolds(const kir::Guard& guard, Id* condition);
  Id AxisValue(const kir::Axis& axis, int bits);
  Id SizeId(const kir::Size& size, int bits);
  Id Base(kir::Buf buf, Id element, int64_t bytes);
  Id FrameWord(uint32_t first_member, uint32_t index);
  Id Scratch(Id type, int64_t bytes_of_type, Id byte_offset);
  /// Registers of the type, or `narrow` elements of a tile.
  Id WorkgroupWords(DType type, int64_t elements, int which, bool narrow = false);
  DType PartType(kir::Buf buf) const;

  // Of the entry point that is being written.
  Id LocalIndex();
  Id GroupIndex();
  Id GroupCount();
  Id IsFirst();

  bool Uses(kir::Val v, uint32_t id) const;
  bool Uses(const kir::Store& store, uint32_t id) const;
  bool UsesOwn(const kir::Store& store, const kir::Stage& stage) const;
  void Fail(Status status) { s_.Fail(std::move(status)); }
  bool failed() const { return !s_.status().ok(); }

  const kir::Kernel& k_;
  const target::Target& target_;
  const Places places_;
  Writer w_;
  Scalars s_;

  // Of the kernel.
  std::vector<kir::DimMask> deps_;
  std::vector<std::vector<uint32_t>> uses_;  ///< Ids of reduces and loops by node, sorted.
  std::vector<Access> accesses_;             ///< Of the reads, then of the stores.
  std::unordered_map<const kir::Store*, size_t> store_access_;
  std::unordered_map<const kir::Stage*, MatrixSum> matrix_sums_;
  std::map<uint32_t, int64_t> math_uses_;
  std::map<uint32_t, Id> math_functions_;
  std::map<std::pair<uint32_t, uint8_t>, int64_t> crossing_;  ///< Results for later launches: place in scratch memory.

  // Of the launch.
  const Part* part_ = nullptr;
  std::map<std::pair<Id, int64_t>, Id> starts_;  ///< What was made at the start of the function, by its kind.
  struct Local {
    Id words = 0;                               ///< Workgroup memory,
    int64_t scratch = -1;                       ///< or a place in scratch memory,
    int64_t per_invocation = 0, per_group = 0;  ///< which each has so many bytes of.
  };
  std::vector<Local> locals_;
  std::map<std::tuple<int, int64_t, int>, Id> words_;
  std::set<uint32_t> defined_;  ///< Reduces and loops of this launch; the results of others lie in scratch memory.
  int64_t local_bytes_ = 0;
  bool needs_alignment_ = false;

  // Of the place in the code.
  std::vector<Id> value_;
  struct Change {
    bool is_access;
    size_t index;
    Id sum;
    uint64_t done;
  };
  std::vector<Change> trail_;
  Id dim_value_[32] = {};
  kir::DimMask scope_ = 0;                       ///< Dims that run here, or will inside.
  std::map<uint32_t, std::vector<Id>> results_;  ///< Of reduces and loops, by id.
  const kir::Stage* stage_ = nullptr;
  Id wide_first_ = 0;  ///< Of the dim of which a point has kWide places: the first of them.
  std::map<kir::Val, std::array<kir::Val, kWide>> neighbours_;  ///< Of the stage, by each of them.
};

}  // namespace tenon::emit_spirv
