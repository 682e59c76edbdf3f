#include "program.h"

#include <cstdlib>
#include <cstring>
#include <regex>

using tenon::DType;
using tenon::InvalidArgument;
using tenon::Result;
using tenon::Shape;
using tenon::Status;
using tenon::Unimplemented;

static Result<Shape> ParseType(const std::string& text) {
  std::smatch m;
  if (!std::regex_search(text, m, std::regex(R"(tensor<((?:\d+x)*)(f32|i32)>)")))
    return Unimplemented("this device has f32 and i32 tensors of fixed shapes, got '" + text + "'");
  Shape shape{m[2] == "f32" ? DType::kF32 : DType::kS32, {}};
  const std::string extents = m[1];
  for (const char* at = extents.c_str(); *at != '\0'; ++at) {
    char* end;
    shape.dims.push_back(std::strtoll(at, &end, 10));
    at = end;
  }
  return shape;
}

static std::vector<std::string> Names(const std::string& text) {
  static const std::regex name("%[A-Za-z0-9_]+");
  return {std::sregex_token_iterator(text.begin(), text.end(), name), std::sregex_token_iterator()};
}

// One number for all elements, or one for each.
static Result<std::string> ParseConstant(const std::string& text, const Shape& shape) {
  std::vector<double> numbers;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end;
    const double number = std::strtod(at, &end);
    if (end != at) numbers.push_back(number);
    at = end != at ? end : at + 1;
  }
  const auto elements = static_cast<size_t>(tenon::NumElements(shape.dims));
  if (numbers.size() != 1 && numbers.size() != elements)
    return InvalidArgument("dense<" + text + "> does not fit " + tenon::ToString(shape));
  std::string bytes(4 * elements, '\0');
  for (size_t i = 0; i < elements; ++i) {
    const double number = numbers[numbers.size() == 1 ? 0 : i];
    const auto real = static_cast<float>(number);
    const auto integer = static_cast<int32_t>(number);
    std::memcpy(&bytes[4 * i], shape.dtype == DType::kF32 ? static_cast<const void*>(&real) : &integer, 4);
  }
  return bytes;
}

static Status ParseStatement(const std::string& line, Program& program) {
  static const std::regex form(R"re(\s*(%\w+) = "?stablehlo\.(\w+)"?(.*?)\s:\s(?:.*->\s*)?(.*))re");
  static const std::map<std::string, Op> ops = {
      {"add", Op::kAdd}, {"subtract", Op::kSubtract}, {"multiply", Op::kMultiply}};
  std::smatch m;
  if (!std::regex_match(line, m, form)) return Unimplemented("this device cannot do '" + line + "'");
  TENON_ASSIGN_OR_RETURN(const Shape shape, ParseType(m[4]));
  program.shapes[m[1]] = shape;
  if (m[2] == "constant") {
    std::smatch dense;
    const std::string value = m[3];
    if (!std::regex_search(value, dense, std::regex("dense<(.*)>"))) return Unimplemented("constants are dense here");
    TENON_ASSIGN_OR_RETURN(program.constants[m[1]], ParseConstant(dense[1], shape));
    return tenon::OkStatus();
  }
  const auto op = ops.find(m[2]);
  if (op == ops.end()) return Unimplemented("this device has no op stablehlo." + m[2].str());
  Statement statement{m[1], op->second, Names(m[3]), shape};
  if (statement.operands.size() != 2) return InvalidArgument("'" + line + "' wants two operands");
  for (const std::string& name : statement.operands) {
    if (!program.shapes.contains(name)) return InvalidArgument(name + " is not defined");
    if (program.shapes[name] != shape) return InvalidArgument("'" + line + "' has operands of another shape");
  }
  program.statements.push_back(std::move(statement));
  return tenon::OkStatus();
}

Result<Program> ParseProgram(std::string_view text) {
  if (text.size() > 65536 || text.find('\0') != text.npos) return Unimplemented("this device reads short text only");
  Program program;
  bool in_main = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line(text.substr(at, end - at));
    at = end + 1;
    if (!in_main && line.find("func.func") != line.npos) {
      in_main = true;
      const std::regex parameter(R"((%\w+)\s*:\s*(tensor<[^>]*>|![a-z.]+)(\s*\{[^}]*\})?)");
      const std::string head = line.substr(0, line.rfind("->"));
      for (std::sregex_iterator it(head.begin(), head.end(), parameter), none; it != none; ++it) {
        TENON_ASSIGN_OR_RETURN(program.shapes[(*it)[1]], ParseType((*it)[2]));
        program.parameters.push_back((*it)[1]);
        program.donated.push_back((*it)[3].str().find("tf.aliasing_output") != std::string::npos);
      }
    } else if (in_main && std::regex_search(line, std::regex(R"(^\s*"?(func\.|stablehlo\.)?return\b)"))) {
      program.results = Names(line);
      for (const std::string& name : program.results) {
        if (!program.shapes.contains(name)) return InvalidArgument(name + " is not defined");
      }
      return program;
    } else if (in_main && line.find_first_not_of(" \t\r") != line.npos) {
      TENON_RETURN_IF_ERROR(ParseStatement(line, program));
    }
  }
  return InvalidArgument("no function main with a return was found");
}
