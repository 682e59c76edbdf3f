#pragma once

#include <cstddef>

#include "mlir/IR/MLIRContext.h"
#include "tenon/dialect/parse.h"

namespace tenon::dialect {

struct Context::Impl {
  Impl();
  mlir::MLIRContext mlir;
  size_t parses = 0;
  size_t bytes = 0;
};

}  // namespace tenon::dialect
