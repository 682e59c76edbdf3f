#include "tenon/compiler/fuse/canonical.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "tenon/compiler/fuse/in_place.h"
#include "tenon/compiler/fuse/integers.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/kernel_work.h"
#include "tenon/compiler/fuse/lane_cost.h"
#include "tenon/compiler/fuse/short_tiles.h"
#include "tenon/kir/math.h"

namespace tenon::compiler {

using kir::Val;

namespace {

bool IsFma(DType type) { return type == DType::kF32 || type == DType::kF64; }

/// Node v's inputs through reads included.
template <class F>
void ForEachInput(kir::Kernel& k, kir::Node& node, const F& f) {
  for (Val& v : node.in) f(v);
  if (node.op == kir::Op::kRead) ForEachUse(k.reads[node.attr], f);
}

}  // namespace

void ContractFma(kir::Kernel& k) {
  std::vector<uint32_t> uses(k.nodes.size(), 0);
  for (kir::Node& n : k.nodes) ForEachInput(k, n, [&](Val& v) { ++uses[v]; });
  ForEachRootUse(k, [&](Val& v) { ++uses[v]; });
  bool any = false;
  for (const kir::Node& n : k.nodes) any |= n.op == kir::Op::kMul && IsFma(n.type);
  if (!any) return;
  std::vector<kir::Node> nodes;
  nodes.reserve(k.nodes.size() + 8);
  std::vector<Val> map(k.nodes.size());
  auto add = [&](kir::Node n) {
    nodes.push_back(std::move(n));
    return static_cast<Val>(nodes.size() - 1);
  };
  auto single_mul = [&](Val v) { return k.nodes[v].op == kir::Op::kMul && uses[v] == 1; };
  for (size_t i = 0; i < k.nodes.size(); ++i) {
    kir::Node n = k.nodes[i];
    const bool sum = (n.op == kir::Op::kAdd || n.op == kir::Op::kSub) && IsFma(n.type);
    const int which = !sum ? -1 : single_mul(n.in[0]) ? 0 : single_mul(n.in[1]) ? 1 : -1;
    if (which < 0) {
      for (Val& v : n.in) v = map[v];
      map[i] = add(std::move(n));
      continue;
    }
    const kir::Node& product = k.nodes[n.in[static_cast<size_t>(which)]];
    Val a = map[product.in[0]];
    const Val b = map[product.in[1]];
    Val c = map[n.in[static_cast<size_t>(1 - which)]];
    auto negate = [&](Val v) {
      kir::Node neg;
      neg.op = kir::Op::kNeg;
      neg.type = n.type;
      neg.in.push_back(v);
      return add(std::move(neg));
    };
    if (n.op == kir::Op::kSub) (which == 0 ? c : a) = negate(which == 0 ? c : a);
    kir::Node fma;
    fma.op = kir::Op::kFma;
    fma.type = n.type;
    fma.in = {a, b, c};
    map[i] = add(std::move(fma));
  }
  Renumber(k, std::move(nodes), map);
}

void DropDead(kir::Kernel& k) {
  std::vector<bool> live(k.nodes.size(), false);
  ForEachRootUse(k, [&](Val& v) { live[v] = true; });
  for (size_t i = k.nodes.size(); i-- > 0;) {
    if (live[i]) ForEachInput(k, k.nodes[i], [&](Val& v) { live[v] = true; });
  }
  // kReduced nodes stand behind their reduce's operands, which are root uses: nothing more to follow.
  std::vector<kir::Node> nodes;
  std::vector<Val> map(k.nodes.size(), kir::kNone);
  std::vector<kir::Read> reads;
  std::vector<uint64_t> literals;
  std::unordered_map<uint64_t, uint32_t> literal_of;
  std::map<uint32_t, uint32_t> read_of;
  for (size_t i = 0; i < k.nodes.size(); ++i) {
    if (!live[i]) continue;
    kir::Node n = k.nodes[i];
    for (Val& v : n.in) v = map[v];
    if (n.op == kir::Op::kRead) {
      auto [it, fresh] = read_of.try_emplace(n.attr, static_cast<uint32_t>(reads.size()));
      if (fresh) {
        kir::Read r = k.reads[n.attr];
        ForEachUse(r, [&](Val& v) { v = map[v]; });
        reads.push_back(std::move(r));
      }
      n.attr = it->second;
    } else if (n.op == kir::Op::kConst) {
      auto [it, fresh] = literal_of.try_emplace(k.literals[n.attr], static_cast<uint32_t>(literals.size()));
      if (fresh) literals.push_back(k.literals[n.attr]);
      n.attr = it->second;
    }
    map[i] = static_cast<Val>(nodes.size());
    nodes.push_back(std::move(n));
  }
  k.nodes = std::move(nodes);
  k.reads = std::move(reads);
  k.literals = std::move(literals);
  ForEachRootUse(k, [&](Val& v) { v = map[v]; });
}

void FindInPlace(MadeKernel& made) {
  for (size_t out = 0; out < made.buffers.size(); ++out) {
    if (made.buffers[out].kind != BoundBuffer::Kind::kWrite) continue;
    for (size_t in = 0; in < made.buffers.size(); ++in) {
      const auto pair = std::pair(static_cast<kir::Buf>(out), static_cast<kir::Buf>(in));
      if (made.buffers[in].kind == BoundBuffer::Kind::kRead && MayTakeOver(made.kernel, pair.first, pair.second))
        made.in_place.push_back(pair);
    }
  }
}

namespace {

/// How far from the first element that lies which every evaluation reads, where there is one.
std::optional<int64_t> FixedElement(const kir::Buffer& buffer, const kir::Read& read) {
  if (!read.guard.empty()) return std::nullopt;
  int64_t element = 0;
  for (size_t i = 0; i < read.at.size(); ++i) {
    const kir::Axis& axis = read.at[i];
    if (!axis.terms.empty() || axis.start != kir::kNone) return std::nullopt;
    element += axis.offset.baked * buffer.stride[i].baked;
  }
  return element;
}

/// The buffers of constants of which the kernel reads fixed elements alone.
std::vector<bool> FixedConstants(const MadeKernel& made) {
  const kir::Kernel& k = made.kernel;
  std::vector<bool> fixed(k.buffers.size());
  for (size_t i = 0; i < fixed.size(); ++i) {
    fixed[i] = made.buffers[i].literal != nullptr && IsFloat(k.buffers[i].type);
  }
  for (const kir::Read& read : k.reads) {
    if (fixed[read.buf]) fixed[read.buf] = FixedElement(k.buffers[read.buf], read).has_value();
  }
  return fixed;
}

/// Takes out buffers that nothing uses any more.
void DropBuffers(MadeKernel& made, const std::vector<bool>& unused) {
  kir::Kernel& k = made.kernel;
  std::vector<kir::Buf> place(k.buffers.size());
  kir::Buf next = 0;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    place[i] = next;
    if (unused[i]) continue;
    k.buffers[next] = k.buffers[i];
    made.buffers[next] = made.buffers[i];
    ++next;
  }
  k.buffers.resize(next);
  made.buffers.resize(next);
  for (kir::Read& r : k.reads) r.buf = place[r.buf];
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (kir::Store& s : stage.stores) s.buf = place[s.buf];
  });
}

void DropLocals(MadeKernel& made) {
  std::vector<bool> local;
  for (const kir::Buffer& b : made.kernel.buffers) local.push_back(b.kind == kir::BufKind::kLocal);
  DropBuffers(made, local);
}

/// Quotients by known numbers are products where what is divided is known not to come close to zero, which takes the
/// other constants on the way to it, too. A kernel that has some reads no element that it can know.
void KnowElements(MadeKernel& made) {
  kir::Kernel& k = made.kernel;
  const std::vector<bool> fixed = FixedConstants(made);
  if (std::ranges::find(fixed, true) == fixed.end()) return;
  const auto is_fixed = [&](const kir::Node& n) { return n.op == kir::Op::kRead && fixed[k.reads[n.attr].buf]; };
  const bool divides = std::ranges::any_of(k.nodes, [&](const kir::Node& n) {
    if (n.op != kir::Op::kDiv || !IsFloat(n.type)) return false;
    const kir::Node& divisor = k.nodes[n.in[1]];
    return divisor.op == kir::Op::kConst || is_fixed(divisor);
  });
  if (!divides) return;
  for (kir::Node& n : k.nodes) {
    if (!is_fixed(n)) continue;
    const kir::Read& read = k.reads[n.attr];
    const int64_t element = *FixedElement(k.buffers[read.buf], read);
    const std::string& bytes = *made.buffers[read.buf].literal->bytes;
    n = {kir::Op::kConst, n.type, 0, static_cast<uint32_t>(k.literals.size()), {}};
    k.literals.push_back(ElementBits(n.type, bytes.data() + element * ByteWidth(n.type)));
  }
  DropDead(k);
  DropBuffers(made, fixed);
}

}  // namespace

void KernelChecks::After(const char* step, const kir::Kernel& kernel) {
  if (!on || !failed.ok()) return;
  if (Status s = kir::Verify(kernel); !s.ok()) failed = Internal(std::string(s.message())).WithContext(step);
}

void ReformKernel(MadeKernel& made, const target::Target& target, KernelChecks* checks) {
  kir::Kernel& k = made.kernel;
  const auto done = [&](const char* step) {
    if (checks != nullptr) checks->After(step, k);
  };
  done("a kernel as traced");
  // CPUs without the instruction round products where others do not (target::Numerics); a GPU says what it has.
  const bool gpu = target.kind == target::Kind::kGpu;
  if (!gpu || target.numerics.fused_multiply_add) ContractFma(k);
  done("a kernel after contraction");
  SimplifyIntegers(k);
  done("a kernel with ranges of integers");
  FoldConstants(k);
  DropDead(k);
  done("a kernel without dead nodes");
  if (!gpu) ShortenNumbers(k);
  DropDead(k);
  done("a kernel with short numbers");
  // Regions and short dims are about vectors of neighbours; invocations branch and stride for themselves.
  if (!gpu) SplitRegions(k, target);
  done("a kernel cut into regions");
  FollowStores(k, target);
  MergeDims(k);
  done("a kernel with merged dims");
  UnifyDims(k);
  JoinStages(k);
  done("a kernel with shared dims");
  if (!gpu && ArrangeShortDims(k, target)) {
    DropLocals(made);
    DropDead(k);
    KnowElements(made);
    MergeDims(k);
    done("a kernel with short dims written out");
  }
}

void FinishKernel(MadeKernel& made, const target::Target& target, KernelChecks* checks) {
  ReformKernel(made, target, checks);
  kir::Kernel& k = made.kernel;
  const auto done = [&](const char* step) {
    if (checks != nullptr) checks->After(step, k);
  };
  ShortenPlaces(k);
  DropDead(k);
  const kir::DimMask tiled = target.kind == target::Kind::kGpu ? 0 : TiledDims(k, target);
  if (tiled != 0) {
    SplitAroundTiles(k, tiled, target);
  } else {
    DecideSplit(k, target);
  }
  // One piece needs no order of its points, which leaves the choice of loops and lanes to code generation.
  if (kir::SplitTotal(k, nullptr) <= k.split.grain.baked) k.split = {};
  done("a kernel with a split");
  FindInPlace(made);
  made.work = KernelWork(k, target);
  Parameterise(k, made.params, tiled);
  done("a kernel with parameters");
}

}  // namespace tenon::compiler
