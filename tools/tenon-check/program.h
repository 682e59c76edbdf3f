#pragma once

// One self-checking program: the module with its checks taken out, so that it returns what is to be compared.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/dialect/parse_mlir.h"
#include "tools/tenon-check/compare.h"

namespace tenon::check_tool {

struct Check {
  std::string name;  // as the program spells it
  Criterion criterion;
  size_t actual = 0;           // number of the result that is judged
  size_t expected_result = 0;  // number of the result that it is compared with, unless there is a constant
  reference::Value expected;   // the constant; a token when there is none
};

struct Program {
  dialect::Context context;
  dialect::OwnedModule module;
  mlir::func::FuncOp entry;
  std::vector<Check> checks;
  std::vector<Shape> inputs;
  std::vector<Shape>
      results;  // of the rewritten entry: what the checks compare, or its own results when there are none
};

/// The programs of a file: pieces between lines `// -----` that hold more than comments.
std::vector<std::string> SplitChunks(std::string_view text);

/// Reads one program and takes its checks out. UNIMPLEMENTED names a check or a kind of program that this tool does not
/// know. A program without checks passes when it runs.
Result<std::unique_ptr<Program>> LoadProgram(std::string_view text);

/// Arguments for a program that takes some: small numbers of both signs, the same each time. UNIMPLEMENTED when a shape
/// is dynamic.
Result<std::vector<reference::Value>> MakeArguments(const Program& program);

}  // namespace tenon::check_tool
