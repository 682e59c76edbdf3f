#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// Integers and predicates that constants, counting and arithmetic on them settle, up to policy::kMaxKnownNumbers of a
/// value. What was found out once is kept, of a program that only grows.
class KnownNumbers {
 public:
  explicit KnownNumbers(const Program& program) : program_(program) {}
  /// The elements, row after row, until the next question; null where they are not known.
  const std::vector<int64_t>* Of(Ref r);
  /// The same of a node of one result that is not in the program yet.
  std::optional<std::vector<int64_t>> Of(const GraphNode& node);

 private:
  struct Entry {
    bool known = false;
    std::vector<int64_t> values;
  };
  const std::vector<int64_t>* Find(Ref r, int depth);
  bool Make(const GraphNode& node, int depth, std::vector<int64_t>& values);
  bool MakeElementwise(const GraphNode& node, int depth, std::vector<int64_t>& values);
  bool MakeReduce(const GraphNode& node, int depth, std::vector<int64_t>& values);

  /// Before a question: lets go of what was kept, where that has become too much.
  void ForgetIfFull();
  /// After it: what was called unknown for lack of depth may be known to the next one.
  void ForgetCut();

  const Program& program_;
  std::unordered_map<Ref, Entry, RefHasher> entries_;
  int64_t kept_ = 0;       ///< Numbers in entries_.
  bool too_deep_ = false;  ///< Since it was last cleared, some value was too deep.
  std::vector<Ref> cut_;   ///< Of entries_, those that are unknown for that reason.
};

}  // namespace tenon::compiler
