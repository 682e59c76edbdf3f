#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "tenon/kir/internal/analysis.h"
#include "tenon/kir/internal/verify_nodes.h"
#include "tenon/kir/kir.h"

namespace tenon::kir {
namespace {

using internal::Analysis;
using internal::MaskOf;
using internal::OuterDims;

constexpr int kMaxLoopDepth = 16;  // structural: the recursion must fit a stack

template <class... Args>
Status Bad(fmt::format_string<Args...> format, Args&&... args) {
  return InvalidArgument(fmt::format(format, std::forward<Args>(args)...));
}

std::string DimList(DimMask mask) {
  std::string list;
  for (int d = 0; d < 32; ++d) {  // structural: bits of a DimMask
    if (mask >> d & 1) list += fmt::format("{}d{}", list.empty() ? "" : ", ", d);
  }
  return list.empty() ? "none" : list;
}

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : k_(kernel) {}

  Status Run() {
    TENON_RETURN_IF_ERROR(Dims());
    TENON_RETURN_IF_ERROR(Buffers());
    for (size_t i = 0; i < k_.graphs.size(); ++i) {
      Status s = internal::VerifyGraph(k_.graphs[i]);
      if (!s.ok()) return s.WithContext(fmt::format("graph g{}", i));
    }
    TENON_RETURN_IF_ERROR(Ids(k_.seq, 0));
    TENON_RETURN_IF_ERROR(Nodes());
    const Analysis analysis(k_);
    analysis_ = &analysis;
    TENON_RETURN_IF_ERROR(Steps(k_.seq));
    return SplitIsLegal();
  }

 private:
  // Structure: everything that indexes is in range.
  // -------------------------------------------------------------------------------

  Status CheckSize(const Size& s, std::string_view what, int64_t least) const {
    if (s.is_param()) {
      if (s.param >= k_.num_params)
        return Bad("{}: parameter p{} does not exist, there are {}", what, s.param, k_.num_params);
      if (s.baked != 0) return Bad("{}: a parameter has no baked value, got {}", what, s.baked);
    } else if (s.param != -1) {
      return Bad("{}: parameter slot {} is negative", what, s.param);
    } else if (s.baked < least) {
      return Bad("{} is {}, wanted at least {}", what, s.baked, least);
    }
    return OkStatus();
  }

  Status Dims() const {
    // structural: bits of a DimMask
    if (k_.dims.size() > 32) return Bad("a kernel has at most 32 dims, got {}", k_.dims.size());
    if (k_.outer > k_.dims.size()) return Bad("{} outer dims, but there are only {} dims", k_.outer, k_.dims.size());
    for (size_t d = 0; d < k_.dims.size(); ++d) {
      TENON_RETURN_IF_ERROR(CheckSize(k_.dims[d].extent, fmt::format("extent of d{}", d), 0));
      if (k_.dims[d].kind > DimKind::kSerial)
        return Bad("d{}: kind {} does not exist", d, static_cast<int>(k_.dims[d].kind));
      if (d < k_.outer && k_.dims[d].kind == DimKind::kReduce)
        return Bad("d{} is an outer dim and cannot be reduced", d);
    }
    return OkStatus();
  }

  Status Buffers() const {
    if (std::count_if(k_.buffers.begin(), k_.buffers.end(),
                      [](const Buffer& b) { return b.kind == BufKind::kSignal; }) > 1)
      return Bad("a kernel has at most one signal");
    if (k_.buffers.size() >= kNoBuf)
      return Bad("a kernel has fewer than {} buffers, got {}", kNoBuf, k_.buffers.size());
    for (size_t i = 0; i < k_.buffers.size(); ++i) {
      const Buffer& b = k_.buffers[i];
      if (b.kind > BufKind::kSignal) return Bad("b{}: kind {} does not exist", i, static_cast<int>(b.kind));
      if (ByteWidth(b.type) == 0) return Bad("b{}: type {} has no elements", i, DTypeName(b.type));
      if (b.extent.size() != b.stride.size())
        return Bad("b{}: {} extents but {} strides", i, b.extent.size(), b.stride.size());
      for (size_t a = 0; a < b.extent.size(); ++a) {
        TENON_RETURN_IF_ERROR(CheckSize(b.extent[a], fmt::format("b{}: extent {}", i, a), 0));
        TENON_RETURN_IF_ERROR(
            CheckSize(b.stride[a], fmt::format("b{}: stride {}", i, a), b.kind == BufKind::kLocal ? 0 : INT64_MIN));
      }
      if (b.kind == BufKind::kSignal &&
          !(b.type == DType::kPred && b.extent.size() == 1 && b.extent[0] == Size::Of(1))) {
        return Bad("b{}: a signal is pred [1]", i);
      }
      if (b.in_place_of == kNoBuf) continue;
      if (b.kind != BufKind::kOut) return Bad("b{}: only an out buffer can share memory", i);
      if (b.in_place_of >= k_.buffers.size() || k_.buffers[b.in_place_of].kind != BufKind::kArg) {
        return Bad("b{}: b{} is not an argument that it could share memory with", i, b.in_place_of);
      }
    }
    return OkStatus();
  }

  Status Ids(const Seq& seq, int depth) {
    if (depth > kMaxLoopDepth) return Bad("loops are nested more than {} deep", kMaxLoopDepth);
    for (const Step& step : seq) {
      if (const auto* stage = std::get_if<Stage>(&step.is)) {
        TENON_RETURN_IF_ERROR(StageDims(*stage));
        for (const Reduce& r : stage->reduces) {
          TENON_RETURN_IF_ERROR(ReduceShape(r));
          if (!definitions_.emplace(r.id, internal::Definition{stage, &r, nullptr}).second)
            return Bad("id #{} is used twice", r.id);
        }
      } else {
        const Loop& loop = std::get<Loop>(step.is);
        TENON_RETURN_IF_ERROR(LoopShape(loop));
        if (!definitions_.emplace(loop.id, internal::Definition{nullptr, nullptr, &loop}).second)
          return Bad("id #{} is used twice", loop.id);
        TENON_RETURN_IF_ERROR(Ids(loop.body, depth + 1));
      }
    }
    return OkStatus();
  }

  Status StageDims(const Stage& stage) const {
    DimMask seen = OuterDims(k_);
    for (DimId d : stage.dims) {
      if (d >= k_.dims.size()) return Bad("stage: d{} does not exist, there are {} dims", d, k_.dims.size());
      if (seen >> d & 1) return Bad("stage: d{} is an outer dim or stands twice", d);
      seen |= DimMask{1} << d;
    }
    return OkStatus();
  }

  Status CheckVals(const std::vector<Val>& values, std::string_view what) const {
    for (Val v : values) {
      if (v >= k_.nodes.size()) return Bad("{}: node %{} does not exist, there are {}", what, v, k_.nodes.size());
    }
    return OkStatus();
  }
  Status CheckVals(const SmallVector<Val, 2>& values, std::string_view what) const {
    return CheckVals(std::vector<Val>(values.begin(), values.end()), what);
  }

  Status ReduceShape(const Reduce& r) const {
    const std::string what = fmt::format("reduce #{}", r.id);
    TENON_RETURN_IF_ERROR(CheckVals(r.in, what));
    TENON_RETURN_IF_ERROR(CheckVals(r.init, what));
    TENON_RETURN_IF_ERROR(CheckVals(r.identity, what));
    // structural: results are numbered in a byte, with a bit to spare
    if (r.in.empty() || r.in.size() > 128) return Bad("{}: reduces 1 to 128 values, got {}", what, r.in.size());
    if (r.init.size() != r.in.size()) return Bad("{}: {} values but {} inits", what, r.in.size(), r.init.size());
    if (r.order > ReduceOrder::kMatrix) return Bad("{}: order {} does not exist", what, static_cast<int>(r.order));
    const bool lanes = r.order == ReduceOrder::kLanes;
    if (!(r.identity.empty() && !lanes) && r.identity.size() != r.in.size()) {
      return Bad("{}: {} values but {} identities", what, r.in.size(), r.identity.size());
    }
    if (r.combiner >= k_.graphs.size()) return Bad("{}: graph g{} does not exist", what, r.combiner);
    if (r.order == ReduceOrder::kMatrix && r.in.size() != 2)
      return Bad("{}: a matrix reduce has 2 factors, got {}", what, r.in.size());
    return OkStatus();
  }

  Status LoopShape(const Loop& loop) const {
    const std::string what = fmt::format("loop #{}", loop.id);
    // structural: carries are numbered in a byte
    if (loop.types.size() > 255) return Bad("{}: a loop carries at most 255 values, got {}", what, loop.types.size());
    if (loop.init.size() != loop.types.size() || loop.next.size() != loop.types.size()) {
      return Bad("{}: {} types, {} inits and {} nexts", what, loop.types.size(), loop.init.size(), loop.next.size());
    }
    TENON_RETURN_IF_ERROR(CheckVals(loop.init, what));
    TENON_RETURN_IF_ERROR(CheckVals(loop.next, what));
    if (loop.condition != kNone) TENON_RETURN_IF_ERROR(CheckVals(std::vector<Val>{loop.condition}, what));
    return CheckSize(loop.trip_count, what + ": trip count", 0);
  }

  Status Nodes() const {
    for (size_t v = 0; v < k_.nodes.size(); ++v) {
      const Node& node = k_.nodes[v];
      TENON_RETURN_IF_ERROR(internal::VerifyNode(k_.nodes, v, k_.literals));
      Status s;
      switch (node.op) {
        case Op::kIndex:
          if (node.attr >= k_.dims.size()) s = Bad("d{} does not exist, there are {} dims", node.attr, k_.dims.size());
          break;
        case Op::kParam:
          if (node.attr >= k_.num_params)
            s = Bad("parameter p{} does not exist, there are {}", node.attr, k_.num_params);
          break;
        case Op::kRead:
          s = ReadNode(v, node);
          break;
        case Op::kReduced:
          s = ReducedNode(v, node);
          break;
        case Op::kCarried:
          s = CarriedNode(v, node);
          break;
        case Op::kArgument:
          s = Bad("occurs in graphs only");
          break;
        default:
          break;
      }
      if (!s.ok()) return s.WithContext(fmt::format("node %{} ({})", v, OpName(node.op)));
    }
    for (size_t i = 0; i < k_.reads.size(); ++i) {
      const Status s = Access(k_.reads[i].buf, k_.reads[i].at, k_.reads[i].guard, k_.nodes.size());
      if (!s.ok()) return s.WithContext(fmt::format("read r{}", i));
      if (k_.reads[i].otherwise != kNone && k_.reads[i].otherwise >= k_.nodes.size())
        return Bad("read r{}: %{} does not exist", i, k_.reads[i].otherwise);
    }
    return OkStatus();
  }

  // An access by node `v`, whose starts come before it.
  Status Access(Buf buf, const SmallVector<Axis, 4>& at, const SmallVector<Guard, 1>& guard, size_t v) const {
    if (buf >= k_.buffers.size()) return Bad("b{} does not exist, there are {} buffers", buf, k_.buffers.size());
    if (at.size() != k_.buffers[buf].extent.size())
      return Bad("b{} has {} axes, got {}", buf, k_.buffers[buf].extent.size(), at.size());
    for (const Axis& a : at) TENON_RETURN_IF_ERROR(CheckAxis(a, v));
    for (const Guard& g : guard) {
      TENON_RETURN_IF_ERROR(CheckAxis(g.e, v));
      TENON_RETURN_IF_ERROR(CheckSize(g.lo, "guard: low end", INT64_MIN));
      TENON_RETURN_IF_ERROR(CheckSize(g.hi, "guard: high end", INT64_MIN));
      if (g.mod < 1) return Bad("guard: modulus {} is not positive", g.mod);
    }
    return OkStatus();
  }

  Status CheckAxis(const Axis& a, size_t v) const {
    for (const Term& t : a.terms) {
      if (t.dim >= k_.dims.size()) return Bad("d{} does not exist, there are {} dims", t.dim, k_.dims.size());
      TENON_RETURN_IF_ERROR(CheckSize(t.coef, fmt::format("coefficient of d{}", t.dim), INT64_MIN));
    }
    TENON_RETURN_IF_ERROR(CheckSize(a.offset, "offset", INT64_MIN));
    if (a.start == kNone) return OkStatus();
    if (a.start >= v) return Bad("start %{} does not come before it", a.start);
    if (!IsInteger(k_.nodes[a.start].type))
      return Bad("start %{} is {}, wanted an integer", a.start, DTypeName(k_.nodes[a.start].type));
    return OkStatus();
  }

  Status ReadNode(size_t v, const Node& node) const {
    if (node.attr >= k_.reads.size()) return Bad("read r{} does not exist, there are {}", node.attr, k_.reads.size());
    const Read& r = k_.reads[node.attr];
    TENON_RETURN_IF_ERROR(Access(r.buf, r.at, r.guard, v).WithContext(fmt::format("read r{}", node.attr)));
    const DType of_buffer = k_.buffers[r.buf].type;
    const DType wanted = IsComplex(of_buffer) ? RealPartOf(of_buffer) : of_buffer;
    if (node.type != wanted) return Bad("reads {} from b{}, not {}", DTypeName(wanted), r.buf, DTypeName(node.type));
    if (node.imm > (IsComplex(of_buffer) ? 1 : 0)) return Bad("{} has no component {}", DTypeName(of_buffer), node.imm);
    if (r.guard.empty())
      return r.otherwise == kNone ? OkStatus() : Bad("read r{} has an otherwise but no guard", node.attr);
    if (r.otherwise == kNone) return Bad("read r{} has a guard but no otherwise", node.attr);
    if (r.otherwise >= v) return Bad("otherwise %{} does not come before it", r.otherwise);
    if (k_.nodes[r.otherwise].type != node.type) {
      return Bad("otherwise %{} is {}, wanted {}", r.otherwise, DTypeName(k_.nodes[r.otherwise].type),
                 DTypeName(node.type));
    }
    return OkStatus();
  }

  Status ReducedNode(size_t v, const Node& node) const {
    const auto found = definitions_.find(node.attr);
    if (found == definitions_.end() || found->second.reduce == nullptr) return Bad("#{} is no reduce", node.attr);
    const Reduce& r = *found->second.reduce;
    if (node.imm >= r.in.size()) return Bad("reduce #{} has {} results, got {}", r.id, r.in.size(), node.imm);
    for (const auto* list : {&r.in, &r.init, &r.identity}) {
      for (Val in : *list) {
        if (in >= v) return Bad("%{} of reduce #{} does not come before it", in, r.id);
      }
    }
    const DType wanted = k_.nodes[r.in[node.imm]].type;
    return node.type == wanted
               ? OkStatus()
               : Bad("result {} of reduce #{} is {}, not {}", node.imm, r.id, DTypeName(wanted), DTypeName(node.type));
  }

  Status CarriedNode(size_t v, const Node& node) const {
    const auto found = definitions_.find(node.attr);
    if (found == definitions_.end() || found->second.loop == nullptr) return Bad("#{} is no loop", node.attr);
    const Loop& loop = *found->second.loop;
    if (node.imm >= loop.types.size())
      return Bad("loop #{} has {} carries, got {}", loop.id, loop.types.size(), node.imm);
    for (Val in : loop.init) {
      if (in >= v) return Bad("init %{} of loop #{} does not come before it", in, loop.id);
    }
    const DType wanted = loop.types[node.imm];
    return node.type == wanted
               ? OkStatus()
               : Bad("carry {} of loop #{} is {}, not {}", node.imm, loop.id, DTypeName(wanted), DTypeName(node.type));
  }

  // Meaning: dims and values are used where they exist.
  // ------------------------------------------------------------------------------

  // That node `v` can be computed where the dims `allowed` run and the reduces and loops in visible_ have values.
  Status Usable(Val v, DimMask allowed, std::string_view what) const {
    const DimMask extra = analysis_->dims()[v] & ~allowed;
    if (extra != 0) return Bad("{}: %{} depends on {}, which do not run there", what, v, DimList(extra));
    for (uint32_t id : analysis_->UsedIds(v)) {
      if (!visible_.contains(id)) return Bad("{}: %{} uses #{}, which has no value there", what, v, id);
    }
    return OkStatus();
  }

  Status UsableAxis(const Axis& a, DimMask allowed, std::string_view what) const {
    const DimMask extra = analysis_->dims(a) & ~allowed;
    if (extra != 0) return Bad("{}: an index depends on {}, which do not run there", what, DimList(extra));
    return a.start == kNone ? OkStatus() : Usable(a.start, allowed, what);
  }

  Status TypesAre(const SmallVector<Val, 2>& values, const SmallVector<Val, 2>& like, std::string_view what) const {
    for (size_t i = 0; i < values.size(); ++i) {
      const DType got = k_.nodes[values[i]].type;
      const DType wanted = k_.nodes[like[i]].type;
      if (got != wanted) return Bad("{}: value {} is {}, wanted {}", what, i, DTypeName(got), DTypeName(wanted));
    }
    return OkStatus();
  }

  Status CheckReduce(const Reduce& r, const Stage& stage) const {
    const std::string what = fmt::format("reduce #{}", r.id);
    const DimMask dims = MaskOf(stage.dims);
    const DimMask outer = OuterDims(k_);
    if (r.dims == 0) return Bad("{} has no dims", what);
    if (r.dims != stage.reduces[0].dims)
      return Bad("{} has dims {}, the first one of its stage {}", what, DimList(r.dims),
                 DimList(stage.reduces[0].dims));
    for (Val v : r.in) TENON_RETURN_IF_ERROR(Usable(v, outer | dims, what));
    for (Val v : r.init) TENON_RETURN_IF_ERROR(Usable(v, outer | (dims & ~r.dims), what + " (init)"));
    for (Val v : r.identity) {
      if (k_.nodes[v].op != Op::kConst) return Bad("{}: identity %{} is not a constant", what, v);
    }
    TENON_RETURN_IF_ERROR(TypesAre(r.init, r.in, what + " (init)"));
    TENON_RETURN_IF_ERROR(TypesAre(r.identity, r.in, what + " (identity)"));
    const Graph& g = k_.graphs[r.combiner];
    const size_t n = r.in.size();
    if (g.arguments.size() != 2 * n || g.results.size() != n) {
      return Bad("{}: combiner g{} has {} arguments and {} results, wanted {} and {}", what, r.combiner,
                 g.arguments.size(), g.results.size(), 2 * n, n);
    }
    for (size_t i = 0; i < n; ++i) {
      const DType t = k_.nodes[r.in[i]].type;
      if (g.arguments[i] != t || g.arguments[n + i] != t || g.nodes[g.results[i]].type != t) {
        return Bad("{}: combiner g{} does not work on {} as value {}", what, r.combiner, DTypeName(t), i);
      }
    }
    return OkStatus();
  }

  Status CheckStore(const Store& s, const Stage& stage, size_t number) const {
    const std::string what = fmt::format("store {} to b{}", number, s.buf);
    if (s.value >= k_.nodes.size()) return Bad("{}: node %{} does not exist", what, s.value);
    TENON_RETURN_IF_ERROR(Access(s.buf, s.at, s.guard, k_.nodes.size()).WithContext(what));
    const Buffer& b = k_.buffers[s.buf];
    if (b.kind == BufKind::kArg || b.kind == BufKind::kConst || b.kind == BufKind::kSignal)
      return Bad("{}: the buffer is read only", what);
    const DType wanted = IsComplex(b.type) ? RealPartOf(b.type) : b.type;
    const DType got = k_.nodes[s.value].type;
    if (got != wanted) return Bad("{}: the value is {}, wanted {}", what, DTypeName(got), DTypeName(wanted));
    if (s.component > (IsComplex(b.type) ? 1 : 0))
      return Bad("{}: {} has no component {}", what, DTypeName(b.type), s.component);
    if (s.order > StoreOrder::kRowMajor) return Bad("{}: order {} does not exist", what, static_cast<int>(s.order));
    if (s.combine < -1) return Bad("{}: graph {} does not exist", what, s.combine);
    if (s.combine >= 0) {
      if (static_cast<size_t>(s.combine) >= k_.graphs.size())
        return Bad("{}: graph g{} does not exist", what, s.combine);
      const Graph& g = k_.graphs[static_cast<size_t>(s.combine)];
      if (g.arguments.size() != 2 || g.results.size() != 1 || g.arguments[0] != got || g.arguments[1] != got ||
          g.nodes[g.results[0]].type != got) {
        return Bad("{}: g{} is not a function of two {}", what, s.combine, DTypeName(got));
      }
    }
    DimMask allowed = OuterDims(k_) | MaskOf(stage.dims);
    for (const Reduce& r : stage.reduces) {
      if (analysis_->Uses(s, r.id)) allowed &= ~r.dims;
    }
    TENON_RETURN_IF_ERROR(Usable(s.value, allowed, what));
    for (const Axis& a : s.at) TENON_RETURN_IF_ERROR(UsableAxis(a, allowed, what));
    for (const Guard& g : s.guard) TENON_RETURN_IF_ERROR(UsableAxis(g.e, allowed, what));
    return OkStatus();
  }

  Status CheckStage(const Stage& stage) {
    const DimMask dims = MaskOf(stage.dims);
    DimMask reduced = 0;
    for (DimId d : stage.dims) {
      if (k_.dims[d].kind == DimKind::kReduce) {
        reduced |= DimMask{1} << d;
      } else if (reduced != 0) {
        return Bad("stage: d{} comes after a reduced dim", d);
      }
    }
    const DimMask named = stage.reduces.empty() ? 0 : stage.reduces[0].dims;
    if (named != reduced)
      return Bad("stage: dims {} are of kind reduce, but its reduces name {}", DimList(reduced), DimList(named));
    DimMask ranged = 0;
    for (const Range& r : stage.domain) {
      if (r.dim >= k_.dims.size() || !(dims >> r.dim & 1))
        return Bad("stage: the domain names d{}, which is not a dim of it", r.dim);
      if (ranged >> r.dim & 1) return Bad("stage: the domain names d{} twice", r.dim);
      ranged |= DimMask{1} << r.dim;
      TENON_RETURN_IF_ERROR(CheckSize(r.lo, fmt::format("stage: low end of d{}", r.dim), 0));
      TENON_RETURN_IF_ERROR(CheckSize(r.hi, fmt::format("stage: high end of d{}", r.dim), 0));
      const Size& extent = k_.dims[r.dim].extent;
      if (!r.hi.is_param() && !extent.is_param() && r.hi.baked > extent.baked) {
        return Bad("stage: the domain of d{} ends at {}, its extent is {}", r.dim, r.hi.baked, extent.baked);
      }
    }
    for (const Reduce& r : stage.reduces) TENON_RETURN_IF_ERROR(CheckReduce(r, stage));
    for (const Reduce& r : stage.reduces) visible_.insert(r.id);
    for (size_t i = 0; i < stage.stores.size(); ++i) TENON_RETURN_IF_ERROR(CheckStore(stage.stores[i], stage, i));
    // With other dims besides the reduced ones there are many results, and they last only as long as their point.
    if ((dims & ~reduced) != 0) {
      for (const Reduce& r : stage.reduces) visible_.erase(r.id);
    }
    return OkStatus();
  }

  Status CheckLoop(const Loop& loop) {
    const DimMask outer = OuterDims(k_);
    const std::string what = fmt::format("loop #{}", loop.id);
    for (size_t i = 0; i < loop.types.size(); ++i) {
      for (Val v : {loop.init[i], loop.next[i]}) {
        const DType got = k_.nodes[v].type;
        if (got != loop.types[i])
          return Bad("{}: carry {} is {}, but %{} is {}", what, i, DTypeName(loop.types[i]), v, DTypeName(got));
      }
    }
    for (Val v : loop.init) TENON_RETURN_IF_ERROR(Usable(v, outer, what + " (init)"));
    visible_.insert(loop.id);
    if (loop.condition != kNone) {
      if (k_.nodes[loop.condition].type != DType::kPred)
        return Bad("{}: the condition is {}, wanted pred", what, DTypeName(k_.nodes[loop.condition].type));
      TENON_RETURN_IF_ERROR(Usable(loop.condition, outer, what + " (condition)"));
    }
    const std::set<uint32_t> before = visible_;
    TENON_RETURN_IF_ERROR(Steps(loop.body));
    for (Val v : loop.next) TENON_RETURN_IF_ERROR(Usable(v, outer, what + " (next)"));
    visible_ = before;  // what the body computed ends with it
    return OkStatus();
  }

  Status Steps(const Seq& seq) {
    for (const Step& step : seq) {
      if (const auto* stage = std::get_if<Stage>(&step.is)) {
        TENON_RETURN_IF_ERROR(CheckStage(*stage));
      } else {
        TENON_RETURN_IF_ERROR(CheckLoop(std::get<Loop>(step.is)));
      }
    }
    return OkStatus();
  }

  Status SplitIsLegal() const {
    const DimMask mask = k_.split.dims;
    TENON_RETURN_IF_ERROR(CheckSize(k_.split.grain, "split: grain", 1));
    if (mask == 0) return OkStatus();
    if ((mask & (mask + 1)) != 0) return Bad("split: dims {} are not a prefix of the dims", DimList(mask));
    const int count = 32 - __builtin_clz(mask);
    for (int d = 0; d < count; ++d) {
      if (static_cast<size_t>(d) >= k_.dims.size()) return Bad("split: d{} does not exist", d);
      if (k_.dims[static_cast<size_t>(d)].kind != DimKind::kParallel) return Bad("split: d{} is not parallel", d);
    }
    if (count <= k_.outer) return OkStatus();
    // It cuts inner dims as well: each step must be a loop nest that begins with them, or with one of its own in the
    // place of d0, and nothing may connect the pieces.
    const bool each_its_own = k_.outer == 0 && count == 1;
    for (const Step& step : k_.seq) {
      const auto* stage = std::get_if<Stage>(&step.is);
      if (stage == nullptr) return Bad("split: a loop cannot be cut, but d{} is not an outer dim", count - 1);
      for (int i = 0; k_.outer + i < count; ++i) {
        if (static_cast<size_t>(i) < stage->dims.size()) {
          const DimId first = stage->dims[static_cast<size_t>(i)];
          if (first == k_.outer + i || (each_its_own && k_.dims[first].kind == DimKind::kParallel)) continue;
        }
        return Bad("split: a stage does not begin with d{}", k_.outer + i);
      }
    }
    for (const Buffer& b : k_.buffers) {
      if (b.kind == BufKind::kLocal) return Bad("split: inner dims are cut, but there is a local buffer");
    }
    return OkStatus();
  }

  const Kernel& k_;
  std::unordered_map<uint32_t, internal::Definition> definitions_;
  const Analysis* analysis_ = nullptr;
  std::set<uint32_t> visible_;  // reduces and loops that have a value at this place
};

}  // namespace

Status Verify(const Kernel& kernel) { return Verifier(kernel).Run(); }

}  // namespace tenon::kir
