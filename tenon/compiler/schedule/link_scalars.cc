// Scalars of the loop are values as long as nothing changes what they were computed from.

#include <algorithm>

#include "tenon/compiler/schedule/link_writer.h"
#include "tenon/kir/walk.h"

namespace tenon::compiler {

using kir::kNone;
using kir::Size;
using kir::Val;

bool LinkWriter::IsPure(Val v) {
  for (Val n = static_cast<Val>(pure_.size()); n <= v; ++n) {
    const kir::Node& node = b_.node(n);
    bool pure = std::all_of(node.in.begin(), node.in.end(), [&](Val in) { return pure_[in]; });
    if (node.op == kir::Op::kIndex) pure = false;
    if (node.op == kir::Op::kRead) {
      const kir::Read& read = b_.kernel().reads[node.attr];
      const kir::BufKind kind = b_.kernel().buffers[read.buf].kind;
      pure = kind == kir::BufKind::kArg || kind == kir::BufKind::kConst;
      for (const kir::Axis& a : read.at) pure &= a.terms.empty() && (a.start == kNone || pure_[a.start]);
      pure &= read.guard.empty();
    }
    pure_.push_back(pure);
  }
  return pure_[v];
}

std::optional<uint64_t> LinkWriter::Constant(const LinkPlace& place) const {
  if (place.written || place.read.empty()) return std::nullopt;
  const LogicalBuffer& buffer = p_.buffers[p_.views[place.read[0]].buffer];
  if (buffer.kind != plan::SlotKind::kConst) return std::nullopt;
  const std::string& bytes = *p_.constants[buffer.index].bytes;
  const auto width = static_cast<size_t>(ByteWidth(place.dtype));
  if (bytes.size() != width || width > sizeof(uint64_t) || DTypeBits(place.dtype) % 8 != 0) return std::nullopt;
  return ElementBits(place.dtype, bytes.data());
}

Val LinkWriter::Current(uint32_t id) {
  if (const auto it = known_.find(id); it != known_.end()) return it->second;
  const LinkPlace& place = Place(id);
  if (const std::optional<uint64_t> bits = Constant(place)) return b_.ConstBits(place.dtype, *bits);
  if (in_memory_.contains(id)) return ReadScalar(id);
  return b_.ConstBits(place.dtype, 0);  // Nobody reads it.
}

void LinkWriter::Become(uint32_t id, Val value, kir::Stage& stage) {
  if (IsPure(value)) {
    known_[id] = value;
    in_memory_.erase(id);
    return;
  }
  const ScalarUse& use = top_.at(id);
  if (use.accesses == 2 && use.certain && !use.exposed && learnt_.stepped.empty()) {
    known_[id] = value;
    in_memory_.erase(id);
    waiting_[id] = MemoryBehind(value);
    return;
  }
  Keep(id, value, stage);
}

void LinkWriter::Keep(uint32_t id, Val value, kir::Stage& stage) {
  Store(stage, BufferOf(id), {kir::AtOffset(Size::Of(0))}, 0, value);
  known_.erase(id);
  in_memory_.insert(id);
}

std::set<kir::Buf> LinkWriter::MemoryBehind(Val value) {
  std::set<kir::Buf> buffers;
  std::vector<Val> next{value};
  std::set<Val> seen;
  while (!next.empty()) {
    const Val v = next.back();
    next.pop_back();
    if (IsPure(v) || !seen.insert(v).second) continue;
    const kir::Node& node = b_.node(v);
    kir::ForEachInput(b_.kernel(), node, [&](Val in) { next.push_back(in); });
    if (node.op == kir::Op::kRead) buffers.insert(b_.kernel().reads[node.attr].buf);
  }
  return buffers;
}

void LinkWriter::Settle(uint32_t id, kir::Seq& out) {
  waiting_.erase(id);
  kir::Stage stage;
  Keep(id, known_.at(id), stage);
  out.push_back(kir::Step{std::move(stage)});
}

void LinkWriter::SettleAll(kir::Seq& out) {
  while (!waiting_.empty()) Settle(waiting_.begin()->first, out);
}

void LinkWriter::SettleFor(const plan::KernelStep& s, kir::Seq& out) {
  if (waiting_.empty()) return;
  const kir::Kernel& k = p_.kernels[s.kernel];
  const auto* stage = k.seq.size() == 1 ? std::get_if<kir::Stage>(&k.seq[0].is) : nullptr;
  const bool point = stage != nullptr && k.outer == 0 && stage->dims.empty();
  std::set<uint32_t> read;
  std::set<kir::Buf> written;
  for (size_t i = 0; i < s.buffers.size(); ++i) {
    if (s.buffers[i] == plan::kNoSlot) continue;
    const uint32_t id = survey_.PlaceOf(s.buffers[i]);
    if (k.buffers[i].kind == kir::BufKind::kOut) {
      if (const auto it = buffer_.find(id); it != buffer_.end()) written.insert(it->second);
    } else {
      read.insert(id);
    }
  }
  const auto waiting = waiting_;
  for (const auto& [id, behind] : waiting) {
    const bool touched = std::any_of(behind.begin(), behind.end(), [&](kir::Buf buf) { return written.contains(buf); });
    if (read.contains(id) ? stage != nullptr && (point || !touched) : !touched) {
      if (read.contains(id)) waiting_.erase(id);
    } else {
      Settle(id, out);
    }
  }
}

}  // namespace tenon::compiler
