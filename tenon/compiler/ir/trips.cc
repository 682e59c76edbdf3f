#include "tenon/compiler/ir/trips.h"

namespace tenon::compiler {

namespace {

int64_t SignExtend(uint64_t bits, DType type) {
  const int shift = 64 - DTypeBits(type);
  return IsSigned(type) ? static_cast<int64_t>(bits << shift) >> shift : static_cast<int64_t>(bits);
}

}  // namespace

std::optional<int64_t> IntegerConstant(const Program& program, Ref r) {
  const Shape& shape = program.shape(r);
  if (shape.rank() != 0 || !IsInteger(shape.dtype)) return std::nullopt;
  const std::optional<uint64_t> bits = SplatBits(program, r);
  if (!bits) return std::nullopt;
  return SignExtend(*bits, shape.dtype);
}

int64_t KnownTrips(const Program& p, const Node& loop, const std::vector<std::optional<int64_t>>& init) {
  const Block& condition = loop.blocks[0];
  const Block& body = loop.blocks[1];
  const Node& compare = p[condition.results[0].node];
  if (compare.op != Op::kCompare || !(compare.attrs<CompareAttrs>() == CompareAttrs{kir::kLt, false})) return -1;
  size_t carry = condition.args.size();
  for (size_t i = 0; i < condition.args.size(); ++i) {
    if (compare.in[0] == Ref{condition.args[i], 0}) carry = i;
  }
  if (carry == condition.args.size() || !init[carry]) return -1;
  const DType type = p.shape(compare.in[0]).dtype;
  if (!IsInteger(type) || p.shape(compare.in[0]).rank() != 0) return -1;
  const std::optional<uint64_t> limit = SplatBits(p, compare.in[1]);
  if (!limit) return -1;
  const Node& next = p[body.results[carry].node];
  if (next.op != Op::kAdd) return -1;
  const Ref self{body.args[carry], 0};
  const int other = next.in[0] == self ? 1 : next.in[1] == self ? 0 : -1;
  if (other < 0) return -1;
  const std::optional<uint64_t> step = SplatBits(p, next.in[static_cast<size_t>(other)]);
  if (!step || SignExtend(*step, type) <= 0) return -1;
  const int64_t span = SignExtend(*limit, type) - *init[carry];
  const int64_t by = SignExtend(*step, type);
  return span <= 0 ? 0 : (span + by - 1) / by;
}

}  // namespace tenon::compiler
