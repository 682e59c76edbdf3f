#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// Integers and predicates that constants, counting and arithmetic on them settle, up to policy::kMaxKnownNumbers of a
/// value. For the questions of one rule: what was found out once is kept.
class KnownNumbers {
 public:
  explicit KnownNumbers(const Program& program) : program_(program) {}
  /// The elements, row after row; null where they are not known.
  const std::vector<int64_t>* Of(Ref r) { return Find(r, 0); }
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

  const Program& program_;
  std::unordered_map<Ref, Entry, RefHasher> entries_;
};

}  // namespace tenon::compiler
