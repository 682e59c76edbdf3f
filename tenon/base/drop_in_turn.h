#pragma once

#include <utility>
#include <vector>

#include "tenon/base/contain.h"

namespace tenon {

/// Destroys `items`, the last one first. What they hold themselves and give to DropInTurn when they are destroyed joins
/// them, so that a chain of any length takes the stack of one. T must be movable without exceptions.
template <class T>
void DropInTurn(std::vector<T> items) noexcept {
  static thread_local std::vector<T>* at_work = nullptr;
  if (at_work != nullptr) {
    // Where there is no memory for it, what is left goes on this stack.
    (void)Contain("dropping", [&] {
      for (T& item : items) at_work->push_back(std::move(item));
    });
    return;
  }
  at_work = &items;
  while (!items.empty()) {
    const T last = std::move(items.back());
    items.pop_back();
  }
  at_work = nullptr;
}

}  // namespace tenon
