#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/base/status.h"

namespace tenon::conformance::mock {

/// A few lines of StableHLO text, enough for the suite's programs about the API: straight code of add, subtract,
/// multiply, constant and replica_id over f32, s32 and u32. Ops that it does not know give UNIMPLEMENTED.
struct MockProgram {
  struct Parameter {
    Shape shape;
    bool donated = false;
  };
  struct Statement {
    std::string result, op;
    std::vector<std::string> operands;
    std::vector<double> constant;
    Shape shape;
  };
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::string> parameter_names;
  std::vector<Shape> results;
  std::vector<std::string> returned;
  std::vector<Statement> statements;

  /// The results' numbers of arguments' numbers.
  std::vector<std::vector<double>> Run(const std::vector<std::vector<double>>& arguments, int replica) const;
};

Result<MockProgram> ParseProgram(std::string_view text);

}  // namespace tenon::conformance::mock
