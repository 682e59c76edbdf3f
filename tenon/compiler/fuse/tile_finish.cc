#include "tenon/compiler/fuse/tile_finish.h"

#include <utility>

#include "tenon/compiler/fuse/canonical.h"

namespace tenon::compiler {

using kir::Val;

namespace {

/// The kernel's nodes, at one element.
class AtElement {
 public:
  AtElement(const kir::Kernel& k, kir::KernelBuilder& b, kir::Buf product, const std::vector<kir::Buf>& to,
            const std::vector<int>& axis_of, const SmallVector<kir::Axis, 4>& at, SumOfProducts::Factor value,
            const SmallVector<kir::Guard, 1>& guards)
      : k_(k),
        b_(b),
        product_(product),
        to_(to),
        axis_of_(axis_of),
        at_(at),
        value_(value),
        guards_(guards),
        made_(k.nodes.size(), kir::kNone) {}

  Val Node(Val v) {
    if (made_[v] == kir::kNone) made_[v] = Make(k_.nodes[v]);
    return made_[v];
  }
  SmallVector<kir::Axis, 4> Axes(const SmallVector<kir::Axis, 4>& axes) {
    SmallVector<kir::Axis, 4> moved;
    for (const kir::Axis& a : axes) moved.push_back(Axis(a));
    return moved;
  }
  SmallVector<kir::Guard, 1> Guards(const SmallVector<kir::Guard, 1>& own) {
    SmallVector<kir::Guard, 1> all = guards_;
    for (kir::Guard g : own) {
      g.e = Axis(g.e);
      all.push_back(std::move(g));
    }
    return all;
  }

 private:
  kir::Axis Axis(const kir::Axis& axis) {
    kir::Axis moved;
    moved.offset = axis.offset;
    if (axis.start != kir::kNone) moved.start = Node(axis.start);
    for (const kir::Term& t : axis.terms) {
      if (axis_of_[t.dim] < 0) continue;
      const kir::Axis& followed = at_[static_cast<size_t>(axis_of_[t.dim])];
      moved.offset.baked += t.coef.baked * followed.offset.baked;
      for (const kir::Term& f : followed.terms)
        moved.terms.push_back({f.dim, kir::Size::Of(t.coef.baked * f.coef.baked)});
    }
    return moved;
  }

  Val Make(const kir::Node& node) {
    switch (node.op) {
      case kir::Op::kConst:
        return b_.ConstBits(node.type, k_.literals[node.attr]);
      case kir::Op::kIndex: {
        if (axis_of_[node.attr] < 0) return b_.ConstS64(0);
        const kir::Axis& followed = at_[static_cast<size_t>(axis_of_[node.attr])];
        Val place = b_.ConstS64(followed.offset.baked);
        for (const kir::Term& t : followed.terms)
          place = b_.Add(place, b_.Mul(b_.Index(t.dim), b_.ConstS64(t.coef.baked)));
        return place;
      }
      case kir::Op::kRead: {
        const kir::Read& read = k_.reads[node.attr];
        if (read.buf == product_) return node.imm == 0 ? value_.re : value_.im;
        kir::Read moved;
        moved.buf = to_[read.buf];
        moved.at = Axes(read.at);
        moved.guard = Guards(read.guard);
        if (!moved.guard.empty())
          moved.otherwise = read.otherwise != kir::kNone ? Node(read.otherwise) : b_.ConstBits(node.type, 0);
        return b_.Read(moved, node.imm);
      }
      default: {
        kir::Node copy = node;
        for (Val& in : copy.in) in = Node(in);
        return b_.Emit(std::move(copy));
      }
    }
  }

  const kir::Kernel& k_;
  kir::KernelBuilder& b_;
  const kir::Buf product_;
  const std::vector<kir::Buf>& to_;
  const std::vector<int>& axis_of_;
  const SmallVector<kir::Axis, 4>& at_;
  const SumOfProducts::Factor value_;
  const SmallVector<kir::Guard, 1>& guards_;
  std::vector<Val> made_;
};

}  // namespace

std::optional<TileFinish> TileFinish::Of(const MadeKernel& finish, Ref product, const Shape& shape) {
  TileFinish f;
  f.k_ = finish.kernel;
  kir::Kernel& k = f.k_;
  if (k.outer != 0 || k.seq.size() != 1 || !std::holds_alternative<kir::Stage>(k.seq[0].is)) return std::nullopt;
  // What it rounds together is its own affair, whatever kernel it is in.
  ContractFma(k);
  DropDead(k);
  const kir::Stage& stage = *f.stage();
  if (!stage.reduces.empty() || !stage.domain.empty() || stage.stores.empty()) return std::nullopt;
  for (const kir::Store& s : stage.stores) {
    if (s.combine >= 0 || s.order != kir::StoreOrder::kDisjoint || s.buf != stage.stores[0].buf) return std::nullopt;
  }
  for (const kir::Dim& d : k.dims) {
    if (d.kind != kir::DimKind::kParallel || d.extent.is_param()) return std::nullopt;
  }
  f.axis_of_.assign(k.dims.size(), -1);
  f.to_.resize(k.buffers.size(), kir::kNoBuf);
  for (size_t i = 0; i < finish.buffers.size(); ++i) {
    const BoundBuffer& bound = finish.buffers[i];
    if (bound.kind == BoundBuffer::Kind::kLocal) return std::nullopt;
    if (bound.kind == BoundBuffer::Kind::kRead && bound.value == product) {
      if (f.product_ != kir::kNoBuf) return std::nullopt;
      f.product_ = static_cast<kir::Buf>(i);
    } else {
      f.bound_.push_back(bound);
    }
  }
  // Every look at the product is at the point's own element.
  const kir::Read* first = nullptr;
  for (const kir::Read& read : k.reads) {
    if (read.buf != f.product_) continue;
    if (!read.guard.empty() || (first != nullptr && !(read.at == first->at))) return std::nullopt;
    first = &read;
  }
  if (first == nullptr || first->at.size() != shape.rank()) return std::nullopt;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const kir::Axis& axis = first->at[d];
    if (axis.start != kir::kNone || axis.offset.baked != 0 || axis.terms.size() > 1) return std::nullopt;
    if (axis.terms.empty() || k.dims[axis.terms[0].dim].extent.baked == 1) {
      if (shape.dims[d] != 1) return std::nullopt;
      continue;
    }
    int& follows = f.axis_of_[axis.terms[0].dim];
    if (follows >= 0 || axis.terms[0].coef.baked != 1 || k.dims[axis.terms[0].dim].extent.baked != shape.dims[d])
      return std::nullopt;
    follows = static_cast<int>(d);
  }
  for (size_t d = 0; d < k.dims.size(); ++d) {
    if (f.axis_of_[d] < 0 && k.dims[d].extent.baked != 1) return std::nullopt;
  }
  for (const kir::Node& n : k.nodes) {
    switch (n.op) {
      case kir::Op::kParam:
      case kir::Op::kReduced:
      case kir::Op::kCarried:
        return std::nullopt;
      case kir::Op::kConst:
        break;
      default:
        ++f.ops_;
    }
  }
  return f;
}

void TileFinish::AddBuffers(kir::KernelBuilder& b) {
  for (size_t i = 0; i < k_.buffers.size(); ++i) {
    const kir::Buffer& buffer = k_.buffers[i];
    if (static_cast<kir::Buf>(i) != product_)
      to_[i] = b.AddBuffer(buffer.kind, buffer.type, buffer.extent, buffer.stride);
  }
}

void TileFinish::Add(kir::KernelBuilder& b, kir::Stage& stage, const SmallVector<kir::Axis, 4>& at,
                     SumOfProducts::Factor value, const SmallVector<kir::Guard, 1>& guards) const {
  AtElement element(k_, b, product_, to_, axis_of_, at, value, guards);
  for (const kir::Store& s : this->stage()->stores) {
    kir::Store store = s;
    store.buf = to_[s.buf];
    store.at = element.Axes(s.at);
    store.guard = element.Guards(s.guard);
    store.value = element.Node(s.value);
    stage.stores.push_back(std::move(store));
  }
}

}  // namespace tenon::compiler
