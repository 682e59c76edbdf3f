#include "tenon/base/strided_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tenon {
namespace {

TEST(StridedCopy, Transposes) {
  const std::vector<int32_t> from = {1, 2, 3, 4, 5, 6};
  std::vector<int32_t> to(6);
  const int64_t dims[] = {2, 3}, from_strides[] = {12, 4}, to_strides[] = {4, 8};
  StridedCopy(to.data(), to_strides, from.data(), from_strides, dims, 4);
  EXPECT_EQ(to, (std::vector<int32_t>{1, 4, 2, 5, 3, 6}));
}

TEST(StridedCopy, ReversesAndBroadcasts) {
  const std::vector<int16_t> from = {1, 2, 3};
  std::vector<int16_t> to(6);
  const int64_t dims[] = {2, 3}, from_strides[] = {0, -2}, to_strides[] = {6, 2};
  StridedCopy(to.data(), to_strides, from.data() + 2, from_strides, dims, 2);
  EXPECT_EQ(to, (std::vector<int16_t>{3, 2, 1, 3, 2, 1}));
}

TEST(StridedCopy, EveryElementSizeAndRank) {
  for (int64_t bytes = 1; bytes <= 100; ++bytes) {
    const int64_t dims[] = {2, 1, 3, 4};
    // From dense row-major to dense with the dims reversed.
    const int64_t from_strides[] = {12 * bytes, 12 * bytes, 4 * bytes, bytes};
    const int64_t to_strides[] = {bytes, 2 * bytes, 2 * bytes, 6 * bytes};
    std::vector<uint8_t> from(static_cast<size_t>(24 * bytes)), to(from.size());
    std::iota(from.begin(), from.end(), uint8_t{0});
    StridedCopy(to.data(), to_strides, from.data(), from_strides, dims, bytes);
    for (int64_t a = 0; a < 2; ++a) {
      for (int64_t b = 0; b < 3; ++b) {
        for (int64_t c = 0; c < 4; ++c) {
          for (int64_t byte = 0; byte < bytes; ++byte) {
            EXPECT_EQ(to[static_cast<size_t>((a + 2 * b + 6 * c) * bytes + byte)],
                      from[static_cast<size_t>((a * 12 + b * 4 + c) * bytes + byte)]);
          }
        }
      }
    }
  }
}

TEST(StridedCopy, TurnsLongRowsInPieces) {
  for (const int64_t bytes : {1, 3, 4, 8, 16, 24, 32}) {
    const int64_t rows = 700, cols = 67;
    const int64_t dims[] = {2, cols, rows};
    const int64_t to_strides[] = {rows * cols * bytes, rows * bytes, bytes};
    const int64_t from_strides[] = {rows * cols * bytes, bytes, cols * bytes};
    std::vector<uint8_t> from(static_cast<size_t>(2 * rows * cols * bytes)), to(from.size());
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
    StridedCopy(to.data(), to_strides, from.data(), from_strides, dims, bytes);
    int64_t wrong = 0;
    for (int64_t m = 0; m < 2; ++m) {
      for (int64_t c = 0; c < cols; ++c) {
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t byte = 0; byte < bytes; ++byte) {
            wrong += to[static_cast<size_t>(((m * cols + c) * rows + r) * bytes + byte)] !=
                     from[static_cast<size_t>(((m * rows + r) * cols + c) * bytes + byte)];
          }
        }
      }
    }
    EXPECT_EQ(wrong, 0) << bytes;
  }
}

TEST(StridedCopy, AdjacentRunsLeaveWhatIsBesideThem) {
  for (int64_t bytes = 1; bytes <= 40; ++bytes) {
    for (int64_t runs = 1; runs <= 14; ++runs) {
      // Rows that another one may already have filled up: from the last one to the first.
      const int64_t rows = 3, row = runs * bytes;
      const int64_t dims[] = {rows, runs, bytes};
      const int64_t to_strides[] = {-row, bytes, 1}, from_strides[] = {bytes, rows * bytes, 1};
      std::vector<uint8_t> from(static_cast<size_t>(rows * row)), to(from.size() + 2, 0xee);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
      StridedCopy(to.data() + 1 + (rows - 1) * row, to_strides, from.data(), from_strides, dims, 1);
      std::vector<uint8_t> expected(to.size(), 0xee);
      for (int64_t m = 0; m < rows; ++m) {
        for (int64_t r = 0; r < runs; ++r) {
          for (int64_t byte = 0; byte < bytes; ++byte)
            expected[static_cast<size_t>(1 + (rows - 1 - m) * row + r * bytes + byte)] =
                from[static_cast<size_t>((r * rows + m) * bytes + byte)];
        }
      }
      EXPECT_EQ(to, expected) << bytes << " bytes, " << runs << " runs";
    }
  }
}

TEST(StridedCopy, EmptyAndScalar) {
  int32_t from = 7, to = 0;
  StridedCopy(&to, {}, &from, {}, {}, 4);
  EXPECT_EQ(to, 7);
  const int64_t dims[] = {0}, strides[] = {4};
  StridedCopy(nullptr, strides, nullptr, strides, dims, 4);
}

}  // namespace
}  // namespace tenon
