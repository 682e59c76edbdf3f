// Short sorts as kernels: an element's place is the number of those that come before it.

#include <algorithm>
#include <vector>

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/tracer.h"

namespace tenon::compiler {

using kir::Val;

namespace {

/// Whether elements of the type have an order as integers of their width.
bool HasKey(const Program& p, DType type) {
  if (IsComplex(type) || DTypeBits(type) != 8 * ByteWidth(type)) return type == DType::kPred;
  return !IsFloat(type) || KernelCanHold(p, MovedAs(p, type));
}

DType SignedOf(int width) {
  return width == 1 ? DType::kS8 : width == 2 ? DType::kS16 : width == 4 ? DType::kS32 : DType::kS64;
}

/// What compares as elements of the key do: floats by their bits, turned below zero.
Val KeyOf(kir::KernelBuilder& b, Val read, DType type, bool by_value) {
  if (type == DType::kPred) return b.Convert(DType::kS32, read);
  if (!IsFloat(type)) return read;
  const DType bits = SignedOf(ByteWidth(type));
  const int width = DTypeBits(type);
  Val x = b.Bitcast(bits, read);
  if (by_value) {
    const Val minus_zero = b.ConstBits(bits, uint64_t{1} << (width - 1));
    x = b.Select(b.Compare(kir::kEq, x, minus_zero), b.Const(bits, 0), x);
    const Val nan = b.ConstBits(bits, (uint64_t{1} << (width - 1)) - 1);
    x = b.Select(b.Compare(kir::kNe, read, read), nan, x);
  }
  const Val magnitude = b.ConstBits(bits, (uint64_t{1} << (width - 1)) - 1);
  return b.Xor(x, b.And(b.ShrArith(x, b.Const(bits, width - 1)), magnitude));
}

}  // namespace

Result<bool> Fuser::EmitRanks(NodeId id, plan::Seq& out) {
  const GraphNode& node = p_[id];
  const auto& attrs = node.attrs<SortAttrs>();
  const auto along = static_cast<size_t>(attrs.dimension);
  const size_t num_keys = attrs.descending.size();
  const Shape& shape = p_.shape(node.in[0]);
  const int64_t n = shape.dims[along];
  const int64_t lines = n == 0 ? 0 : NumElements(shape.dims) / n;
  if (n < 2 || lines == 0 || n > policy::kMostRanked || lines * n * n > p_.target->cores * policy::kRanksPerCore)
    return false;
  if (!FitsKernels(p_, node) || NumElements(node.shape().dims) == 0) return false;
  for (size_t i = 0; i < node.in.size(); ++i) {
    const DType type = p_.shape(node.in[i]).dtype;
    if (!KernelCanHold(p_, MovedAs(p_, type)) || (i < num_keys && !HasKey(p_, type))) return false;
  }
  for (const Shape& result : node.out) {
    if (!KernelCanHold(p_, MovedAs(p_, result.dtype))) return false;
  }

  kir::KernelBuilder b;
  MadeKernel made;
  std::vector<View> views;
  kir::Stage stage;
  SmallVector<kir::Axis, 4> here, other;
  for (size_t d = 0; d < shape.rank(); ++d) {
    kir::Axis axis = kir::AtOffset(kir::Size::Of(0));
    if (shape.dims[d] != 1) {
      const kir::DimId dim = b.AddDim(kir::Size::Of(shape.dims[d]));
      stage.dims.push_back(dim);
      axis = kir::At(dim);
    }
    here.push_back(axis);
  }
  const kir::DimId self = here[along].terms[0].dim;
  const kir::DimId each = b.AddDim(kir::Size::Of(n), kir::DimKind::kReduce);
  stage.dims.push_back(each);
  other = here;
  other[along] = kir::At(each);

  const auto buffer = [&](Ref r, View view, BoundBuffer::Kind kind) {
    if (IsFloat(view.dtype)) view.dtype = MovedAs(p_, view.dtype);
    views.push_back(view);
    made.buffers.push_back({kind, r});
    return BufferFor(b, kind == BoundBuffer::Kind::kRead ? kir::BufKind::kArg : kir::BufKind::kOut, view);
  };
  std::vector<kir::Buf> operands;
  for (Ref r : node.in) {
    TENON_ASSIGN_OR_RETURN(const View view, KernelViewOf(r, out));
    operands.push_back(buffer(r, view, BoundBuffer::Kind::kRead));
  }
  // Whether the other one comes before this one: by the first key that tells them apart, else by place.
  Val before = b.Compare(kir::kLt, b.Index(each), b.Index(self));
  for (size_t i = num_keys; i-- > 0;) {
    const DType type = p_.shape(node.in[i]).dtype;
    const bool by_value = attrs.by_value[i] != 0;
    const Val mine = KeyOf(b, b.Read(operands[i], here), type, by_value);
    const Val its = KeyOf(b, b.Read(operands[i], other), type, by_value);
    const bool descending = attrs.descending[i] != 0;
    const Val first = b.Compare(descending ? kir::kGt : kir::kLt, its, mine);
    before = b.Or(first, b.And(b.Compare(kir::kEq, its, mine), before));
  }
  const Val one = b.Convert(DType::kS32, before);
  const Val rank = b.AddReduce(stage, kir::DimMask{1} << each, kir::Op::kAdd, one, b.ConstS32(0));
  const Val place = b.Convert(DType::kS64, rank);

  size_t payload = num_keys;
  for (uint32_t i = 0; i < node.out.size(); ++i) {
    const Shape& result = node.shape(i);
    const View view = NewTemp(result);
    Clear(view, out);
    kir::Store store;
    store.buf = buffer({id, i}, view, BoundBuffer::Kind::kWrite);
    store.at = here;
    // Of the first few, when not all are wanted; a rank is a place of the operand otherwise.
    const Val last = b.ConstS64(result.dims[along] - 1);
    store.at[along] = kir::AtStart(b.Max(b.Min(place, last), b.ConstS64(0)));
    kir::Guard guard;
    guard.e = kir::AtStart(place);
    guard.hi = kir::Size::Of(result.dims[along]);
    store.guard.push_back(std::move(guard));
    if (attrs.is_position[i] != 0) {
      store.value = b.Convert(result.dtype, b.Index(self));
      stage.stores.push_back(std::move(store));
    } else {
      const kir::Buf from = operands[payload++];
      for (const uint8_t component : {0, 1}) {
        if (component == 1 && !IsComplex(result.dtype)) break;
        store.component = component;
        store.value = b.Read(from, here, component);
        stage.stores.push_back(store);
      }
    }
    Bind({id, i}, view);
  }
  b.AddStage(std::move(stage));
  made.kernel = b.Finish();
  AddOwnKernel(std::move(made), views, out);
  return true;
}

}  // namespace tenon::compiler
