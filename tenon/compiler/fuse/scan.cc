// Windows that grow from one end of a dim to the other: running sums and the like, as a loop along the dim with the sum
// in a register.

#include <algorithm>

#include "tenon/compiler/fuse/combiner.h"
#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/tracer.h"
#include "tenon/compiler/ir/scans.h"

namespace tenon::compiler {

Result<bool> Fuser::EmitScan(NodeId id, plan::Seq& out) {
  const GraphNode& node = p_[id];
  const std::optional<ScanForm> form = ScanFormOf(p_, node);
  if (!form) return false;
  const Shape& shape = node.shape();
  const size_t along = form->dim;
  const DType type = shape.dtype;
  if (!KernelCanHold(p_, type) || !FitsKernels(p_, node)) return false;
  Result<kir::Graph> combiner = GraphOfBlock(p_, node.blocks[0]);
  const GraphNode* init = &p_[node.in[1].node];
  while (init->op == OpCode::kReshape || init->op == OpCode::kBroadcast) init = &p_[init->in[0].node];
  if (!combiner.ok()) return false;
  const bool known = init->op == OpCode::kConstant && init->literal.splat;
  MadeKernel made;
  TENON_ASSIGN_OR_RETURN(const View from, ViewOf(node.in[0], out));
  std::vector<View> views{from};
  made.buffers.push_back({BoundBuffer::Kind::kRead, node.in[0]});
  if (!known) {
    TENON_ASSIGN_OR_RETURN(const View start, ViewOf(node.in[1], out));
    views.push_back(start);
    made.buffers.push_back({BoundBuffer::Kind::kRead, node.in[1]});
  }
  const View to = NewTemp(shape);
  views.push_back(to);
  made.buffers.push_back({BoundBuffer::Kind::kWrite, {id, 0}});

  kir::KernelBuilder b;
  const kir::Buf x = BufferFor(b, kir::BufKind::kArg, from);
  const kir::Buf first = known ? x : BufferFor(b, kir::BufKind::kArg, views[1]);
  const kir::Buf y = BufferFor(b, kir::BufKind::kOut, to);
  SmallVector<kir::Axis, 4> at;
  int64_t chains = 1;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (d == along || shape.dims[d] == 1) {
      at.push_back(kir::AtOffset(kir::Size::Of(0)));
    } else {
      at.push_back(kir::At(b.AddDim(kir::Size::Of(shape.dims[d]))));
      chains *= shape.dims[d];
    }
  }
  b.kernel().outer = static_cast<uint8_t>(b.kernel().dims.size());
  kir::Loop loop;
  loop.id = b.NewId();
  const bool complex = IsComplex(type);
  const DType part = PartType(type);
  const int64_t last = shape.dims[along] - 1;
  // The place, then the sum's parts.
  loop.types = {DType::kS64};
  loop.init = {b.ConstS64(form->reverse ? last : 0)};
  AppendParts(b, type,
              known ? EmitLiteral(b, type, init->literal, 0)
                    : Scalar{b.Read(first, {}), complex ? b.Read(first, {}, 1) : kir::kNone},
              loop.init);
  SmallVector<kir::Val, 2> sum, element;
  for (size_t i = 0; i < (complex ? 2u : 1u); ++i) {
    loop.types.push_back(part);
    sum.push_back(b.Carried(loop.id, 1 + i, part));
  }
  const kir::Val place = b.Carried(loop.id, 0, DType::kS64);
  // A place is always inside; the clamp says so to whoever checks the kernel.
  at[along] = kir::AtStart(b.Max(b.Min(place, b.ConstS64(last)), b.ConstS64(0)));
  AppendParts(b, type, {b.Read(x, at), complex ? b.Read(x, at, 1) : kir::kNone}, element);
  // Elements meet in their order: from the high end, each stands before what is summed already.
  SmallVector<kir::Val, 4> arguments;
  for (kir::Val v : form->reverse ? element : sum) arguments.push_back(v);
  for (kir::Val v : form->reverse ? sum : element) arguments.push_back(v);
  loop.next = {b.Add(place, b.ConstS64(form->reverse ? -1 : 1))};
  kir::Stage stage;
  for (const kir::Val next : b.Inline(*combiner, arguments)) {
    kir::Store store;
    store.buf = y;
    store.at = at;
    store.value = next;
    store.component = static_cast<uint8_t>(stage.stores.size());
    stage.stores.push_back(std::move(store));
    loop.next.push_back(next);
  }
  loop.body.push_back(kir::Step{std::move(stage)});
  loop.trip_count = kir::Size::Of(last + 1);
  b.AddLoop(std::move(loop));

  made.kernel = b.Finish();
  Bind({id, 0}, to);
  AddOwnKernel(std::move(made), views, out,
               target::Work{.serial = static_cast<double>(chains * (last + 1)) * policy::kSerialStepCycles});
  return true;
}

}  // namespace tenon::compiler
