#pragma once

// What the sources behind Fuse share.

#include <complex>
#include <optional>
#include <span>
#include <unordered_set>

#include "tenon/compiler/fuse/alike.h"
#include "tenon/compiler/fuse/cluster.h"
#include "tenon/compiler/fuse/fuse.h"
#include "tenon/compiler/fuse/layouts.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/tile_finish.h"

namespace tenon::compiler {

class Finishes;

/// One run of Fuse: deals the program out to kernels and drivers and writes their steps.
class Fuser {
 public:
  Fuser(const Program& program, const FuseOptions& options, const OpExporter& exporter)
      : p_(program),
        options_(options),
        exporter_(exporter),
        captures_(program),
        used_(UsedResults(program)),
        layouts_(program, captures_),
        alike_(program) {
    checks_.on = options.verify;
  }
  Result<FusedProgram> Run();

 private:
  // Memory.
  uint32_t AddBuffer(plan::SlotKind kind, uint32_t index, int64_t bytes);
  View NewTemp(const Shape& shape);
  View NewTempWithLayout(const Shape& shape, const Dims& minor_to_major);
  plan::SlotId Slot(const View& view);
  /// The buffer of a constant; equal bytes of one type share one.
  uint32_t ConstantBuffer(const Literal& literal, DType type);
  void Bind(Ref r, const View& view);
  /// Forgets what was bound since bound_ had so many entries; what was known before is known again.
  void Unbind(size_t count);
  /// The memory of a value: stored, a constant, or a view of one. Reshapes of strided views copy first, into `out`.
  Result<View> ViewOf(Ref r, plan::Seq& out);
  /// The same, made dense when it is not.
  Result<View> DenseViewOf(Ref r, plan::Seq& out);
  /// The same, made dense when it runs backwards: a kernel's index counts from its buffer's first byte.
  Result<View> KernelViewOf(Ref r, plan::Seq& out);
  void Copy(const View& from, const View& to, plan::Seq& out);
  /// Zeros: for kernels of which it does not show that they write every element.
  void Clear(const View& to, plan::Seq& out);
  std::optional<View> DeriveView(const GraphNode& node, const View& from);

  // Steps.
  Status EmitBlock(const Block& block, plan::Seq& out);
  /// Says of the steps from `first` on, those that say nothing yet, that they are there for `nodes`.
  void NoteOrigins(std::span<const NodeId> nodes, size_t first, plan::Seq& out);
  /// Steps of units in their order. A cluster that cannot be one kernel is dealt out anew in its place.
  Status EmitUnits(Clustering dealt, Finishes& finishes, plan::Seq& out);
  /// What a kernel reads while it is being made: how each value lies, and the steps that make it lie so.
  struct Reads {
    std::unordered_map<Ref, View, RefHasher> views;
    plan::Seq before;
    Status failed;
  };
  /// The view of `r`, dense memory where it will be `stored_later`. Stays where it is.
  const View& ReadView(Ref r, bool stored_later, Reads& reads);
  /// The cluster's kernel, and steps that make its operands as kernels want them; or nothing, and `blocked` names what
  /// has to be stored so that more of it can be made or, unless it is `settled`, what is better stored.
  Result<std::optional<MadeKernel>> MakeCluster(const Cluster& cluster, bool settled,
                                                std::unordered_set<NodeId>& blocked, plan::Seq& out);
  /// The same of one of which no other is known that looks alike; the steps go to `reads`.
  Result<std::optional<MadeKernel>> MakeCluster(const Cluster& cluster, bool settled,
                                                std::unordered_set<NodeId>& blocked, Reads& reads);
  /// Whether what the array is updated with is made of other places of it than those that it takes.
  bool ReadsElsewhere(const std::unordered_set<NodeId>& block, const GraphNode& update) const;
  /// The same as became of one that looks alike, if there was one whose operands lie so.
  bool MakeAlike(const Cluster& cluster, const ClusterSetting& setting, std::optional<MadeKernel>& made,
                 std::unordered_set<NodeId>& blocked);
  ClusterSetting SettingOf(const Cluster& cluster, bool settled) const;
  Clustering DealAnew(const Cluster& cluster, const std::unordered_set<NodeId>& blocked,
                      std::unordered_set<NodeId>& forced);
  Status EmitCluster(const Cluster& cluster, const MadeKernel& made, plan::Seq& out);
  Status EmitNode(NodeId id, plan::Seq& out);
  Status EmitConcatenate(NodeId id, plan::Seq& out);
  /// False when no driver takes the node on, for the reason that `why` then gives; nothing was emitted.
  /// With `finish`, an unfinished kernel over the result, that kernel becomes the driver's hook where it can and pays;
  /// `finished` says whether it did.
  Result<bool> EmitDriver(NodeId id, plan::Seq& out, Status& why, const MadeKernel* finish = nullptr,
                          bool* finished = nullptr);
  /// Makes the kernel a hook of the step, whose result is `result`, and binds what it stores; false where it is none.
  Result<bool> AddHook(NodeId id, const MadeKernel& kernel, const drivers::Facts& facts, const View& result,
                       plan::DriverStep& step, plan::Seq& out);
  /// A product and the one kernel that uses it: the driver with the kernel as its hook, or one after the other. False
  /// when the kernel cannot be made so, or, unless it is `settled`, would better be dealt out anew; nothing was
  /// emitted.
  Result<bool> EmitFinished(NodeId product, const Cluster& cluster, bool settled, plan::Seq& out);
  /// The node as a kernel where no driver of the target's own takes it; false where there is none.
  /// `finish`, `finished`: as EmitDriver, of a kernel that is done inside the node's own.
  Result<bool> EmitOwnKernel(NodeId id, const MadeKernel* finish, bool* finished, plan::Seq& out);
  Result<bool> EmitProduct(NodeId id, const MadeKernel* finish, bool* finished, plan::Seq& out);
  Result<bool> EmitConvolution(NodeId id, const MadeKernel* finish, bool* finished, plan::Seq& out);
  std::optional<Tile> UnitTile(const View& x, const View& y, DType sum, int64_t rows, int64_t columns,
                               int64_t terms) const;
  std::optional<TileFinish> FinishOf(NodeId id, const MadeKernel* finish, int64_t own, int64_t terms) const;
  /// `views`: of the operands. `cleared`: not all of what is stored surely is.
  Status AddProductKernel(NodeId id, kir::Kernel kernel, std::vector<View> views, const TileFinish* finish,
                          bool cleared, plan::Seq& out);
  Result<bool> EmitSort(NodeId id, plan::Seq& out);
  Result<bool> EmitFourier(NodeId id, plan::Seq& out);
  Result<View> EmitTransform(const View& from, size_t along, bool inverse, bool real, plan::Seq& out);
  Result<View> EmitChirped(const View& from, size_t along, bool inverse, bool real, plan::Seq& out);
  View EmitTimesTable(const View& from, size_t along, const View& table, int64_t length, double scale, bool real,
                      plan::Seq& out);
  void AddPass(kir::KernelBuilder& b, kir::Stage stage, const std::vector<View>& views, plan::Seq& out);
  View ComplexTable(const std::vector<std::complex<double>>& numbers, DType type);
  View EmitSpectrum(const View& from, const Shape& shape, plan::Seq& out);
  Result<bool> EmitScan(NodeId id, plan::Seq& out);
  Result<bool> EmitScatter(NodeId id, plan::Seq& out);
  Status EmitWhile(NodeId id, plan::Seq& out);
  /// What of the body of a loop that needs no condition anything asks for, and which carries: those that only count are
  /// not `needed`.
  Block NeededOf(NodeId loop, std::vector<bool>& needed) const;
  /// Matrices from outside that the loop multiplies with vectors lie as is best for that while it is emitted: by
  /// columns where rows are in lanes, as drivers want them where these take the product. `trips`: less than 0 for
  /// unknown.
  Status TurnMatrices(const Block& body, int64_t trips, plan::Seq& out);
  /// The layout that a driver wants of operand i of the product, from outside of a loop of many trips; nothing where it
  /// suits as it lies.
  Result<std::optional<Dims>> LastingLayout(const GraphNode& product, size_t i, plan::Seq& out);
  Status EmitCase(NodeId id, plan::Seq& out);
  Status EmitCustomCall(NodeId id, plan::Seq& out);
  /// Describes the custom calls of the block, and of those inside, and notes how they want their operands to lie.
  void DescribeCalls(const Block& block);
  Status EmitEvaluate(NodeId id, plan::Seq& out);
  /// A loop as a kernel, and what has to be done before it. Reads of the body's arguments are those of what is carried.
  struct NativeLoop {
    MadeKernel made;
    std::vector<bool> stacked;  ///< Results that are written place by place into what is carried.
    plan::Seq before;
  };
  Result<bool> EmitNativeLoop(NodeId id, plan::Seq& out);
  /// How many trips a kernel may run of a loop that a device would kill if it took long; 0 where it may run all.
  int64_t ChunkOf(NodeId id) const;
  /// `chunk` > 0: at most so many trips, from what is carried to what is carried next.
  Result<std::optional<NativeLoop>> MakeNativeLoop(NodeId id, int64_t chunk);
  /// The body of the step, whose trips run chunks; `carried`: by carry.
  Status EmitChunk(NativeLoop loop, const std::vector<View>& carried, plan::WhileStep& step);
  /// The number of the kernel among the distinct ones.
  uint32_t KernelIndex(kir::Kernel kernel);
  void AddKernelStep(MadeKernel made, const std::vector<View>& views, plan::Seq& out);
  /// The same of a kernel that is not finished, and whose results have memory of their own; `work`: when it is another
  /// one than the kernel's operations tell.
  void AddOwnKernel(MadeKernel made, const std::vector<View>& views, plan::Seq& out,
                    std::optional<target::Work> work = std::nullopt);

  const Program& p_;
  const FuseOptions& options_;
  const OpExporter& exporter_;
  const Captures captures_;
  const std::unordered_set<Ref, RefHasher> used_;  // Of nodes with several results.
  WantedLayouts layouts_;
  std::unordered_map<NodeId, OpExporter::Call> calls_;  // Custom calls that the exporter could describe.
  KernelChecks checks_;
  AlikeClusters alike_;
  FusedProgram f_;
  double step_ops_ = policy::kLaunchOps;  ///< What a step of the block at hand costs.
  bool in_loop_ = false;                  ///< The block at hand is run in each trip of a loop.
  std::unordered_map<Ref, View, RefHasher> storage_;
  std::vector<std::pair<Ref, std::optional<View>>>
      bound_;  // In order, with what was bound before, so that leaving a block forgets what it bound.
  // By content hash, then compared: kernels, and buffers of constants of each type, which native loops take for
  // granted.
  std::unordered_map<Hash128, std::vector<uint32_t>, Hash128Hasher> kernel_of_;
  std::unordered_map<Hash128, std::vector<std::pair<DType, uint32_t>>, Hash128Hasher> constant_of_;
  std::unordered_map<const mlir::Operation*, uint32_t> origin_of_;  // Indices of FusedProgram::origins.
};

}  // namespace tenon::compiler
