// Runs kernels in their text form on a software device and on KIR's evaluator, on random memory.
//
//   emit_spirv_judge [--bake] FILES...      '-' reads standard input; parameters are 7
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "test/emit_spirv/run.h"

namespace {

tenon::Result<std::string> Judge(const std::string& text, bool bake) {
  TENON_ASSIGN_OR_RETURN(const tenon::kir::Kernel kernel, tenon::kir::Parse(text));
  const std::vector<int64_t> params(kernel.num_params, 7);
  TENON_ASSIGN_OR_RETURN(const auto device, tenon::emit_spirv::testing::SoftwareDevice());
  return tenon::emit_spirv::testing::Judge(*device, bake ? tenon::emit_spirv::Bake(kernel, params) : kernel, params,
                                           int64_t{1} << 30);
}

}  // namespace

int main(int argc, char** argv) {
  bool bake = false;
  int bad = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--bake") {
      bake = true;
      continue;
    }
    std::ifstream file(name);
    std::istream& in = name == "-" ? std::cin : file;
    const auto difference = Judge(std::string(std::istreambuf_iterator<char>(in), {}), bake);
    bad += !difference.ok() || !difference->empty();
    std::printf("%s: %s\n", name.c_str(),
                !difference.ok()      ? difference.status().ToString().c_str()
                : difference->empty() ? "the same"
                                      : difference->c_str());
  }
  return bad != 0;
}
