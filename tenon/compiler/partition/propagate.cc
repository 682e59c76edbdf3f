#include "tenon/compiler/partition/propagate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/SymbolTable.h"
#include "tenon/compiler/partition/contents.h"
#include "tenon/compiler/partition/mesh.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

using Axes = llvm::SmallVector<sdy::AxisRefAttr, 2>;

// How a value lies: the axes that each of its dims is cut along, major to minor. Without a mesh, nothing is known.
struct Spread {
  mlir::Attribute mesh;
  llvm::SmallVector<Axes, 4> dims;
  llvm::SmallVector<sdy::AxisRefAttr, 1> replicated;  // Axes that no dim may use.
};
using Spreads = llvm::SmallVector<Spread, 2>;

// A dim of an operand.
struct Source {
  unsigned operand;
  int64_t dim;
};
// For each dim of a result, the dims that it is.
using Sources = llvm::SmallVector<llvm::SmallVector<Source, 2>, 4>;

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::dyn_cast<mlir::RankedTensorType>(v.getType()); }

class Forward {
 public:
  Forward(mlir::func::FuncOp main, int64_t num_devices, llvm::function_ref<bool(mlir::Operation*)> about)
      : main_(main), num_devices_(num_devices), about_(about) {}

  ResultShardingsOf Run() {
    Spreads arguments;
    for (unsigned i = 0; i < main_.getNumArguments(); ++i)
      arguments.push_back(Of(main_.getArgAttrOfType<sdy::TensorShardingAttr>(i, sdy::kShardingAttr)));
    Spreads spread = RunBlock(main_.front(), arguments);
    // Groups learn from any of their members, values from what reads them: once more, for those before it.
    if (!groups_.empty() || !wanted_.empty()) spread = RunBlock(main_.front(), arguments);
    std::vector<sdy::TensorShardingAttr> results;
    for (unsigned i = 0; i < main_.getNumResults(); ++i) {
      auto own = mlir::dyn_cast_or_null<sdy::TensorShardingAttr>(main_.getResultAttr(i, sdy::kShardingAttr));
      auto type = mlir::dyn_cast<mlir::RankedTensorType>(main_.getResultTypes()[i]);
      results.push_back(type ? ToAttribute(own, Constrained(own, spread[i], type)) : own);
    }
    ResultShardingsOf found{std::move(results), {}, {}, {}, {}};
    for (const auto& [value, known] : known_) {
      if (!known.mesh) continue;
      std::vector<std::vector<sdy::AxisRefAttr>> dims;
      for (const Axes& axes : known.dims) dims.emplace_back(axes.begin(), axes.end());
      found.placement.Set(value, std::move(dims));
    }
    for (mlir::Operation* op : inspected_) found.inspected.emplace_back(op, ToAttribute({}, Get(op->getOperand(0))));
    for (mlir::Operation* op : per_device_) found.per_device.emplace_back(op, ToAttributes(op->getOperands()));
    for (mlir::Operation* op : asked_)
      found.asked.push_back({op, ToAttributes(op->getOperands()), ToAttributes(op->getResults())});
    return found;
  }

 private:
  Spread Of(sdy::TensorShardingAttr sharding) const {
    Spread spread;
    if (!sharding) return spread;
    const sdy::MeshAttr mesh = MeshOf(sharding.getMeshOrRef());
    if (!mesh) return spread;
    int64_t devices = 1;
    for (sdy::MeshAxisAttr axis : mesh.getAxes()) devices *= axis.getSize();
    if (devices != num_devices_) return spread;
    spread.mesh = sharding.getMeshOrRef();
    for (sdy::DimensionShardingAttr dim : sharding.getDimShardings())
      spread.dims.emplace_back(dim.getAxes().begin(), dim.getAxes().end());
    spread.replicated.append(sharding.getReplicatedAxes().begin(), sharding.getReplicatedAxes().end());
    spread.replicated.append(sharding.getUnreducedAxes().begin(), sharding.getUnreducedAxes().end());
    return spread;
  }

  // `own` where it is closed, `flowing` where it is open.
  Spread Constrained(sdy::TensorShardingAttr own, const Spread& flowing, mlir::RankedTensorType type) const {
    if (!own) return Even(flowing, type);
    Spread spread = Of(own);
    if (!spread.mesh && flowing.dims.size() == own.getDimShardings().size()) {
      // Over no devices: only says which dims are not to be cut.
      spread = flowing;
      for (size_t d = 0; d < spread.dims.size(); ++d) {
        if (own.getDimShardings()[d].getIsClosed()) spread.dims[d].clear();
      }
      return Even(spread, type);
    }
    if (flowing.mesh != spread.mesh || flowing.dims.size() != spread.dims.size()) return spread;
    for (size_t d = 0; d < spread.dims.size(); ++d) {
      if (own.getDimShardings()[d].getIsClosed()) continue;
      // What flows in continues the list that is there, or says nothing of use.
      Axes& axes = spread.dims[d];
      const Axes& more = flowing.dims[d];
      if (more.size() < axes.size() || !std::equal(axes.begin(), axes.end(), more.begin())) continue;
      for (sdy::AxisRefAttr axis : llvm::ArrayRef(more).drop_front(axes.size())) {
        if (Uses(spread, axis)) break;
        axes.push_back(axis);
        if (Divides(spread.mesh, axes, type.getDimSize(static_cast<unsigned>(d)))) continue;
        axes.pop_back();
        break;
      }
    }
    return spread;
  }

  static sdy::TensorShardingAttr ToAttribute(sdy::TensorShardingAttr own, const Spread& spread) {
    if (!spread.mesh) return own;
    mlir::MLIRContext* context = spread.mesh.getContext();
    llvm::SmallVector<sdy::DimensionShardingAttr> dims;
    for (const Axes& axes : spread.dims)
      dims.push_back(sdy::DimensionShardingAttr::get(context, axes, /*isClosed=*/true, std::nullopt));
    return sdy::TensorShardingAttr::get(context, spread.mesh, dims, {},
                                        own ? own.getUnreducedAxes() : llvm::ArrayRef<sdy::AxisRefAttr>(),
                                        own ? own.getReductionOp() : sdy::ReductionOp::SUM);
  }

  std::vector<sdy::TensorShardingAttr> ToAttributes(mlir::ValueRange values) const {
    std::vector<sdy::TensorShardingAttr> attributes;
    for (const Spread& spread : Get(values)) attributes.push_back(ToAttribute({}, spread));
    return attributes;
  }

  sdy::MeshAttr MeshOf(mlir::Attribute mesh_or_ref) const { return FindMesh(mesh_or_ref, main_); }

  // 0 for an axis that the mesh lacks.
  int64_t SizeOf(mlir::Attribute mesh_or_ref, sdy::AxisRefAttr axis) const {
    if (sdy::SubAxisInfoAttr sub = axis.getSubAxisInfo()) return sub.getSize();
    const sdy::MeshAttr mesh = MeshOf(mesh_or_ref);
    if (!mesh) return 0;
    for (sdy::MeshAxisAttr a : mesh.getAxes()) {
      if (a.getName() == axis.getName()) return a.getSize();
    }
    return 0;
  }

  int64_t SizeOf(mlir::Attribute mesh, llvm::ArrayRef<sdy::AxisRefAttr> axes) const {
    int64_t size = 1;
    for (sdy::AxisRefAttr axis : axes) size *= SizeOf(mesh, axis);
    return size;
  }

  bool Divides(mlir::Attribute mesh, llvm::ArrayRef<sdy::AxisRefAttr> axes, int64_t dim) const {
    const int64_t size = SizeOf(mesh, axes);
    return size > 0 && dim > 0 && dim % size == 0;
  }

  static bool Uses(const Spread& spread, sdy::AxisRefAttr axis) {
    const auto same = [&](sdy::AxisRefAttr a) { return a.getName() == axis.getName(); };
    return llvm::any_of(spread.replicated, same) ||
           llvm::any_of(spread.dims, [&](const Axes& axes) { return llvm::any_of(axes, same); });
  }

  // The same, without axes that occur twice or do not divide their dim.
  Spread Even(const Spread& spread, mlir::RankedTensorType type) const {
    Spread even;
    if (!spread.mesh || !type || static_cast<int64_t>(spread.dims.size()) != type.getRank()) return even;
    even.mesh = spread.mesh;
    for (size_t d = 0; d < spread.dims.size(); ++d) {
      Axes axes;
      even.dims.emplace_back();
      for (sdy::AxisRefAttr axis : spread.dims[d]) {
        axes.push_back(axis);
        if (Uses(even, axis) || !Divides(even.mesh, axes, type.getDimSize(static_cast<unsigned>(d)))) break;
        even.dims.back().push_back(axis);
      }
    }
    return even;
  }

  Spread Get(mlir::Value v) const {
    auto it = known_.find(v);
    return it == known_.end() ? Spread() : it->second;
  }

  Spreads Get(mlir::ValueRange values) const {
    Spreads spreads;
    for (mlir::Value v : values) spreads.push_back(Get(v));
    return spreads;
  }

  // Values of functions that are called again get new spreads, none at all included.
  void Set(mlir::Value v, const Spread& spread) { known_[v] = Even(spread, TypeOf(v)); }

  Spreads RunBlock(mlir::Block& block, const Spreads& arguments) {
    for (unsigned i = 0; i < block.getNumArguments(); ++i)
      Set(block.getArgument(i), i < arguments.size() ? arguments[i] : Spread());
    for (mlir::Operation& op : block.without_terminator()) {
      if (auto member = mlir::dyn_cast<sdy::ShardingGroupOp>(op)) Share(member);
      if (InspectsSharding(&op) && !llvm::is_contained(inspected_, &op)) inspected_.push_back(&op);
      if (MadePerDevice(&op) && !llvm::is_contained(per_device_, &op)) per_device_.push_back(&op);
      if (about_ && about_(&op) && !llvm::is_contained(asked_, &op)) asked_.push_back(&op);
      Spreads results = Results(&op);
      results.resize(op.getNumResults());
      auto own = op.getAttrOfType<sdy::TensorShardingPerValueAttr>(sdy::kShardingAttr);
      for (unsigned i = 0; i < op.getNumResults(); ++i) {
        const mlir::Value result = op.getResult(i);
        const bool constrained = own && i < own.getShardings().size() && TypeOf(result);
        Set(result, constrained ? Constrained(own.getShardings()[i], results[i], TypeOf(result))
                                : AsWanted(result, Even(results[i], TypeOf(result))));
      }
    }
    return Get(block.getTerminator()->getOperands());
  }

  // Whether `longer` cuts each dim as `own` does, and perhaps further.
  static bool Continues(const Spread& longer, const Spread& own) {
    if (!own.mesh || own.mesh != longer.mesh || own.dims.size() != longer.dims.size()) return false;
    for (size_t d = 0; d < own.dims.size(); ++d) {
      const Axes &more = longer.dims[d], &axes = own.dims[d];
      if (more.size() < axes.size() || !std::equal(axes.begin(), axes.end(), more.begin())) return false;
    }
    return true;
  }

  // As the reader wants it, where nothing stands against it.
  Spread AsWanted(mlir::Value v, Spread flowing) const {
    const auto it = wanted_.find(v);
    if (it == wanted_.end()) return flowing;
    return !flowing.mesh || Continues(it->second, flowing) ? it->second : flowing;
  }

  void Want(mlir::Value v, sdy::TensorShardingAttr sharding) {
    const Spread spread = Even(Of(sharding), TypeOf(v));
    if (llvm::any_of(spread.dims, [](const Axes& axes) { return !axes.empty(); })) wanted_.try_emplace(v, spread);
  }

  // Members of a group lie alike: as the first one that knows, or one that continues what that knew.
  void Share(sdy::ShardingGroupOp member) {
    Spread& group = groups_[member.getGroupId()];
    const Spread own = Get(member.getInput());
    const auto is_cut = [](const Spread& s) { return llvm::any_of(s.dims, [](const Axes& a) { return !a.empty(); }); };
    if (is_cut(group) && !Continues(own, group))
      Set(member.getInput(), group);
    else
      group = own;
  }

  Spreads Called(mlir::Operation* op, mlir::FlatSymbolRefAttr name) {
    auto callee = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(op, name);
    // A function that calls itself is refused elsewhere.
    if (!callee || callee.empty() || calls_.size() >= kMaxCallDepth || llvm::is_contained(calls_, callee)) return {};
    calls_.push_back(callee);
    Spreads results = RunBlock(callee.front(), Get(op->getOperands()));
    calls_.pop_back();
    return results;
  }

  Spreads Results(mlir::Operation* op) {
    if (auto constraint = mlir::dyn_cast<sdy::ShardingConstraintOp>(op)) {
      Want(op->getOperand(0), constraint.getSharding());
      return {Constrained(constraint.getSharding(), Get(op->getOperand(0)), TypeOf(op->getResult(0)))};
    }
    if (auto reshard = mlir::dyn_cast<sdy::ReshardOp>(op)) return {Of(reshard.getSharding())};
    if (auto manual = mlir::dyn_cast<sdy::ManualComputationOp>(op)) return Manual(manual);
    if (auto barrier = mlir::dyn_cast<sdy::PropagationBarrierOp>(op)) {
      const bool passes = barrier.getAllowedDirection() == sdy::PropagationDirection::FORWARD ||
                          barrier.getAllowedDirection() == sdy::PropagationDirection::BOTH;
      return passes ? Get(op->getOperands()) : Spreads();
    }
    if (auto call = mlir::dyn_cast<mlir::func::CallOp>(op)) return Called(op, call.getCalleeAttr());
    if (auto composite = mlir::dyn_cast<stablehlo::CompositeOp>(op))
      return Called(op, composite.getDecompositionAttr());
    if (auto loop = mlir::dyn_cast<stablehlo::WhileOp>(op)) return While(loop);
    if (mlir::isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) return Branches(op);
    if (mlir::isa<stablehlo::OptimizationBarrierOp>(op)) return Get(op->getOperands());
    if (mlir::isa<stablehlo::ReshapeOp>(op)) return {Reshaped(op)};
    Spreads results;
    for (mlir::Value result : op->getResults()) results.push_back(Combine(op, result));
    return results;
  }

  // Results lie as they say; in dims that they leave open, other axes than the manual ones follow through the body.
  Spreads Manual(sdy::ManualComputationOp op) {
    const llvm::ArrayRef<mlir::StringAttr> manual = op.getManualAxes().getValue();
    for (const auto [operand, sharding] : llvm::zip(op.getTensors(), op.getInShardings().getShardings()))
      Want(operand, sharding);
    Spreads arguments = Get(op.getTensors());
    for (Spread& argument : arguments) {
      for (Axes& axes : argument.dims) {
        llvm::erase_if(axes, [&](sdy::AxisRefAttr axis) {
          return llvm::any_of(manual, [&](mlir::StringAttr m) { return m.getValue() == axis.getName(); });
        });
      }
    }
    const Spreads inside = RunBlock(op.getBody().front(), arguments);
    Spreads results;
    const auto shardings = op.getOutShardings().getShardings();
    for (size_t i = 0; i < shardings.size(); ++i) {
      Spread result = Of(shardings[i]);
      const mlir::RankedTensorType type = TypeOf(op->getResult(static_cast<unsigned>(i)));
      if (type && i < inside.size() && inside[i].mesh == result.mesh && inside[i].dims.size() == result.dims.size()) {
        Spread flowing = result;
        for (size_t d = 0; d < flowing.dims.size(); ++d) flowing.dims[d].append(inside[i].dims[d]);
        result = Constrained(shardings[i], flowing, type);
      }
      results.push_back(std::move(result));
    }
    return results;
  }

  // A loop's values lie as they come in; those that come in without a sharding, as the body leaves them.
  Spreads While(stablehlo::WhileOp loop) {
    Spreads carried = Get(loop->getOperands());
    const Spreads left = RunBlock(loop.getBody().front(), carried);
    for (size_t i = 0; i < carried.size() && i < left.size(); ++i) {
      if (!carried[i].mesh) carried[i] = left[i];
    }
    return carried;
  }

  // As the first branch that knows.
  Spreads Branches(mlir::Operation* op) {
    Spreads results(op->getNumResults());
    for (mlir::Region& region : op->getRegions()) {
      const Spreads branch = RunBlock(region.front(), {});
      for (size_t i = 0; i < results.size() && i < branch.size(); ++i) {
        if (!results[i].mesh) results[i] = branch[i];
      }
    }
    return results;
  }

  // Dims that become one hand on their axes as long as each is cut completely; a dim that becomes several gives its
  // axes to the first that they divide.
  Spread Reshaped(mlir::Operation* op) const {
    const Spread from = Get(op->getOperand(0));
    const mlir::RankedTensorType in = TypeOf(op->getOperand(0)), out = TypeOf(op->getResult(0));
    if (!from.mesh || !in || !out || !in.hasStaticShape() || !out.hasStaticShape() || in.getNumElements() == 0)
      return {};
    Spread to;
    to.mesh = from.mesh;
    to.dims.resize(static_cast<size_t>(out.getRank()));
    const auto in_rank = static_cast<size_t>(in.getRank()), out_rank = to.dims.size();
    size_t i = 0, o = 0;
    while (i < in_rank && o < out_rank) {
      // The smallest group of dims on both sides with as many elements.
      const size_t first_in = i, first_out = o;
      int64_t in_size = in.getShape()[i++], out_size = out.getShape()[o++];
      while (in_size != out_size)
        (in_size < out_size ? in_size *= in.getShape()[i++] : out_size *= out.getShape()[o++]);
      Axes axes;
      for (size_t d = first_in; d < i; ++d) {
        axes.append(from.dims[d].begin(), from.dims[d].end());
        if (SizeOf(from.mesh, from.dims[d]) != in.getShape()[d]) break;
      }
      size_t next = 0;
      for (size_t d = first_out; d < o && next < axes.size(); ++d) {
        while (next < axes.size()) {
          to.dims[d].push_back(axes[next]);
          if (!Divides(to.mesh, to.dims[d], out.getShape()[d])) {
            to.dims[d].pop_back();
            break;
          }
          ++next;
        }
        if (SizeOf(to.mesh, to.dims[d]) != out.getShape()[d]) break;
      }
    }
    return to;
  }

  Spread Combine(mlir::Operation* op, mlir::Value result) const {
    const mlir::RankedTensorType type = TypeOf(result);
    if (!type) return {};
    Sources sources(static_cast<size_t>(type.getRank()));
    Find(op, result, sources);
    Spread spread;
    spread.dims.resize(sources.size());
    for (size_t d = 0; d < sources.size(); ++d) {
      for (const Source& source : sources[d]) {
        const Spread from = Get(op->getOperand(source.operand));
        const auto dim = static_cast<size_t>(source.dim);
        if (!from.mesh || dim >= from.dims.size()) continue;
        if (!spread.mesh) spread.mesh = from.mesh;
        if (from.mesh == spread.mesh && from.dims[dim].size() > spread.dims[d].size()) spread.dims[d] = from.dims[dim];
      }
    }
    return spread;
  }

  // Same dims, same positions.
  static void Pointwise(mlir::Operation* op, mlir::RankedTensorType type, Sources& sources) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      const mlir::RankedTensorType operand = TypeOf(op->getOperand(i));
      if (!operand || operand.getRank() != type.getRank()) continue;
      for (unsigned d = 0; d < sources.size(); ++d) {
        if (operand.getDimSize(d) == type.getDimSize(d)) sources[d].push_back({i, static_cast<int64_t>(d)});
      }
    }
  }

  static void Find(mlir::Operation* op, mlir::Value result, Sources& sources) {
    const mlir::RankedTensorType type = TypeOf(result);
    const auto rank = static_cast<int64_t>(sources.size());
    const auto add = [&](int64_t to, unsigned operand, int64_t from) {
      if (to >= 0 && to < rank &&
          TypeOf(op->getOperand(operand)).getDimSize(static_cast<unsigned>(from)) ==
              type.getDimSize(static_cast<unsigned>(to))) {
        sources[static_cast<size_t>(to)].push_back({operand, from});
      }
    };
    const auto drop_from = [&](int64_t first) {
      for (int64_t d = std::max<int64_t>(first, 0); d < rank; ++d) sources[static_cast<size_t>(d)].clear();
    };
    if (auto rule = op->getAttrOfType<sdy::OpShardingRuleAttr>(sdy::kShardingRuleAttr)) {
      ByRule(rule, mlir::cast<mlir::OpResult>(result).getResultNumber(), sources);
    } else if (auto call = mlir::dyn_cast<stablehlo::CustomCallOp>(op)) {
      const llvm::StringRef target = call.getCallTargetName();
      if (target == "Sharding" || target == "LayoutConstraint" || target == "annotate_device_placement")
        Pointwise(op, type, sources);
    } else if (auto broadcast = mlir::dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
      for (const auto [from, to] : llvm::enumerate(broadcast.getBroadcastDimensions()))
        add(to, 0, static_cast<int64_t>(from));
    } else if (auto transpose = mlir::dyn_cast<stablehlo::TransposeOp>(op)) {
      for (const auto [to, from] : llvm::enumerate(transpose.getPermutation())) add(static_cast<int64_t>(to), 0, from);
    } else if (auto reduce = mlir::dyn_cast<stablehlo::ReduceOp>(op)) {
      for (unsigned i = 0; i < op->getNumOperands() / 2; ++i) {
        int64_t to = 0;
        for (int64_t from = 0; from < TypeOf(op->getOperand(i)).getRank(); ++from) {
          if (!llvm::is_contained(reduce.getDimensions(), from)) add(to++, i, from);
        }
      }
    } else if (auto dot = mlir::dyn_cast<stablehlo::DotGeneralOp>(op)) {
      Product(op, dot.getDotDimensionNumbers(), add);
    } else if (auto conv = mlir::dyn_cast<stablehlo::ConvolutionOp>(op)) {
      const stablehlo::ConvDimensionNumbersAttr dims = conv.getDimensionNumbers();
      add(dims.getOutputBatchDimension(), 0, dims.getInputBatchDimension());
      add(dims.getOutputFeatureDimension(), 1, dims.getKernelOutputFeatureDimension());
    } else if (auto gather = mlir::dyn_cast<stablehlo::GatherOp>(op)) {
      Gather(op, gather.getDimensionNumbers(), rank, add);
    } else if (auto scatter = mlir::dyn_cast<stablehlo::ScatterOp>(op)) {
      const unsigned input = mlir::cast<mlir::OpResult>(result).getResultNumber();
      for (int64_t d = 0; d < rank; ++d) add(d, input, d);
    } else if (auto sort = mlir::dyn_cast<stablehlo::SortOp>(op)) {
      Pointwise(op, type, sources);
      const int64_t dim = sort.getDimension() < 0 ? sort.getDimension() + rank : sort.getDimension();
      if (dim >= 0 && dim < rank) sources[static_cast<size_t>(dim)].clear();
    } else if (auto concatenate = mlir::dyn_cast<stablehlo::ConcatenateOp>(op)) {
      Pointwise(op, type, sources);
      if (op->getNumOperands() > 1) sources[static_cast<size_t>(concatenate.getDimension())].clear();
    } else if (auto fft = mlir::dyn_cast<stablehlo::FftOp>(op)) {
      Pointwise(op, type, sources);
      drop_from(rank - static_cast<int64_t>(fft.getFftLength().size()));
    } else if (mlir::isa<stablehlo::CholeskyOp, stablehlo::TriangularSolveOp>(op)) {
      Pointwise(op, type, sources);
      drop_from(rank - 2);
    } else if (op->getName().getStringRef() == "chlo.top_k") {
      for (int64_t d = 0; d < rank - 1; ++d) add(d, 0, d);
    } else {
      Pointwise(op, type, sources);
    }
  }

  static void ByRule(sdy::OpShardingRuleAttr rule, unsigned result, Sources& sources) {
    if (result >= rule.getResultMappings().size()) return;
    const auto results = rule.getResultMappings()[result].getDimMappings();
    for (size_t to = 0; to < sources.size() && to < results.size(); ++to) {
      if (results[to].getFactorIndices().empty()) continue;
      const int64_t factor = results[to].getFactorIndices()[0];
      if (factor < 0 || llvm::is_contained(rule.getNeedReplicationFactors(), factor) ||
          llvm::is_contained(rule.getBlockedPropagationFactors(), factor)) {
        continue;
      }
      for (const auto [operand, mapping] : llvm::enumerate(rule.getOperandMappings())) {
        for (const auto [from, dim] : llvm::enumerate(mapping.getDimMappings())) {
          if (!dim.getFactorIndices().empty() && dim.getFactorIndices()[0] == factor)
            sources[to].push_back({static_cast<unsigned>(operand), static_cast<int64_t>(from)});
        }
      }
    }
  }

  template <class Add>
  static void Product(mlir::Operation* op, stablehlo::DotDimensionNumbersAttr dims, const Add& add) {
    int64_t to = 0;
    for (size_t b = 0; b < dims.getLhsBatchingDimensions().size(); ++b, ++to) {
      add(to, 0, dims.getLhsBatchingDimensions()[b]);
      add(to, 1, dims.getRhsBatchingDimensions()[b]);
    }
    const auto free = [&](unsigned operand, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> contracted) {
      for (int64_t d = 0; d < TypeOf(op->getOperand(operand)).getRank(); ++d) {
        if (!llvm::is_contained(batch, d) && !llvm::is_contained(contracted, d)) add(to++, operand, d);
      }
    };
    free(0, dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions());
    free(1, dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions());
  }

  // Windows that span their operand's dim keep it; the others are dims of the indices.
  template <class Add>
  static void Gather(mlir::Operation* op, stablehlo::GatherDimensionNumbersAttr dims, int64_t rank, const Add& add) {
    size_t offset = 0;
    for (int64_t d = 0; d < TypeOf(op->getOperand(0)).getRank(); ++d) {
      if (llvm::is_contained(dims.getCollapsedSliceDims(), d) || llvm::is_contained(dims.getOperandBatchingDims(), d))
        continue;
      if (offset < dims.getOffsetDims().size()) add(dims.getOffsetDims()[offset++], 0, d);
    }
    int64_t from = 0;
    const int64_t index_rank = TypeOf(op->getOperand(1)).getRank();
    for (int64_t to = 0; to < rank; ++to) {
      if (llvm::is_contained(dims.getOffsetDims(), to)) continue;
      if (from == dims.getIndexVectorDim()) ++from;
      if (from < index_rank) add(to, 1, from);
      for (size_t b = 0; b < dims.getStartIndicesBatchingDims().size(); ++b) {
        if (dims.getStartIndicesBatchingDims()[b] == from) add(to, 0, dims.getOperandBatchingDims()[b]);
      }
      ++from;
    }
  }

  mlir::func::FuncOp main_;
  int64_t num_devices_;
  llvm::function_ref<bool(mlir::Operation*)> about_;
  llvm::DenseMap<mlir::Value, Spread> known_;
  std::map<uint64_t, Spread> groups_;
  llvm::DenseMap<mlir::Value, Spread> wanted_;  ///< By those who read the values.
  llvm::SmallVector<mlir::Operation*> inspected_, per_device_, asked_;
  std::vector<mlir::func::FuncOp> calls_;  ///< Those that are being gone through, the outermost first.
};

}  // namespace

ResultShardingsOf ResultShardings(mlir::func::FuncOp main, int64_t num_devices,
                                  llvm::function_ref<bool(mlir::Operation*)> about) {
  return Forward(main, num_devices, about).Run();
}

bool InspectsSharding(mlir::Operation* op) {
  auto call = mlir::dyn_cast<stablehlo::CustomCallOp>(op);
  return call && call.getCallTargetName() == "InspectSharding" && call->getNumOperands() == 1;
}

bool MadePerDevice(mlir::Operation* op) {
  auto call = mlir::dyn_cast<stablehlo::CustomCallOp>(op);
  if (!call || op->getParentOfType<sdy::ManualComputationOp>()) return false;
  // jax.debug.callback(..., partitioned=True); the ending is the platform that it was lowered for.
  if (!call.getCallTargetName().starts_with("xla_ffi_partitioned_python_")) return false;
  return op->getNumResults() == 0 && llvm::all_of(op->getOperands(), TypeOf);
}

}  // namespace tenon::compiler
