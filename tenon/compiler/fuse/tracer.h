#pragma once

/// Writes the value of a graph node at a point of a loop nest as KIR nodes, following its producers through their index
/// maps.

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/compiler/fuse/cluster.h"
#include "tenon/compiler/fuse/index_map.h"
#include "tenon/compiler/fuse/kernel_maker.h"
#include "tenon/compiler/fuse/scalar_ops.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

/// A buffer of the kernel with the view's type, extents and strides.
kir::Buf BufferFor(kir::KernelBuilder& b, kir::BufKind kind, const View& view);

/// Writes the value of a node at a point into a kernel, following producers through index maps as far as the kernel
/// computes them itself. For one kernel.
class Tracer {
 public:
  Tracer(const Program& program, const std::unordered_set<NodeId>& members, const MakerEnvironment& env,
         kir::KernelBuilder& builder)
      : program_(program), members_(members), env_(env), b_(builder) {}

  /// Extents by DimId; the maker keeps them in step with the builder's dims.
  std::vector<int64_t> extents;
  /// Where a member that some stage has already made available lies: a reduction's results, at the map under which they
  /// are valid.
  struct Available {
    IndexMap map;
    uint32_t reduce = 0;
  };
  std::unordered_map<NodeId, Available> reduced;
  /// Dims that stand for the same loop in different stages (one runs, one reduces) share a number here; kernel_maker
  /// keeps it.
  std::vector<kir::DimId> same_as;
  /// Called when a value that stage `first` computed is wanted again at the same place of the current stage; may turn
  /// it into a row kept in memory, and gives what to use now; nothing: compute it again.
  std::function<std::optional<Scalar>(Ref, Scalar, int first)> on_reuse;
  int stage = 0;
  /// Asked first for every value that is not known yet; true when it answered (with nothing: the value cannot be had at
  /// this place).
  std::function<bool(Ref, const IndexMap&, std::optional<Scalar>&)> resolve;

  /// Nothing when some member cannot be computed here; `blocking` or `cut` then says which, or what would help.
  std::optional<Scalar> Trace(Ref r, const IndexMap& map);
  NodeId blocking = kNoNode;
  std::optional<CutDemand> cut;
  NodeId cut_by = kNoNode;  ///< The reshape that demands the cut.

  /// Kernel buffers of values that live in memory.
  kir::Buf BufferOf(Ref r);
  std::vector<BoundBuffer> bound;

  /// f(Ref, map, guards, Scalar) for every value that was written somewhere, in no order, some of them several times.
  template <class F>
  void ForEachValue(const F& f) const {
    for (const auto& [key, known] : known_) f(key.ref, key.map, key.guards, known.value);
  }

  SmallVector<kir::Axis, 4> AxesOf(const IndexMap& map) const;
  /// Those of `guards` that matter to what is read at `map` or below it: they speak of a dim that moves the place. With
  /// the extents of what is read, only of dims that move it out of there.
  SmallVector<kir::Guard, 1> ThatMatter(const SmallVector<kir::Guard, 1>& guards, const IndexMap& map,
                                        const Dims* dims) const;
  /// The clamped start of a dynamic slice of `size` out of `extent`, as s64.
  std::optional<kir::Val> TraceStart(Ref r, int64_t extent, int64_t size);

 private:
  struct Key {
    Ref ref;
    IndexMap map;
    SmallVector<kir::Guard, 1> guards;  ///< What holds where the value was written.
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHasher {
    size_t operator()(const Key& k) const;
  };
  struct Known {
    Scalar value;
    int stage;
  };

  /// At how many places a member was written out.
  struct Places {
    size_t number;  ///< Of members that were written out before it.
    int count = 0;
    double evaluated = 0;  ///< How often loops compute it there, by element.
  };

  /// The key under which stages that run the same loop find each other's values: dims by same_as.
  Key PlaceOf(Key key) const;
  std::optional<Scalar> TraceNew(Ref r, const IndexMap& map);
  std::optional<Scalar> Leaf(Ref r, const IndexMap& map);
  std::optional<Scalar> TraceReduce(Ref r, const IndexMap& map);
  std::optional<Scalar> TracePad(Ref r, const IndexMap& map);
  /// The constant that `v` is where none of its reads' guards holds, these being `guards`. Looks at `budget` nodes at
  /// most.
  std::optional<uint64_t> ValueOutside(kir::Val v, const SmallVector<kir::Guard, 1>& guards, int& budget);
  std::optional<Scalar> TraceConcatenate(Ref r, const IndexMap& map);
  std::optional<Scalar> TraceGather(const GraphNode& node, const IndexMap& map);
  std::optional<Scalar> TraceIota(const GraphNode& node, const IndexMap& map);
  std::optional<Scalar> Block(NodeId id) {
    if (blocking == kNoNode) blocking = id;
    return std::nullopt;
  }
  /// Of the members that are written out at several places the one whose elements are computed most often: the one to
  /// store when a kernel grows too large. Of several the one that was reached first, for which the others are written
  /// out: a whole window rather than one of its parts, and a sum rather than its terms.
  NodeId MostRepeated(NodeId otherwise) const;
  /// Points of the dims that move the place.
  double PointsOf(const IndexMap& map) const;
  kir::Val ValueOf(const Index& ix, bool narrow);
  kir::Val Inside(const Index& ix, int64_t low, int64_t high);
  kir::Val ClampStart(kir::Val start, int64_t limit);
  Index Scaled(const Index& ix, int64_t factor);
  Index Sum(const Index& a, const Index& b);
  kir::Guard GuardOf(const Index& ix, int64_t low, int64_t high) const;
  void PushGuard(const Index& ix, int64_t low, int64_t high);
  /// Whether low <= ix < high nowhere where the guards hold: what is there is asked for by nobody.
  bool IsNeverIn(const Index& ix, int64_t low, int64_t high) const;

  const Program& program_;
  const std::unordered_set<NodeId>& members_;
  const MakerEnvironment& env_;
  kir::KernelBuilder& b_;
  SmallVector<kir::Guard, 1> guards_;
  std::unordered_map<Key, Known, KeyHasher> known_;      // by the dims themselves
  std::unordered_map<Key, Known, KeyHasher> elsewhere_;  // by same_as
  std::unordered_map<Ref, kir::Buf, RefHasher> buffer_of_;
  std::unordered_map<uint32_t, SmallVector<kir::Buf, 2>> reads_of_;  // By View::buffer.
  std::unordered_map<NodeId, Places> places_;
};

/// A combiner or comparator region of scalars as a graph: block arguments in order are the graph's, complex ones two.
Result<kir::Graph> GraphOfBlock(const Program& program, const Block& block);
/// Which of such a graph's results the node's `result` begins with.
size_t FirstPart(const GraphNode& node, uint32_t result);
/// Adds the value, converted to `type`, as GraphOfBlock has it.
template <class Values>
void AppendParts(kir::NodeBuilder& b, DType type, Scalar value, Values& values) {
  const DType part = PartType(type);
  values.push_back(b.Convert(part, value.re));
  if (IsComplex(type)) values.push_back(value.im == kir::kNone ? b.Const(part, 0) : b.Convert(part, value.im));
}

}  // namespace tenon::compiler
