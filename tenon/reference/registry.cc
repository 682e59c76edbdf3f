#include <unordered_map>

#include "tenon/reference/evaluator.h"

namespace tenon::reference {
namespace {

using Families = std::span<const OpEntry> (*)();

// Every family of operations that are not elementwise.
constexpr Families kFamilies[] = {
    &ControlOps, &MovementOps, &SliceOps,      &DynamicOps,     &ReduceOps, &WindowOps,        &GatherScatterOps,
    &SortOps,    &DotOps,      &RaggedDotOps,  &ConvolutionOps, &LinalgOps, &NormalizationOps, &FftOps,
    &RngOps,     &ProcessOps,  &CollectiveOps, &CustomCallOps,  &ChloOps,
};

std::unordered_map<std::string_view, OpHandler> MakeTable() {
  std::unordered_map<std::string_view, OpHandler> table;
  for (Families family : kFamilies) {
    for (const OpEntry& entry : family()) table.emplace(entry.name, entry.handler);
  }
  return table;
}

}  // namespace

OpHandler FindHandler(std::string_view name) {
  static const auto* const table = new std::unordered_map<std::string_view, OpHandler>(MakeTable());
  const auto it = table->find(name);
  return it == table->end() ? nullptr : it->second;
}

}  // namespace tenon::reference
