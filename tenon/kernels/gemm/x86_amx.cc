// Matrix tiles: s8, u8 and bf16 by AMX. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_avx512.h"
// clang-format off: the loops are templates over the vectors above.
#include "tenon/kernels/gemm/internal/bf16_inl.h"
#include "tenon/kernels/gemm/internal/f32_inl.h"
#include "tenon/kernels/gemm/internal/fetch_inl.h"
#include "tenon/kernels/gemm/internal/groups_inl.h"
// clang-format on

namespace {

using tenon::DType;
using tenon::kernels::internal::MicroTile;

constexpr int kTile = 16;  // Rows of a tile of C, columns of it, and steps along k of one multiplication.
constexpr int kMr = 2 * kTile, kNr = 2 * kTile;

// What LDTILECFG reads for palette 1.
struct TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {kTile, kTile, kTile, kTile, kTile, kTile, kTile, kTile};
};
static_assert(sizeof(TileConfig) == 64);

// All tiles are whole: rows of A that are not there only spoil rows of C that are not stored.
void Enter() {
  alignas(64) static constexpr TileConfig kConfig;
  _tile_loadconfig(&kConfig);
}
void Leave() { _tile_release(); }

// Tiles 0 ... 3 are C, in rows; 4 and 5 the two of A, 6 and 7 those of B.
template <int kRowTiles, int kColTiles>
void LoadTiles(const Word* c, int64_t stride) {
  const size_t bytes = static_cast<size_t>(stride) * sizeof(Word);
  _tile_loadd(0, c, bytes);
  if constexpr (kColTiles == 2) _tile_loadd(1, c + kTile, bytes);
  if constexpr (kRowTiles == 2) _tile_loadd(2, c + kTile * stride, bytes);
  if constexpr (kRowTiles == 2 && kColTiles == 2) _tile_loadd(3, c + kTile * stride + kTile, bytes);
}

template <int kRowTiles, int kColTiles>
void StoreTiles(Word* c, int64_t stride) {
  const size_t bytes = static_cast<size_t>(stride) * sizeof(Word);
  _tile_stored(0, c, bytes);
  if constexpr (kColTiles == 2) _tile_stored(1, c + kTile, bytes);
  if constexpr (kRowTiles == 2) _tile_stored(2, c + kTile * stride, bytes);
  if constexpr (kRowTiles == 2 && kColTiles == 2) _tile_stored(3, c + kTile * stride + kTile, bytes);
}

// TDPBSSD and TDPBUUD add four products per word exactly; TDPBF16PS makes one block of GemmOrder::kHalves.
#define TENON_MULTIPLY(c, a, b)               \
  if constexpr (kType == DType::kBF16) {      \
    _tile_dpbf16ps(c, a, b);                  \
  } else if constexpr (kType == DType::kS8) { \
    _tile_dpbssd(c, a, b);                    \
  } else {                                    \
    static_assert(kType == DType::kU8);       \
    _tile_dpbuud(c, a, b);                    \
  }

template <DType kType, int kRowTiles, int kColTiles>
void MultiplyTiles(const MicroTile& t) {
  const size_t a_bytes = static_cast<size_t>(t.a_row_stride) * sizeof(Word);
  const size_t b_bytes = static_cast<size_t>(t.b_k_stride) * sizeof(Word);
  const Word *a = t.a, *b = t.b;
  for (int64_t q = 0; q < t.steps; q += kTile, a += kTile, b += kTile * t.b_k_stride) {
    _tile_loadd(6, b, b_bytes);
    _tile_loadd(4, a, a_bytes);
    TENON_MULTIPLY(0, 4, 6)
    if constexpr (kColTiles == 2) {
      _tile_loadd(7, b + kTile, b_bytes);
      TENON_MULTIPLY(1, 4, 7)
    }
    if constexpr (kRowTiles == 2) {
      _tile_loadd(5, a + kTile * t.a_row_stride, a_bytes);
      TENON_MULTIPLY(2, 5, 6)
      if constexpr (kColTiles == 2) {
        TENON_MULTIPLY(3, 5, 7)
      }
    }
  }
}
#undef TENON_MULTIPLY

// `cols` <= kNr words of `rows` rows.
void CopyRows(const Word* from, int64_t from_stride, int rows, int cols, Word* to, int64_t to_stride) {
  const auto low = static_cast<__mmask16>(cols >= kTile ? 0xffff : (1 << cols) - 1);
  const auto high = static_cast<__mmask16>(cols >= kTile ? (1 << (cols - kTile)) - 1 : 0);
  for (int r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
    _mm512_mask_storeu_epi32(to, low, _mm512_maskz_loadu_epi32(low, from));
    _mm512_mask_storeu_epi32(to + kTile, high, _mm512_maskz_loadu_epi32(high, from + kTile));
  }
}

template <DType kType, int kRowTiles, int kColTiles>
void MicroTiles(const MicroTile& t, int rows, int cols) {
  if (t.soon != nullptr) Fetch(*t.soon, t.steps);
  alignas(64) Word edge[kMr * kNr];
  const bool whole = rows == kRowTiles * kTile && cols == kColTiles * kTile;
  Word* const c = whole ? t.c : edge;
  const int64_t stride = whole ? t.c_row_stride : kNr;
  if (t.load_c) {
    if (!whole) CopyRows(t.c, t.c_row_stride, rows, cols, edge, kNr);
    LoadTiles<kRowTiles, kColTiles>(c, stride);
  } else {
    _tile_zero(0);
    if constexpr (kColTiles == 2) _tile_zero(1);
    if constexpr (kRowTiles == 2) _tile_zero(2);
    if constexpr (kRowTiles == 2 && kColTiles == 2) _tile_zero(3);
  }
  MultiplyTiles<kType, kRowTiles, kColTiles>(t);
  StoreTiles<kRowTiles, kColTiles>(c, stride);
  if (!whole) CopyRows(edge, kNr, rows, cols, t.c, t.c_row_stride);
}

template <DType kType>
void MicroAmx(const MicroTile& t, int rows, int cols) {
  if (rows > kTile) {
    if (cols > kTile) return MicroTiles<kType, 2, 2>(t, rows, cols);
    return MicroTiles<kType, 2, 1>(t, rows, cols);
  }
  if (cols > kTile) return MicroTiles<kType, 1, 2>(t, rows, cols);
  MicroTiles<kType, 1, 1>(t, rows, cols);
}

// Rows of `k` elements, a whole number of tiles of words.
template <class T>
void PackAWhole(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
                int64_t dst_row_stride) {
  constexpr int kUnit = sizeof(Word) / sizeof(T);
  PackAGroups<T, T, kUnit>(src, row_stride, k_stride, rows, k, dst, dst_row_stride);
  const int64_t words = (k + kUnit - 1) / kUnit, whole = (words + kTile - 1) / kTile * kTile;
  for (int r = 0; r < rows && words < whole; ++r) {
    __builtin_memset(dst + r * dst_row_stride + words, 0, static_cast<size_t>(whole - words) * sizeof(Word));
  }
}

// 32 columns of two rows, adjacent ones along k in one word.
inline void InterleaveRows(const uint16_t* const (&rows)[2], Word* to) {
  const __m512i x = _mm512_loadu_si512(rows[0]), y = _mm512_loadu_si512(rows[1]);
  const __m512i low = _mm512_unpacklo_epi16(x, y), high = _mm512_unpackhi_epi16(x, y);
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                last = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi64(low, first, high));
  _mm512_storeu_si512(to + kTile, _mm512_permutex2var_epi64(low, last, high));
}

// 32 columns of four rows.
template <class T>
void InterleaveRows(const T* const (&rows)[4], Word* to) {
  static_assert(sizeof(T) == 1);
  const auto load = [](const T* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); };
  const __m256i x0 = load(rows[0]), x1 = load(rows[1]), x2 = load(rows[2]), x3 = load(rows[3]);
  const __m256i a = _mm256_unpacklo_epi8(x0, x1), b = _mm256_unpackhi_epi8(x0, x1);
  const __m256i c = _mm256_unpacklo_epi8(x2, x3), d = _mm256_unpackhi_epi8(x2, x3);
  // Fours of columns: 0 and 4 of the halves of 16, 1 and 5 ...
  const __m256i q0 = _mm256_unpacklo_epi16(a, c), q1 = _mm256_unpackhi_epi16(a, c);
  const __m256i q2 = _mm256_unpacklo_epi16(b, d), q3 = _mm256_unpackhi_epi16(b, d);
  const auto store = [&](int at, __m256i x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), x); };
  store(0, _mm256_permute2x128_si256(q0, q1, 0x20));
  store(8, _mm256_permute2x128_si256(q2, q3, 0x20));
  store(16, _mm256_permute2x128_si256(q0, q1, 0x31));
  store(24, _mm256_permute2x128_si256(q2, q3, 0x31));
}

template <class T>
void PackBWhole(const BPanels& b) {
  constexpr int kUnit = sizeof(Word) / sizeof(T);
  const int64_t steps = (b.k + kUnit - 1) / kUnit, whole = (steps + kTile - 1) / kTile * kTile;
  const int64_t full_steps = b.k / kUnit, full_cols = b.cols / kNr * kNr;
  if (b.col_stride == 1 && full_steps > 0 && full_cols > 0) {
    const T* const src = static_cast<const T*>(b.src);
    for (int64_t q = 0; q < full_steps; ++q) {
      Word* to = b.dst + q * kNr;
      for (int64_t j = 0; j < full_cols; j += kNr, to += b.panel_stride) {
        const T* rows[kUnit];
        for (int u = 0; u < kUnit; ++u) rows[u] = src + (q * kUnit + u) * b.k_stride + j;
        InterleaveRows(rows, to);
      }
    }
    // What is left over at the right and at the bottom.
    BPanels right = b;
    right.src = src + full_cols;
    right.cols = b.cols - full_cols;
    right.dst += full_cols / kNr * b.panel_stride;
    if (right.cols > 0) PackBGroups<T, T, kUnit, kNr>(right);
    BPanels bottom = b;
    bottom.src = src + full_steps * kUnit * b.k_stride;
    bottom.k = b.k - full_steps * kUnit;
    bottom.cols = full_cols;
    bottom.dst += full_steps * kNr;
    if (bottom.k > 0) PackBGroups<T, T, kUnit, kNr>(bottom);
  } else {
    PackBGroups<T, T, kUnit, kNr>(b);
  }
  Word* end = b.dst + steps * kNr;
  for (int64_t j = 0; j < b.cols && steps < whole; j += kNr, end += b.panel_stride) {
    __builtin_memset(end, 0, static_cast<size_t>((whole - steps) * kNr) * sizeof(Word));
  }
}

}  // namespace

namespace tenon::kernels::internal {

namespace {

/// Products of bytes of type T.
template <DType kType, class T>
constexpr GemmKernel Bytes(const char* name) {
  return {
      .name = name,
      .level = isa::IsaLevel::kAvx512,
      .extra = Extra::kAmx,
      .operand_type = kType,
      .sum_type = DType::kS32,
      .mr = kMr,
      .nr = kNr,
      .k_unit = 64,
      .unit_steps = kTile,
      .step_rate = 8,
      .enter = Enter,
      .leave = Leave,
      .micro = MicroAmx<kType>,
      .pack_a = PackAWhole<T>,
      .pack_b = PackBWhole<T>,
  };
}

}  // namespace

extern const GemmKernel gemm_bf16_32x32_amx = {
    .name = "gemm_bf16_32x32_amx",
    .level = isa::IsaLevel::kAvx512,
    .extra = Extra::kAmx,
    .operand_type = DType::kBF16,
    .sum_type = DType::kF32,
    .mr = kMr,
    .nr = kNr,
    .k_unit = 32,
    .unit_steps = kTile,
    .step_rate = 8,
    .enter = Enter,
    .leave = Leave,
    .micro = MicroAmx<DType::kBF16>,
    .pack_a = PackAWhole<uint16_t>,
    .pack_b = PackBWhole<uint16_t>,
    .load_row = LoadRowBf16,
    .store_row = StoreRowBf16,
};

extern constinit const GemmKernel gemm_s8_32x32_amx = Bytes<DType::kS8, int8_t>("gemm_s8_32x32_amx");
extern constinit const GemmKernel gemm_u8_32x32_amx = Bytes<DType::kU8, uint8_t>("gemm_u8_32x32_amx");

}  // namespace tenon::kernels::internal
