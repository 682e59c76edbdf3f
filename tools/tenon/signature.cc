#include "tools/tenon/signature.h"

#include <charconv>
#include <protozero/pbf_reader.hpp>
#include <string>

#include "tools/tenon/array.h"

namespace tenon::cli {
namespace {

using Shapes = std::vector<Shape>;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// MLIR's text with spaces for its comments, which may hold what a program once was.
std::string WithoutComments(std::string_view text) {
  std::string bare(text);
  bool quoted = false;
  for (size_t i = 0; i < bare.size(); ++i) {
    if (quoted && bare[i] == '\\') {
      ++i;
    } else if (bare[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && bare[i] == '/' && i + 1 < bare.size() && bare[i + 1] == '/') {
      for (; i < bare.size() && bare[i] != '\n'; ++i) bare[i] = ' ';
    }
  }
  return bare;
}

// The text between the bracket at `open` and the one that closes it; strings are skipped.
std::optional<std::string_view> Enclosed(std::string_view text, size_t open) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '(' || c == '{' || c == '[' || c == '<') ++depth;
    if (c == ')' || c == '}' || c == ']' || (c == '>' && text[i - 1] != '-')) --depth;
    if (depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return std::nullopt;
}

// At commas outside of brackets.
std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  size_t from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '{' || c == '[' || c == '<') ++depth;
    if (c == ')' || c == '}' || c == ']' || (c == '>' && i > 0 && text[i - 1] != '-')) --depth;
    if (c != ',' || depth != 0) continue;
    parts.push_back(text.substr(from, i - from));
    from = i + 1;
  }
  if (!Trim(text.substr(from)).empty()) parts.push_back(text.substr(from));
  return parts;
}

std::optional<Shape> ParseValueType(std::string_view type) {
  type = Trim(type);
  if (type.starts_with("!stablehlo.token")) return Shape{DType::kToken, {}};
  if (!type.starts_with("tensor<")) return std::nullopt;
  const std::optional<std::string_view> inside = Enclosed(type, 6);
  return inside ? ParseTensorType(*inside) : std::nullopt;
}

std::optional<Shapes> ParseTypes(std::string_view list, bool named) {
  Shapes shapes;
  for (std::string_view part : Split(list)) {
    if (named) {
      const size_t colon = part.find(':');
      if (colon == part.npos) return std::nullopt;
      part.remove_prefix(colon + 1);
    }
    const std::optional<Shape> shape = ParseValueType(part);
    if (!shape) return std::nullopt;
    shapes.push_back(*shape);
  }
  return shapes;
}

// HloModuleProto.host_program_shape = 4, ProgramShapeProto.parameters = 1, ShapeProto {element_type = 2, dimensions =
// 3}.
std::optional<Shapes> ReadHlo(std::string_view bytes) {
  Shapes shapes;
  bool found = false;
  try {
    protozero::pbf_reader module(bytes.data(), bytes.size());
    while (module.next(4, protozero::pbf_wire_type::length_delimited)) {
      found = true;
      shapes.clear();
      protozero::pbf_reader program = module.get_message();
      while (program.next(1, protozero::pbf_wire_type::length_delimited)) {
        protozero::pbf_reader parameter = program.get_message();
        int type = 0;
        Dims dims;
        while (parameter.next()) {
          if (parameter.tag_and_type() == protozero::tag_and_type(2, protozero::pbf_wire_type::varint)) {
            type = parameter.get_enum();
          } else if (parameter.tag_and_type() ==
                     protozero::tag_and_type(3, protozero::pbf_wire_type::length_delimited)) {
            for (const int64_t extent : parameter.get_packed_int64()) dims.push_back(extent);
          } else if (parameter.tag_and_type() == protozero::tag_and_type(3, protozero::pbf_wire_type::varint)) {
            dims.push_back(parameter.get_int64());
          } else {
            parameter.skip();
          }
        }
        // xla.PrimitiveType by its numbers.
        constexpr DType kTypes[] = {
            DType::kInvalid,    DType::kPred, DType::kS8,       DType::kS16,           DType::kS32,
            DType::kS64,        DType::kU8,   DType::kU16,      DType::kU32,           DType::kU64,
            DType::kF16,        DType::kF32,  DType::kF64,      DType::kInvalid,       DType::kInvalid,
            DType::kC64,        DType::kBF16, DType::kToken,    DType::kC128,          DType::kF8E5M2,
            DType::kF8E4M3FN,   DType::kS4,   DType::kU4,       DType::kF8E4M3B11FNUZ, DType::kF8E5M2FNUZ,
            DType::kF8E4M3FNUZ, DType::kS2,   DType::kU2,       DType::kF8E4M3,        DType::kF8E3M4,
            DType::kS1,         DType::kU1,   DType::kF4E2M1FN, DType::kF8E8M0FNU};
        if (type < 0 || type >= static_cast<int>(std::size(kTypes)) || kTypes[type] == DType::kInvalid)
          return std::nullopt;
        shapes.push_back({kTypes[type], dims});
      }
    }
  } catch (...) {
    return std::nullopt;  // Damaged: the plugin will say so.
  }
  return found ? std::optional(shapes) : std::nullopt;
}

}  // namespace

std::optional<Shape> ParseTensorType(std::string_view type) {
  Shape shape;
  type = Trim(type);
  // An encoding may follow.
  if (const std::vector<std::string_view> parts = Split(type); !parts.empty()) type = Trim(parts[0]);
  for (;;) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(type.data(), type.data() + type.size(), extent);
    const auto digits = static_cast<size_t>(end - type.data());
    if (error != std::errc() || digits >= type.size() || type[digits] != 'x') break;
    shape.dims.push_back(extent);
    type.remove_prefix(digits + 1);
  }
  std::string name;
  if (type == "i1") {
    name = "pred";
  } else if (type.starts_with("ui")) {
    name = "u" + std::string(type.substr(2));
  } else if (type.starts_with('i')) {
    name = "s" + std::string(type.substr(1));
  } else if (type == "complex<f32>") {
    name = "c64";
  } else if (type == "complex<f64>") {
    name = "c128";
  } else {
    for (const char c : type) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  const Result<DType> dtype = ParseDType(name);
  if (!dtype.ok()) return std::nullopt;
  shape.dtype = *dtype;
  return shape;
}

std::optional<Shapes> ReadTextParameters(std::string_view given) {
  const std::string bare = WithoutComments(given);
  const std::string_view text = bare;
  // HLO text: HloModule name, entry_computation_layout={(f32[2,3]{1,0}, s32[])->f32[]}
  if (Trim(text.substr(0, 4096)).starts_with("HloModule")) {
    const size_t at = text.find("entry_computation_layout={(");
    if (at == text.npos) return std::nullopt;
    const std::optional<std::string_view> list = Enclosed(text, text.find('(', at));
    if (!list) return std::nullopt;
    Shapes shapes;
    for (std::string_view part : Split(*list)) {
      const Result<Shape> shape = ParseShape(part.substr(0, part.find('{')));
      if (!shape.ok()) return std::nullopt;
      shapes.push_back(*shape);
    }
    return shapes;
  }
  // The generic form: "func.func"() <{function_type = (tensor<f32>) -> ..., sym_name = "main"}>
  for (size_t at = 0; (at = text.find("\"func.func\"()", at)) != text.npos; ++at) {
    const size_t open = text.find('{', at);
    if (open == text.npos) break;
    const std::optional<std::string_view> attributes = Enclosed(text, open);
    if (!attributes) return std::nullopt;
    const size_t type = attributes->find("function_type = (");
    if (attributes->find("sym_name = \"main\"") == attributes->npos || type == attributes->npos) continue;
    const std::optional<std::string_view> list = Enclosed(*attributes, attributes->find('(', type));
    return list ? ParseTypes(*list, false) : std::nullopt;
  }
  // func.func public @main(%arg0: tensor<2x3xf32> {...}) ; without a main, the only function.
  size_t name = text.find("@main(");
  if (name == text.npos) {
    const size_t function = text.find("func.func");
    if (function == text.npos || text.find("func.func", function + 1) != text.npos) return std::nullopt;
    name = text.find('@', function);
  }
  if (name == text.npos) return std::nullopt;
  const size_t open = text.find('(', name);
  if (open == text.npos) return std::nullopt;
  const std::optional<std::string_view> list = Enclosed(text, open);
  return list ? ParseTypes(*list, true) : std::nullopt;
}

std::optional<Shapes> ReadParameters(const client::Program& program) {
  if (program.format == "mlir") {
    if (program.code.starts_with("ML\xefR")) return std::nullopt;
    return ReadTextParameters(program.code);
  }
  if (program.format == "hlo") return ReadHlo(program.code);
  if (program.format == "hlo_with_config") {
    try {
      protozero::pbf_reader with_config(program.code);
      if (with_config.next(1, protozero::pbf_wire_type::length_delimited)) {
        const protozero::data_view module = with_config.get_view();
        return ReadHlo({module.data(), module.size()});
      }
    } catch (...) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace tenon::cli
