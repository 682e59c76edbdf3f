#pragma once

#include <cstdint>
#include <vector>

#include "mlir/IR/Builders.h"
#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/compiler/exchange.h"

namespace tenon::compiler {

/// Elements that one process has and another one (or the same) wants.
struct Transfer {
  int from = 0;
  int to = 0;
  int64_t count = 0;
  /// In process `from`: a flat array that has them from `offset` on. Ignored in others.
  mlir::Value source;
  int64_t offset = 0;
};

/// Makes the exchanges of one program. Every process makes the same calls with the same lists, of which each knows the
/// sources that it has; nothing that is decided here depends on which process it is.
class Exchanger {
 public:
  explicit Exchanger(const Processes& processes) : self_(processes.self), count_(processes.count()) {}

  int self() const { return self_; }
  int count() const { return count_; }

  /// A flat array of what is for this process, in the order of `transfers`; those from a process to itself are copied.
  /// No exchange when nothing moves between processes.
  mlir::Value Run(mlir::OpBuilder& builder, mlir::Location loc, mlir::Type element,
                  const std::vector<Transfer>& transfers);

  // So far; kept and set by those who try several ways.
  struct Counts {
    uint32_t steps = 0;
    int64_t bytes = 0;
  };
  Counts counts;

 private:
  int self_;
  int count_;
};

/// Bytes that an element takes where it is exchanged.
int64_t ElementBytes(mlir::Type element);
/// `x` as a flat array.
mlir::Value Flat(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value x);
/// Elements [offset, offset + count) of a flat array.
mlir::Value FlatPart(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value flat, int64_t offset, int64_t count);

}  // namespace tenon::compiler
