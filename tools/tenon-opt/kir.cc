#include "tools/tenon-opt/kir.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "tenon/kir/kir.h"
#include "tenon/kir/math.h"

namespace tenon::opt {
namespace {

constexpr std::string_view kSplit = "\n// -----\n";

Status RunChunk(std::string_view text) {
  TENON_ASSIGN_OR_RETURN(const kir::Kernel kernel, kir::Parse(text));
  TENON_RETURN_IF_ERROR(kir::Verify(kernel));
  std::cout << kir::Print(kernel);
  return OkStatus();
}

bool RunFile(const std::string& file) {
  std::string text;
  if (file == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream in(file);
    if (!in) {
      std::cerr << "error: " << file << " cannot be read\n";
      return false;
    }
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  bool good = true;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(kSplit, begin), text.size());
    if (begin != 0) std::cout << "// -----\n";
    const Status status = RunChunk(std::string_view(text).substr(begin, end - begin));
    if (!status.ok()) {
      good = false;
      std::cerr << "error: " << file << ": " << status.message() << "\n";
    }
    if (end == text.size()) break;
    begin = end + kSplit.size();
  }
  return good;
}

}  // namespace

bool RunKir(const std::vector<std::string>& files) {
  bool good = true;
  for (const std::string& file : files) good = RunFile(file) && good;
  return good;
}

bool PrintMath(const std::string& name) {
  if (name == "list") {
    for (kir::MathId id = 0; id < kir::NumMath(); ++id) std::cout << kir::MathName(id) << "\n";
    return true;
  }
  const Result<kir::MathId> id = kir::MathByName(name);
  if (!id.ok()) {
    std::cerr << "error: " << id.status().message() << "\n";
    return false;
  }
  std::cout << kir::Print(kir::MathGraph(*id));
  return true;
}

}  // namespace tenon::opt
