// What this device compiles: StableHLO text of straight elementwise code on f32 and s32. A vendor's compiler stands
// here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device.h"
#include "tenon/base/shape.h"
#include "tenon/base/status.h"

struct Statement {
  std::string result;
  Op op = Op::kCopy;
  std::vector<std::string> operands;
  tenon::Shape shape;
};

struct Program {
  std::vector<std::string> parameters, results;  // names of values
  std::vector<bool> donated;                     // per parameter
  std::map<std::string, tenon::Shape> shapes;    // of every value
  std::map<std::string, std::string> constants;  // their bytes
  std::vector<Statement> statements;
};

// INVALID_ARGUMENT for what is wrong, UNIMPLEMENTED, naming it, for what this device cannot do.
tenon::Result<Program> ParseProgram(std::string_view text);
