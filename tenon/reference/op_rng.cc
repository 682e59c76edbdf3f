// rng_bit_generator, with the streams of XLA's CPU backend, and rng.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "tenon/reference/attributes.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

uint32_t Low(uint64_t v) { return static_cast<uint32_t>(v); }
uint32_t High(uint64_t v) { return static_cast<uint32_t>(v >> 32); }
uint64_t Join(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

// Threefry-2x32, 20 rounds, of a 64-bit counter: word 0 in the low half.
uint64_t Threefry(uint64_t key, uint64_t counter) {
  const std::array<uint32_t, 3> keys = {Low(key), High(key), 0x1bd11bdau ^ Low(key) ^ High(key)};
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t x = Low(counter) + keys[0], y = High(counter) + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  return Join(x, y);
}

// Philox-4x32, 10 rounds.
std::array<uint32_t, 4> Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  std::array<uint32_t, 4> c = {Low(counter_low), High(counter_low), Low(counter_high), High(counter_high)};
  uint32_t k0 = Low(key), k1 = High(key);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{c[0]} * 0xd2511f53u, p1 = uint64_t{c[2]} * 0xcd9e8d57u;
    c = {High(p1) ^ c[1] ^ k0, Low(p1), High(p0) ^ c[3] ^ k1, Low(p0)};
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return c;
}

// `words`: the output elements as 64-bit numbers, of which the low `bits` count. `state` becomes the new one.
void ThreefryBits(std::vector<uint64_t>& state, std::span<const int64_t> dims, int bits, std::vector<uint64_t>& words) {
  const uint64_t key = state[0], counter = state[1];
  const auto n = static_cast<uint64_t>(words.size());
  if (bits == 64) {
    for (uint64_t i = 0; i < n; ++i) words[i] = Threefry(key, counter + i);
    state[1] += n;
    return;
  }
  if (dims.empty()) {
    words[0] = Low(Threefry(key, counter));
    state[1] += 1;
    return;
  }
  // One dimension is split: a block gives two elements along it. The first even one, otherwise the first of the
  // largest.
  size_t split = dims.size();
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] % 2 == 0) split = d;
  }
  if (split == dims.size()) split = static_cast<size_t>(std::max_element(dims.begin(), dims.end()) - dims.begin());
  Dims halved(dims.begin(), dims.end());
  halved[split] = (halved[split] + 1) / 2;
  const Dims strides = RowMajorStridesElems(dims);
  uint64_t block = 0;
  ForEachIndex(Span(halved), [&](std::span<const int64_t> index) {
    const uint64_t pair = Threefry(key, counter + block++);
    const int64_t at = Dot(index, Span(strides)) + index[split] * strides[split];
    words[static_cast<size_t>(at)] = Low(pair);
    if (2 * index[split] + 1 < dims[split]) words[static_cast<size_t>(at + strides[split])] = High(pair);
  });
  state[1] += block;
}

void PhiloxBits(std::vector<uint64_t>& state, int bits, std::vector<uint64_t>& words) {
  const uint64_t key = state[0];
  uint64_t low = state[1], high = state.size() > 2 ? state[2] : state[0];
  const size_t per_block = bits == 64 ? 2 : 4;
  for (size_t first = 0; first < words.size(); first += per_block) {
    const auto block = Philox(key, low, high);
    for (size_t i = 0; i < per_block && first + i < words.size(); ++i) {
      words[first + i] = bits == 64 ? Join(block[2 * i], block[2 * i + 1]) : block[i];
    }
    if (++low == 0) ++high;
  }
  state[1] = low;
  if (state.size() > 2) state[2] = high;
}

// Each element of `out` as the low bits of a word; signed ones of less than a byte are sign-extended.
void PutLowBits(const std::vector<uint64_t>& words, Value& out) {
  const auto width = static_cast<size_t>(ByteWidth(out.dtype()));
  const int kept = out.dtype() == DType::kPred ? 1 : DTypeBits(out.dtype());
  const uint64_t sign = IsSigned(out.dtype()) ? uint64_t{1} << (kept - 1) : 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const uint64_t word = ((words[i] & MaxUnsigned(kept)) ^ sign) - sign;
    std::memcpy(out.mutable_bytes() + i * width, &word, width);
  }
}

Status RngBitGenerator(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Value wide_state, ConvertTo(context.in(0), DType::kU64));
  std::vector<uint64_t> state(wide_state.data<uint64_t>(), wide_state.data<uint64_t>() + wide_state.num_elements());
  const RngKind kind = RngKindOf(context.op);
  if (state.size() < 2 || state.size() > 3 || (kind == RngKind::kThreeFry && state.size() != 2)) {
    return InvalidArgument("the state of rng_bit_generator has " + std::to_string(state.size()) + " words");
  }
  TENON_ASSIGN_OR_RETURN(Value out, AllocateResult(context, 1));
  const int bits = DTypeBits(out.dtype()) == 64 ? 64 : 32;
  if (IsComplex(out.dtype())) return Unimplemented("rng_bit_generator of complex numbers");
  std::vector<uint64_t> words(static_cast<size_t>(out.num_elements()));
  if (kind == RngKind::kThreeFry) {
    ThreefryBits(state, out.dims(), bits, words);
  } else {
    PhiloxBits(state, bits, words);
  }
  PutLowBits(words, out);
  TENON_ASSIGN_OR_RETURN(Value new_state, Value::Copy(wide_state.shape(), std::as_bytes(std::span(state))));
  TENON_ASSIGN_OR_RETURN(new_state, ConvertTo(new_state, context.in(0).dtype()));
  context.results = {std::move(new_state), std::move(out)};
  return OkStatus();
}

// Integers of [low, high), where they wrap at the type's width; all of them low if there are none.
void UniformIntegers(uint64_t key, uint64_t low, uint64_t high, Value& out) {
  const int bits = out.dtype() == DType::kPred ? 1 : DTypeBits(out.dtype());
  const uint64_t range = (high - low) & MaxUnsigned(bits);
  std::vector<uint64_t> words(static_cast<size_t>(out.num_elements()));
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = low + static_cast<uint64_t>(static_cast<unsigned __int128>(Threefry(key, i)) * range >> 64);
  PutLowBits(words, out);
}

// Any generator will do; a fresh stream per operation.
Status Rng(OpContext& context) {
  static std::atomic<uint64_t> next_key{0x7465'6e6f'6e00'0001};
  const uint64_t key = next_key.fetch_add(1, std::memory_order_relaxed);
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({context.result_shape().dtype, IntsOf(context.in(2))}));
  const bool normal = IsNormalDistribution(context.op);
  if (!normal && !IsFloat(out.dtype())) {
    TENON_ASSIGN_OR_RETURN(const Value low, ConvertTo(context.in(0), DType::kU64));
    TENON_ASSIGN_OR_RETURN(const Value high, ConvertTo(context.in(1), DType::kU64));
    UniformIntegers(key, low.data<uint64_t>()[0], high.data<uint64_t>()[0], out);
    return context.Return(std::move(out));
  }
  TENON_ASSIGN_OR_RETURN(Value draws, Value::Allocate({DType::kF64, out.shape().dims}));
  TENON_ASSIGN_OR_RETURN(Value a, ConvertTo(context.in(0), DType::kF64));
  TENON_ASSIGN_OR_RETURN(Value b, ConvertTo(context.in(1), DType::kF64));
  const double low = a.data<double>()[0], high = b.data<double>()[0];
  const auto uniform = [&](int64_t i) {
    return static_cast<double>(Threefry(key, static_cast<uint64_t>(i)) >> 11) * 0x1p-53;
  };
  for (int64_t i = 0; i < draws.num_elements(); ++i) {
    double& draw = draws.mutable_data<double>()[i];
    if (normal) {
      draw = low +
             high * std::sqrt(-2 * std::log(1 - uniform(2 * i))) * std::cos(2 * std::numbers::pi * uniform(2 * i + 1));
    } else {
      draw = low + (high - low) * uniform(i);
    }
  }
  TENON_ASSIGN_OR_RETURN(out, ConvertTo(draws, out.dtype()));
  if (!normal) {
    // Rounding must not reach the upper end, which is outside.
    TENON_ASSIGN_OR_RETURN(Value back, ConvertTo(out, DType::kF64));
    for (int64_t i = 0; i < back.num_elements(); ++i) {
      if (back.data<double>()[i] >= high) draws.mutable_data<double>()[i] = low;
    }
    TENON_ASSIGN_OR_RETURN(out, ConvertTo(draws, out.dtype()));
  }
  return context.Return(std::move(out));
}

constexpr OpEntry kOps[] = {{"stablehlo.rng_bit_generator", &RngBitGenerator}, {"stablehlo.rng", &Rng}};

}  // namespace

std::span<const OpEntry> RngOps() { return kOps; }

}  // namespace tenon::reference
