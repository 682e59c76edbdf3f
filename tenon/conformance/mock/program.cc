#include "tenon/conformance/mock/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>

namespace tenon::conformance::mock {

namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

Result<Shape> ParseType(std::string_view text) {
  text = Trim(text);
  if (text.starts_with("!stablehlo.")) return Unimplemented(fmt::format("values of type '{}' are not read", text));
  if (!text.starts_with("tensor<")) return InvalidArgument(fmt::format("'{}' is not a tensor type", text));
  text.remove_prefix(7);
  Shape shape;
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front()))) {
    int64_t extent = 0;
    while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front()))) {
      extent = extent * 10 + (text.front() - '0');
      text.remove_prefix(1);
    }
    if (text.empty() || text.front() != 'x') return InvalidArgument("an extent wants an x behind it");
    text.remove_prefix(1);
    shape.dims.push_back(extent);
  }
  std::string_view element = text.substr(0, text.find('>'));
  if (element == "f32") {
    shape.dtype = DType::kF32;
  } else if (element == "i32") {
    shape.dtype = DType::kS32;
  } else if (element == "ui32") {
    shape.dtype = DType::kU32;
  } else {
    return Unimplemented(fmt::format("the mock has no element type '{}'", element));
  }
  return shape;
}

// Names that begin with %.
std::vector<std::string> Names(std::string_view text) {
  std::vector<std::string> names;
  for (size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    names.emplace_back(text.substr(at, end - at));
  }
  return names;
}

// Pieces between `separator` outside <>, {} and ().
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '{' || text[i] == '(') ++depth;
    if (text[i] == '}' || text[i] == ')' || (text[i] == '>' && (i == 0 || text[i - 1] != '-'))) --depth;
    if (text[i] == separator && depth == 0) {
      pieces.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (!Trim(text.substr(begin)).empty()) pieces.push_back(text.substr(begin));
  return pieces;
}

Status ParseHeader(std::string_view header, MockProgram& program) {
  size_t open = header.find('(');
  size_t arrow = header.find("->");
  if (open == std::string_view::npos || arrow == std::string_view::npos)
    return InvalidArgument("main wants (parameters) -> results");
  size_t close = header.rfind(')', arrow);
  for (std::string_view piece : Split(header.substr(open + 1, close - open - 1), ',')) {
    std::vector<std::string> names = Names(piece);
    size_t colon = piece.find(':');
    if (names.empty() || colon == std::string_view::npos) return InvalidArgument("a parameter wants a name and a type");
    TENON_ASSIGN_OR_RETURN(Shape shape, ParseType(piece.substr(colon + 1)));
    program.parameters.push_back({shape, piece.find("tf.aliasing_output") != std::string_view::npos});
    program.parameter_names.push_back(names[0]);
  }
  std::string_view results = Trim(header.substr(arrow + 2));
  if (!results.empty() && results.front() == '(') results = results.substr(1, results.rfind(')') - 1);
  for (std::string_view piece : Split(results, ',')) {
    TENON_ASSIGN_OR_RETURN(Shape shape, ParseType(piece));
    program.results.push_back(shape);
  }
  return OkStatus();
}

Status ParseStatement(std::string_view line, const std::map<std::string, Shape>& shapes, MockProgram& program) {
  MockProgram::Statement statement;
  size_t equals = line.find('=');
  std::vector<std::string> left = Names(line.substr(0, equals));
  if (left.size() != 1) return Unimplemented("the mock knows straight code only");
  statement.result = left[0];
  std::string_view right = Trim(line.substr(equals + 1));
  if (!right.empty() && right.front() == '"') right.remove_prefix(1);
  if (!right.starts_with("stablehlo.")) return InvalidArgument(fmt::format("'{}' is no op", right.substr(0, 30)));
  right.remove_prefix(10);
  size_t end = 0;
  while (end < right.size() && (std::isalnum(static_cast<unsigned char>(right[end])) || right[end] == '_')) ++end;
  statement.op = right.substr(0, end);
  right.remove_prefix(end);
  size_t colon = right.find(" : ");
  if (colon == std::string_view::npos) return InvalidArgument("an op wants a type");
  std::string_view type = right.substr(colon + 3);
  if (size_t arrow = type.find("->"); arrow != std::string_view::npos) type = type.substr(arrow + 2);
  TENON_ASSIGN_OR_RETURN(statement.shape, ParseType(type));
  const std::string& op = statement.op;
  if (op == "add" || op == "subtract" || op == "multiply") {
    statement.operands = Names(right.substr(0, colon));
    if (statement.operands.size() != 2) return InvalidArgument(fmt::format("{} wants two operands", op));
    for (const std::string& name : statement.operands) {
      auto found = shapes.find(name);
      if (found == shapes.end()) return InvalidArgument(fmt::format("{} is not defined", name));
      if (!(found->second == statement.shape)) return InvalidArgument(fmt::format("{} of different shapes", op));
    }
  } else if (op == "constant") {
    size_t dense = right.find("dense<");
    if (dense == std::string_view::npos) return Unimplemented("the mock knows dense constants only");
    const std::string text(right.substr(dense + 6, colon - dense - 6));
    for (const char* p = text.c_str(); *p != '\0';) {
      char* after = nullptr;
      double number = std::strtod(p, &after);
      if (after == p) {
        ++p;
      } else {
        statement.constant.push_back(number);
        p = after;
      }
    }
    statement.constant.resize(
        static_cast<size_t>(NumElements({statement.shape.dims.data(), statement.shape.dims.size()})),
        statement.constant.empty() ? 0 : statement.constant[0]);
  } else if (op != "replica_id") {
    return Unimplemented(fmt::format("the mock has no op stablehlo.{}", op));
  }
  program.statements.push_back(std::move(statement));
  return OkStatus();
}

}  // namespace

Result<MockProgram> ParseProgram(std::string_view text) {
  MockProgram program;
  size_t module = text.find("module");
  size_t main = text.find("@main");
  if (module == std::string_view::npos) return InvalidArgument("the code is no module");
  if (text.find("\"func.func\"") != std::string_view::npos)
    return Unimplemented("the mock does not read the generic form of functions");
  if (main == std::string_view::npos) return InvalidArgument("there is no function main");
  if (std::count(text.begin(), text.end(), '{') != std::count(text.begin(), text.end(), '}'))
    return InvalidArgument("the code is cut off");
  if (text.find("^bb") != std::string_view::npos || text.find("while") != std::string_view::npos) {
    return Unimplemented("the mock knows no regions");
  }
  size_t at = text.find('@', module);
  program.name = at < main ? std::string(text.substr(at + 1, text.find(' ', at) - at - 1)) : "main";
  size_t line_end = text.find('\n', main);
  if (line_end == std::string_view::npos) return Unimplemented("the mock wants a line per op");
  size_t brace = text.rfind('{', line_end);
  if (brace == std::string_view::npos || brace < main) return InvalidArgument("main wants a body");
  TENON_RETURN_IF_ERROR(ParseHeader(text.substr(main, brace - main), program));
  std::map<std::string, Shape> shapes;
  for (size_t i = 0; i < program.parameters.size(); ++i)
    shapes[program.parameter_names[i]] = program.parameters[i].shape;
  std::string_view body = text.substr(brace + 1);
  while (!body.empty()) {
    size_t end = body.find('\n');
    std::string_view line = Trim(body.substr(0, end));
    body = end == std::string_view::npos ? std::string_view() : body.substr(end + 1);
    if (line.empty() || line.front() == '}') continue;
    if (line.starts_with("return")) {
      program.returned = Names(line);
      for (const std::string& name : program.returned) {
        if (!shapes.contains(name)) return InvalidArgument(fmt::format("{} is not defined", name));
      }
      break;
    }
    TENON_RETURN_IF_ERROR(ParseStatement(line, shapes, program));
    shapes[program.statements.back().result] = program.statements.back().shape;
  }
  if (program.returned.size() != program.results.size())
    return InvalidArgument("main returns another number of values than it says");
  return program;
}

std::vector<std::vector<double>> MockProgram::Run(const std::vector<std::vector<double>>& arguments,
                                                  int replica) const {
  std::map<std::string, std::vector<double>> values;
  for (size_t i = 0; i < arguments.size(); ++i) values[parameter_names[i]] = arguments[i];
  for (const Statement& s : statements) {
    std::vector<double> out = s.constant;
    if (s.op == "replica_id") {
      out = {static_cast<double>(replica)};
    } else if (s.op != "constant") {
      const std::vector<double>&a = values[s.operands[0]], &b = values[s.operands[1]];
      out.resize(a.size());
      for (size_t i = 0; i < a.size(); ++i)
        out[i] = s.op == "add" ? a[i] + b[i] : s.op == "subtract" ? a[i] - b[i] : a[i] * b[i];
    }
    values[s.result] = std::move(out);
  }
  std::vector<std::vector<double>> out_values;
  for (const std::string& value : returned) out_values.push_back(values[value]);
  return out_values;
}

}  // namespace tenon::conformance::mock
