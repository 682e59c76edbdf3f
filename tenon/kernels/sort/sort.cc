#include "tenon/kernels/sort/sort.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "tenon/kernels/sort/internal/ordered_bits.h"
#include "tenon/kernels/sort/internal/radix.h"

namespace tenon::kernels {
namespace {

using internal::NarrowRecord;
using internal::WideRecord;
using internal::WithKeyReader;

constexpr int64_t kMaxPieces = 16;
constexpr int64_t kAlignment = 64;

int64_t Rows(const SortSignature& s) {
  int64_t rows = 1;
  for (int64_t d : s.outer) rows *= d;
  return rows;
}

// Pieces of rows that may run at once; each has its own scratch.
int64_t Pieces(const SortSignature& s) { return std::clamp<int64_t>(Rows(s), 1, kMaxPieces); }

// The first few of all are kept in order, each later key that is one of them put among them; beyond so many, and where
// the keys come in a bad order, that moves too much.
constexpr int64_t kMaxHeld = 16;
bool Holds(const SortSignature& s) { return s.keys.size() == 1 && s.take <= kMaxHeld && s.take * 4 <= s.length; }

// Choosing the first few reads every key once and keeps a list of candidates.
bool Selects(const SortSignature& s) { return s.keys.size() == 1 && s.take <= 2048 && s.take * 8 <= s.length; }
int64_t Candidates(const SortSignature& s) { return std::max<int64_t>(4 * s.take, 256) + 64; }

bool IsWide(const SortSignature& s) {
  return std::any_of(s.keys.begin(), s.keys.end(), [](const SortKey& k) { return ByteWidth(k.type) == 8; });
}
int64_t RecordBytes(const SortSignature& s) { return IsWide(s) ? sizeof(WideRecord) : sizeof(NarrowRecord); }

// One piece's scratch: two lists of records, and three of positions when there are several keys.
int64_t PieceBytes(const SortSignature& s) {
  const int64_t records = Selects(s) ? Candidates(s) : s.length;
  const int64_t bytes = 2 * records * RecordBytes(s) + s.length * (s.keys.size() > 1 ? 3 * sizeof(uint32_t) : 0);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <class Word>
void Gather(const SortPayload& p, const void* in, void* out, const auto& position, int64_t n) {
  const auto* from = static_cast<const Word*>(in);
  auto* to = static_cast<Word*>(out);
  for (int64_t i = 0; i < n; ++i) to[i * p.out_stride] = from[static_cast<int64_t>(position(i)) * p.in_stride];
}

struct Word16 {
  uint64_t low, high;
};

// Writes the payload's elements position(0), position(1) ...
void WritePayload(const SortPayload& p, const void* in, void* out, const auto& position, int64_t n) {
  if (p.is_position) {
    for (int64_t i = 0; i < n; ++i) {
      if (p.width_bytes == 4) {
        static_cast<uint32_t*>(out)[i * p.out_stride] = position(i);
      } else {
        static_cast<uint64_t*>(out)[i * p.out_stride] = position(i);
      }
    }
    return;
  }
  switch (p.width_bytes) {
    case 1:
      return Gather<uint8_t>(p, in, out, position, n);
    case 2:
      return Gather<uint16_t>(p, in, out, position, n);
    case 4:
      return Gather<uint32_t>(p, in, out, position, n);
    case 8:
      return Gather<uint64_t>(p, in, out, position, n);
    default:
      return Gather<Word16>(p, in, out, position, n);
  }
}

// One index of the outer extents.
template <class Record>
class RowSorter {
 public:
  RowSorter(const SortSignature& s, const void* const* keys, const void* const* in, void* const* out,
            std::byte* scratch)
      : s_(s), keys_(keys), in_(in), out_(out), a_(reinterpret_cast<Record*>(scratch)) {
    const int64_t records = Selects(s) ? Candidates(s) : s.length;
    b_ = a_ + records;
    order_ = reinterpret_cast<uint32_t*>(b_ + records);
    group_ = order_ + s.length;
    next_ = group_ + s.length;
  }

  void Run() {
    if (Holds(s_)) {
      Hold();
    } else if (Selects(s_)) {
      Select();
    } else if (s_.keys.size() == 1) {
      OneKey();
    } else {
      ManyKeys();
    }
  }

 private:
  static constexpr uint32_t kFirst = uint32_t{1} << 31;
  // What it takes to set up a radix sort's counters, as so many elements: groups of fewer are sorted together.
  static constexpr int64_t kCountersWorth = 256;

  void WriteAll(const auto& position) {
    for (size_t i = 0; i < s_.payloads.size(); ++i) WritePayload(s_.payloads[i], in_[i], out_[i], position, s_.take);
  }

  // Payloads of up to four bytes travel with the key; others are fetched by position.
  void OneKey() {
    const SortPayload* only = s_.payloads.size() == 1 ? s_.payloads.data() : nullptr;
    const bool carries = only != nullptr && !only->is_position && only->width_bytes == 4;
    const auto* words = carries ? static_cast<const uint32_t*>(in_[0]) : nullptr;
    bool sorted = true;
    WithKeyReader(s_.keys[0], keys_[0], [&](const auto& key) {
      auto last = key[0];
      for (int64_t i = 0; i < s_.length; ++i) {
        const auto k = key[i];
        sorted &= last <= k;
        last = k;
        a_[i] = Record::Make(k, carries ? words[i * only->in_stride] : static_cast<uint32_t>(i));
      }
    });
    const Record* found = sorted ? a_ : internal::StableSort(a_, b_, s_.length, 8 * ByteWidth(s_.keys[0].type));
    if (carries) {
      auto* to = static_cast<uint32_t*>(out_[0]);
      for (int64_t i = 0; i < s_.take; ++i) to[i * only->out_stride] = found[i].rest();
    } else {
      WriteAll([&](int64_t i) { return found[i].rest(); });
    }
  }

  // The most significant key orders all; each further one orders the groups that are equal so far, until none has two.
  // The first of a group is marked in `order_`, where positions leave the top bit free.
  void ManyKeys() {
    for (int64_t i = 0; i < s_.length; ++i) order_[i] = static_cast<uint32_t>(i);
    order_[0] |= kFirst;
    bool ties = s_.length > 1;
    for (size_t k = 0; k < s_.keys.size() && ties; ++k) {
      int64_t tied = 0, counted = 0;
      ForEachGroup([&](int64_t begin, int64_t end) {
        tied += end - begin;
        counted += end - begin > internal::kInsertionMax;
      });
      ties = false;
      WithKeyReader(s_.keys[k], keys_[k], [&](const auto& key) {
        if (counted > 1 && counted * kCountersWorth > tied) {
          OrderTogether(key);
          // Nobody asks what the last key leaves equal.
          if (k + 1 == s_.keys.size()) return;
          ForEachGroup([&](int64_t begin, int64_t end) {
            ties |= MarkGroups(begin, end, [&](int64_t i) { return key[order_[begin + i] & ~kFirst]; });
          });
        } else {
          ForEachGroup([&](int64_t begin, int64_t end) { ties |= OrderGroup(key, begin, end); });
        }
      });
    }
    for (int64_t i = 0; i < s_.length; ++i) order_[i] &= ~kFirst;
    WriteAll([&](int64_t i) { return order_[i]; });
  }

  // Calls fn(begin, end) for the groups of two and more.
  void ForEachGroup(const auto& fn) {
    for (int64_t begin = 0, end = 0; begin < s_.length; begin = end) {
      for (end = begin + 1; end < s_.length && (order_[end] & kFirst) == 0;) ++end;
      if (end - begin > 1) fn(begin, end);
    }
  }

  // Marks, in an ordered group whose i-th key is `key_of(i)`, those that differ from the one before; whether others are
  // left.
  bool MarkGroups(int64_t begin, int64_t end, const auto& key_of) {
    bool ties = false;
    auto last = key_of(0);
    for (int64_t i = begin + 1; i < end; ++i) {
      const auto k = key_of(i - begin);
      const bool differs = k != last;
      order_[i] |= differs ? kFirst : 0;
      ties |= !differs;
      last = k;
    }
    return ties;
  }

  static int KeyBits(const auto& key) { return 8 * static_cast<int>(sizeof(key[0])); }

  // Whether some of the group are still equal.
  bool OrderGroup(const auto& key, int64_t begin, int64_t end) {
    const int64_t n = end - begin;
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t position = order_[begin + i] & ~kFirst;
      a_[i] = Record::Make(key[position], position);
    }
    const Record* found = internal::StableSort(a_, b_, n, KeyBits(key));
    for (int64_t i = 0; i < n; ++i) order_[begin + i] = found[i].rest();
    order_[begin] |= kFirst;
    return MarkGroups(begin, end, [&](int64_t i) { return found[i].key(); });
  }

  // All groups by the key, as if they were one, and then each one's in that order to its place.
  void OrderTogether(const auto& key) {
    int64_t n = 0;
    ForEachGroup([&](int64_t begin, int64_t end) {
      next_[begin] = static_cast<uint32_t>(begin);
      for (int64_t i = begin; i < end; ++i) {
        const uint32_t position = order_[i] & ~kFirst;
        group_[position] = static_cast<uint32_t>(begin);
        a_[n++] = Record::Make(key[position], position);
      }
    });
    const Record* found = internal::StableSort(a_, b_, n, KeyBits(key));
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t position = found[i].rest();
      uint32_t& at = order_[next_[group_[position]]++];
      at = position | (at & kFirst);
    }
  }

  // A key that is less than the last of those held goes behind those that are not greater, being later.
  void Hold() {
    const int64_t take = s_.take;
    if (take == 0) return;
    WithKeyReader(s_.keys[0], keys_[0], [&](const auto& key) {
      using Bits = typename std::decay_t<decltype(key)>::Bits;
      Bits held[kMaxHeld];
      uint32_t place[kMaxHeld];
      const auto put = [&](Bits k, int64_t i, int64_t at) {
        for (; at > 0 && k < held[at - 1]; --at) {
          held[at] = held[at - 1];
          place[at] = place[at - 1];
        }
        held[at] = k;
        place[at] = static_cast<uint32_t>(i);
      };
      for (int64_t i = 0; i < take; ++i) put(key[i], i, i);
      constexpr int64_t kBlock = 16;
      int64_t i = take;
      for (; i + kBlock <= s_.length; i += kBlock) {
        Bits least = key[i];
        for (int64_t j = 1; j < kBlock; ++j) least = std::min<Bits>(least, key[i + j]);
        if (least >= held[take - 1]) continue;
        for (int64_t j = i; j < i + kBlock; ++j) {
          if (const Bits k = key[j]; k < held[take - 1]) put(k, j, take - 1);
        }
      }
      for (; i < s_.length; ++i) {
        if (const Bits k = key[i]; k < held[take - 1]) put(k, i, take - 1);
      }
      WriteAll([&](int64_t n) { return place[n]; });
    });
  }

  // Later elements join the candidates only when they come before the worst of the best; equal keys do not, being
  // later.
  void Select() {
    const int64_t capacity = Candidates(s_);
    const int bits = 8 * ByteWidth(s_.keys[0].type);
    int64_t count = 0;
    WithKeyReader(s_.keys[0], keys_[0], [&](const auto& key) {
      using Bits = typename std::decay_t<decltype(key)>::Bits;
      bool bounded = false;
      Bits bound = 0;
      constexpr int64_t kBlock = 64;
      for (int64_t begin = 0; begin < s_.length; begin += kBlock) {
        const int64_t end = std::min(begin + kBlock, s_.length);
        if (bounded) {
          Bits least = static_cast<Bits>(~Bits{0});
          for (int64_t i = begin; i < end; ++i) least = std::min<Bits>(least, key[i]);
          if (least >= bound) continue;
        }
        for (int64_t i = begin; i < end; ++i) {
          const Bits k = key[i];
          if (!bounded || k < bound) a_[count++] = Record::Make(k, static_cast<uint32_t>(i));
        }
        if (count + kBlock > capacity) {
          Keep(count, bits);
          count = s_.take;
          bounded = true;
          bound = static_cast<Bits>(a_[count - 1].key());
        }
      }
    });
    if (s_.take == 0) return;
    Keep(count, bits);
    WriteAll([&](int64_t i) { return a_[i].rest(); });
  }

  // Leaves the first `take` candidates in order at a_.
  void Keep(int64_t count, int bits) {
    const Record* found = internal::StableSort(a_, b_, count, bits);
    if (found != a_) std::copy_n(found, s_.take, a_);
  }

  const SortSignature& s_;
  const void* const* keys_;
  const void* const* in_;
  void* const* out_;
  Record* a_;
  Record* b_;
  // Of sorts by several keys.
  uint32_t* order_;  ///< Positions in the order found so far, with marks.
  uint32_t* group_;  ///< Of a position: where its group begins in the order.
  uint32_t* next_;   ///< Where the next of the group that begins here goes.
};

}  // namespace

Status Verify(const SortSignature& s) {
  if (s.length < 0 || s.length >= int64_t{1} << 31)
    return InvalidArgument(fmt::format("a sort of {} elements, wanted 0 to 2^31 - 1", s.length));
  if (s.take < 0 || s.take > s.length)
    return InvalidArgument(fmt::format("a sort of {} elements that takes {}", s.length, s.take));
  if (s.keys.empty() || s.payloads.empty()) {
    return InvalidArgument(
        fmt::format("a sort of {} payloads by {} keys, wanted one or more of both", s.payloads.size(), s.keys.size()));
  }
  for (int64_t d : s.outer) {
    if (d < 0) return InvalidArgument("a sort with a negative extent");
  }
  for (const SortKey& k : s.keys) {
    const bool known = k.type == DType::kPred || IsInteger(k.type) || k.type == DType::kF16 || k.type == DType::kBF16 ||
                       k.type == DType::kF32 || k.type == DType::kF64;
    if (!known) return InvalidArgument(fmt::format("a sort by keys of type {}", DTypeName(k.type)));
    if (k.outer_strides.size() != s.outer.size())
      return InvalidArgument("a sort key whose strides do not match the outer extents");
  }
  for (const SortPayload& p : s.payloads) {
    const int64_t w = p.width_bytes;
    if (p.is_position ? w != 4 && w != 8 : w != 1 && w != 2 && w != 4 && w != 8 && w != 16) {
      return InvalidArgument(fmt::format("a sort moves elements of {} bytes", w));
    }
    if (p.out_outer_strides.size() != s.outer.size() ||
        (!p.is_position && p.in_outer_strides.size() != s.outer.size())) {
      return InvalidArgument("a sort payload whose strides do not match the outer extents");
    }
  }
  return OkStatus();
}

int64_t SortScratchBytes(const SortSignature& s) { return Pieces(s) * PieceBytes(s); }

double SortCostNs(const SortSignature& s) {
  constexpr double kRowNs = 40;
  const double length = static_cast<double>(s.length);
  double ns = 0;
  if (Holds(s) || Selects(s)) {
    // Every key is looked at; how many are put among the first ones until those are found.
    constexpr double kPutNs = 25;
    const double take = static_cast<double>(std::max<int64_t>(s.take, 1));
    ns = 0.6 * length + kPutNs * take * std::log(std::max(length / take, 1.0));
  } else {
    // Further keys decide among what is equal so far: few elements of most arrays.
    constexpr double kTieNs = 2;
    ns = length * (static_cast<double>(s.payloads.size()) + 0.5 + 1.25 * ByteWidth(s.keys[0].type) +
                   kTieNs * static_cast<double>(s.keys.size() - 1));
  }
  return static_cast<double>(Rows(s)) * (ns + kRowNs);
}

void Sort(const SortSignature& s, const void* const* keys, const void* const* in, void* const* out, void* scratch,
          threads::ThreadPool& pool) {
  const int64_t rows = Rows(s);
  if (rows == 0 || s.take == 0) return;
  const int64_t pieces = Pieces(s);
  const int64_t piece_bytes = PieceBytes(s);
  pool.ParallelFor(pieces, static_cast<int64_t>(SortCostNs(s)), [&](int64_t piece) {
    std::byte* mine = static_cast<std::byte*>(scratch) + piece * piece_bytes;
    SmallVector<const void*, 8> row_keys(s.keys.size()), row_in(s.payloads.size());
    SmallVector<void*, 8> row_out(s.payloads.size());
    for (int64_t row = piece * rows / pieces; row < (piece + 1) * rows / pieces; ++row) {
      Dims index(s.outer.size());
      int64_t rest = row;
      for (size_t d = s.outer.size(); d-- > 0;) {
        index[d] = rest % s.outer[d];
        rest /= s.outer[d];
      }
      const auto offset = [&](const Dims& strides) {
        int64_t at = 0;
        for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
        return at;
      };
      for (size_t i = 0; i < s.keys.size(); ++i) {
        row_keys[i] =
            static_cast<const std::byte*>(keys[i]) + offset(s.keys[i].outer_strides) * ByteWidth(s.keys[i].type);
      }
      for (size_t i = 0; i < s.payloads.size(); ++i) {
        const SortPayload& p = s.payloads[i];
        row_in[i] =
            p.is_position ? nullptr : static_cast<const std::byte*>(in[i]) + offset(p.in_outer_strides) * p.width_bytes;
        row_out[i] = static_cast<std::byte*>(out[i]) + offset(p.out_outer_strides) * p.width_bytes;
      }
      if (IsWide(s)) {
        RowSorter<WideRecord>(s, row_keys.data(), row_in.data(), row_out.data(), mine).Run();
      } else {
        RowSorter<NarrowRecord>(s, row_keys.data(), row_in.data(), row_out.data(), mine).Run();
      }
    }
  });
}

}  // namespace tenon::kernels
