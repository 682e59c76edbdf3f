#include "tools/tenon-opt/input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

namespace tenon::opt {

namespace {

constexpr std::string_view kSplit = "\n// -----\n";

std::string_view SkipComments(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with("//")) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

}  // namespace

InputKind DetectInput(std::string_view bytes) {
  const std::string_view text = SkipComments(bytes);
  if (text.starts_with("kernel ")) return InputKind::kKir;
  if (text.starts_with("plan \"")) return InputKind::kPlan;
  return InputKind::kStablehlo;
}

Result<std::string> ReadInput(const std::string& file) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream in(file, std::ios::binary);
  if (!in) return NotFound(std::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool ForEachChunk(const std::string& file, std::string_view text, bool split,
                  const std::function<Status(std::string_view chunk)>& run) {
  bool good = true;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = split ? std::min(text.find(kSplit, begin), text.size()) : text.size();
    if (begin != 0) std::cout << "// -----\n";
    const Status status = run(text.substr(begin, end - begin));
    if (!status.ok()) {
      good = false;
      std::cerr << (file == "-" ? "<stdin>" : file) << ":"
                << 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n')
                << ": error: " << status.message() << "\n";
    }
    if (end == text.size()) break;
    begin = end + kSplit.size();
  }
  return good;
}

}  // namespace tenon::opt
