#include "tenon/client/program.h"

#include <fstream>
#include <iterator>

namespace tenon::client {
namespace {

// MLIR text begins, after white space and comments, with a word or punctuation; a protobuf message with a tag byte.
bool LooksLikeMlir(std::string_view code) {
  if (code.starts_with("ML\xefR")) return true;
  for (const char c : code.substr(0, 4096)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 && c != '\n' && c != '\t' && c != '\r' && c != '\f') return false;
  }
  const size_t first = code.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const std::string_view rest = code.substr(first);
  for (const std::string_view start : {"module", "func", "//", "#", "!", "\"", "builtin", "sdy.", "{-#"}) {
    if (rest.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

Result<Program> Program::FromFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("cannot open the program '" + path + "'");
  std::string code((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return DataLoss("cannot read the program '" + path + "'");
  if (code.empty()) return InvalidArgument("the program '" + path + "' is empty");
  return LooksLikeMlir(code) ? Mlir(std::move(code)) : Hlo(std::move(code));
}

}  // namespace tenon::client
