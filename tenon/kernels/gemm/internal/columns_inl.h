#pragma once

// A vector times a matrix whose columns are adjacent, in the order GemmOrder::kChain: lanes are columns.

#include <cstdint>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::ColumnsProduct;
using tenon::kernels::internal::Word;

// As many columns as kVecs vectors hold, the last of them under a mask. Their chains run side by side.
template <class Ops, int kVecs, bool kMasked>
void DotColumnsAt(const ColumnsProduct& p, int64_t column, typename Ops::Mask mask) {
  constexpr int kWords = Ops::kLanes * Ops::kSumWords;
  const Word* b = static_cast<const Word*>(p.b) + column * Ops::kSumWords;
  const Word* x = static_cast<const Word*>(p.x);
  Word* const c = static_cast<Word*>(p.c) + column * Ops::kSumWords;
  typename Ops::Sum sums[kVecs];
#pragma clang loop unroll(full)
  for (int v = 0; v < kVecs; ++v) {
    if (!p.accumulate)
      sums[v] = Ops::ZeroC();
    else if (kMasked && v == kVecs - 1)
      sums[v] = Ops::LoadFirstC(c + v * kWords, mask);
    else
      sums[v] = Ops::LoadC(c + v * kWords);
  }
  const int64_t row = p.k_stride * Ops::kSumWords, step = p.x_stride * Ops::kSumWords;
  for (int64_t i = 0; i < p.k; ++i, b += row, x += step) {
    const typename Ops::Words factor = Ops::BroadcastA(x);
#pragma clang loop unroll(full)
    for (int v = 0; v < kVecs; ++v) {
      const Word* const from = b + v * kWords;
      sums[v] =
          Ops::MulAdd(factor, kMasked && v == kVecs - 1 ? Ops::LoadFirstB(from, mask) : Ops::LoadB(from), sums[v]);
    }
  }
#pragma clang loop unroll(full)
  for (int v = 0; v < kVecs; ++v) {
    if (kMasked && v == kVecs - 1)
      Ops::StoreFirstC(c + v * kWords, sums[v], mask);
    else
      Ops::StoreC(c + v * kWords, sums[v]);
  }
}

template <class Ops>
void DotColumns(const ColumnsProduct& p) {
  constexpr int kLanes = Ops::kLanes, kMost = 8;
  int64_t column = 0;
  const auto take = [&]<int kVecs>() {
    const int64_t left = p.columns - column;
    const int last = static_cast<int>(left < kVecs * kLanes ? left - (kVecs - 1) * kLanes : kLanes);
    if (last < kLanes)
      DotColumnsAt<Ops, kVecs, true>(p, column, Ops::First(last));
    else
      DotColumnsAt<Ops, kVecs, false>(p, column, Ops::First(kLanes));
    column += kVecs * kLanes;
  };
  while (column < p.columns) {
    // What is left over is not one short chain behind many long ones.
    const int64_t vecs = (p.columns - column + kLanes - 1) / kLanes;
    switch (vecs <= kMost ? vecs : vecs < 2 * kMost ? (vecs + 1) / 2 : kMost) {
      case 1:
        take.template operator()<1>();
        break;
      case 2:
        take.template operator()<2>();
        break;
      case 3:
        take.template operator()<3>();
        break;
      case 4:
        take.template operator()<4>();
        break;
      case 5:
        take.template operator()<5>();
        break;
      case 6:
        take.template operator()<6>();
        break;
      case 7:
        take.template operator()<7>();
        break;
      default:
        take.template operator()<kMost>();
    }
  }
}

}  // namespace
