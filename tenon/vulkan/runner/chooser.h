#pragma once

#include <cstdint>
#include <memory>

#include "tenon/kir/kir.h"

namespace tenon::vulkan {

/// Cells of a row of the table that a chooser goes through: a launch's groups in three directions, the branch that it
/// is in, and the first of the three cells where its size goes.
inline constexpr int64_t kChooserCells = 5;

/// The kernel that decides for a choice which launches happen. Buffers: the index (one pred or s32), the table
/// [rows, kChooserCells] of s32, and the cells, of s32. Params: rows, cells, branches. The cells of a row become its
/// groups where its branch is the chosen one, else zeros. A pred chooses 0 or 1, an index out of range the last branch.
std::shared_ptr<const kir::Kernel> ChooserKernel(bool is_pred);

}  // namespace tenon::vulkan
