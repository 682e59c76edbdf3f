#include "tenon/kir/builder.h"

#include <algorithm>
#include <bit>

namespace tenon::kir {
namespace {

uint64_t HashOf(const Node& n) {
  uint64_t h = static_cast<uint64_t>(n.op) | static_cast<uint64_t>(n.type) << 8 | static_cast<uint64_t>(n.imm) << 16 |
               static_cast<uint64_t>(n.attr) << 32;
  for (Val v : n.in) h = (h ^ v) * 0x9e3779b97f4a7c15u + (h >> 29);
  return h * 0xbf58476d1ce4e5b9u;
}

uint64_t HashOf(const Read& read) {
  uint64_t h = read.buf;
  const auto mix = [&](uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15u ^ (h >> 29); };
  const auto axis = [&](const Axis& a) {
    for (const Term& t : a.terms) {
      mix(t.dim);
      mix(static_cast<uint64_t>(t.coef.baked));
    }
    mix(static_cast<uint64_t>(a.offset.baked));
    mix(a.start);
  };
  for (const Axis& a : read.at) axis(a);
  for (const Guard& g : read.guard) {
    axis(g.e);
    mix(static_cast<uint64_t>(g.lo.baked));
    mix(static_cast<uint64_t>(g.hi.baked));
  }
  mix(read.otherwise);
  return h;
}

}  // namespace

Val NodeBuilder::Emit(Node node) {
  const uint64_t h = HashOf(node);
  for (auto [it, end] = known_.equal_range(h); it != end; ++it) {
    if ((*nodes_)[it->second] == node) return it->second;
  }
  const Val v = static_cast<Val>(nodes_->size());
  nodes_->push_back(std::move(node));
  known_.emplace(h, v);
  return v;
}

Val NodeBuilder::Emit(Op op, DType type, std::initializer_list<Val> in, uint8_t imm, uint32_t attr) {
  return Emit(Node{op, type, imm, attr, in});
}

Val NodeBuilder::ConstBits(DType type, uint64_t bits) {
  auto [it, fresh] = literal_index_.emplace(bits, static_cast<uint32_t>(literals_->size()));
  if (fresh) literals_->push_back(bits);
  return Emit(Op::kConst, type, {}, 0, it->second);
}

Val NodeBuilder::ConstF32(float value) { return ConstBits(DType::kF32, std::bit_cast<uint32_t>(value)); }
Val NodeBuilder::ConstF64(double value) { return ConstBits(DType::kF64, std::bit_cast<uint64_t>(value)); }

Result<Val> NodeBuilder::Math(std::string_view function, std::initializer_list<Val> arguments) {
  TENON_CHECK(arguments.size() > 0);
  const DType own = type(*arguments.begin());
  const DType computed = IsFloat(own) && own != DType::kF64 ? DType::kF32 : own;
  TENON_ASSIGN_OR_RETURN(const MathId id, FindMath(function, computed));
  Node node{Op::kMath, computed, 0, id, {}};
  for (Val a : arguments) node.in.push_back(Convert(computed, a));
  return Convert(own, Emit(std::move(node)));
}

Val NodeBuilder::MathOrDie(std::string_view function, std::initializer_list<Val> arguments) {
  Result<Val> v = Math(function, arguments);
  TENON_CHECK(v.ok());
  return *v;
}

SmallVector<Val, 2> NodeBuilder::Inline(const Graph& graph, std::initializer_list<Val> arguments) {
  return Inline(graph, SmallVector<Val, 4>(arguments));
}

SmallVector<Val, 2> NodeBuilder::Inline(const Graph& graph, const SmallVector<Val, 4>& arguments) {
  std::vector<Val> here(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& n = graph.nodes[i];
    if (n.op == Op::kArgument) {
      here[i] = arguments[n.imm];
    } else if (n.op == Op::kConst) {
      here[i] = ConstBits(n.type, graph.literals[n.attr]);
    } else {
      Node copy = n;
      for (Val& v : copy.in) v = here[v];
      here[i] = Emit(std::move(copy));
    }
  }
  SmallVector<Val, 2> results;
  for (Val r : graph.results) results.push_back(here[r]);
  return results;
}

Graph GraphBuilder::Finish(std::initializer_list<Val> results) { return Finish(SmallVector<Val, 2>(results)); }

Graph GraphBuilder::Finish(const SmallVector<Val, 2>& results) {
  graph_.results = results;
  return std::move(graph_);
}

Graph BinaryGraph(Op op, DType type) {
  GraphBuilder b({type, type});
  const Val x = b.Argument(0);
  const Val y = b.Argument(1);
  return b.Finish({b.Binary(op, x, y)});
}

Axis At(DimId dim, Size coef, Size offset) {
  Axis a;
  a.terms.push_back({dim, coef});
  a.offset = offset;
  return a;
}

Axis AtOffset(Size offset) {
  Axis a;
  a.offset = offset;
  return a;
}

Axis AtStart(Val start, Size offset) {
  Axis a;
  a.offset = offset;
  a.start = start;
  return a;
}

DimId KernelBuilder::AddDim(Size extent, DimKind kind) {
  kernel_.dims.push_back({extent, kind});
  return static_cast<DimId>(kernel_.dims.size() - 1);
}

Buf KernelBuilder::AddBuffer(BufKind kind, DType type, SmallVector<Size, 4> extent, SmallVector<Size, 4> stride) {
  kernel_.buffers.push_back({kind, type, std::move(extent), std::move(stride), kNoBuf});
  return static_cast<Buf>(kernel_.buffers.size() - 1);
}

Buf KernelBuilder::AddDense(BufKind kind, DType type, std::initializer_list<int64_t> extent) {
  SmallVector<Size, 4> extents;
  for (int64_t n : extent) extents.push_back(Size::Of(n));
  SmallVector<Size, 4> strides(extents.size());
  int64_t stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = Size::Of(stride);
    stride *= std::max<int64_t>(extents[i].baked, 1);
  }
  return AddBuffer(kind, type, std::move(extents), std::move(strides));
}

Val KernelBuilder::Read(const kir::Read& read, int component) {
  const uint64_t hash = HashOf(read);
  auto [found, end] = known_reads_.equal_range(hash);
  while (found != end && !(kernel_.reads[found->second] == read)) ++found;
  const auto index = found == end ? static_cast<uint32_t>(kernel_.reads.size()) : found->second;
  if (found == end) {
    kernel_.reads.push_back(read);
    known_reads_.emplace(hash, index);
  }
  const DType type = kernel_.buffers[read.buf].type;
  return Emit(Op::kRead, IsComplex(type) ? RealPartOf(type) : type, {}, static_cast<uint8_t>(component), index);
}

Val KernelBuilder::Read(Buf buf, SmallVector<Axis, 4> at, int component) {
  return Read(kir::Read{buf, std::move(at), {}, kNone}, component);
}

uint32_t KernelBuilder::AddGraph(const Graph& graph) {
  const auto found = std::find(kernel_.graphs.begin(), kernel_.graphs.end(), graph);
  if (found != kernel_.graphs.end()) return static_cast<uint32_t>(found - kernel_.graphs.begin());
  kernel_.graphs.push_back(graph);
  return static_cast<uint32_t>(kernel_.graphs.size() - 1);
}

Val KernelBuilder::AddReduce(Stage& stage, DimMask dims, Op op, Val in, Val init, ReduceOrder order, Val identity) {
  Reduce r;
  r.id = NewId();
  r.dims = dims;
  r.in.push_back(in);
  r.init.push_back(init);
  r.combiner = AddGraph(BinaryGraph(op, type(in)));
  r.order = order;
  if (identity != kNone) r.identity.push_back(identity);
  stage.reduces.push_back(r);
  return Reduced(r.id, 0, type(in));
}

}  // namespace tenon::kir
