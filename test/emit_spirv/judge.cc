// Runs kernels in their text form on a software device and on KIR's evaluator, on random memory.
//
//   emit_spirv_judge [--bake] FILES...      '-' reads standard input; parameters are 7
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "tenon/kir/builder.h"
#include "test/emit_spirv/run.h"

namespace {

using tenon::kir::testing::Memory;

int Judge(const std::string& text, bool bake) {
  const auto parsed = tenon::kir::Parse(text);
  if (!parsed.ok()) return std::printf("%s\n", parsed.status().ToString().c_str()), 1;
  const tenon::kir::Kernel& k = *parsed;
  const std::vector<int64_t> params(k.num_params, 7);
  Memory memory;
  std::mt19937_64 random(1);
  for (const auto& b : k.buffers) {
    Memory::Block block;
    block.present = b.kind != tenon::kir::BufKind::kLocal;
    int64_t elements = 1;
    for (size_t i = 0; i < b.extent.size(); ++i) {
      elements += std::max<int64_t>(b.extent[i].Value(params.data()) - 1, 0) * b.stride[i].Value(params.data());
    }
    const auto width = static_cast<size_t>(tenon::ByteWidth(b.type));
    if (block.present) block.bytes.resize(static_cast<size_t>(elements) * width + 64);
    for (size_t at = 0; at + width <= block.bytes.size(); at += width) {
      const uint64_t bits =
          tenon::IsComplex(b.type) ? 0 : tenon::kir::LiteralBits(b.type, static_cast<int64_t>(random() % 16) - 7);
      std::memcpy(block.bytes.data() + at, &bits, std::min<size_t>(width, 8));
    }
    memory.blocks.push_back(block);
  }
  Memory wanted = memory, got = memory;
  const tenon::Status evaluated = tenon::kir::Evaluate(k, wanted.Refs(), params, false);
  if (!evaluated.ok()) return std::printf("%s\n", evaluated.ToString().c_str()), 1;
  const auto module = tenon::emit_spirv::Emit(bake ? tenon::emit_spirv::Bake(k, params) : k,
                                              tenon::emit_spirv::testing::JudgedTarget());
  if (!module.ok()) return std::printf("%s\n", module.status().ToString().c_str()), 1;
  const auto said = tenon::emit_spirv::testing::Validate(module->words);
  if (said.ok() && !said->empty()) return std::printf("%s\n", said->c_str()), 1;
  const auto device = tenon::emit_spirv::testing::SoftwareDevice();
  if (!device.ok()) return std::printf("%s\n", device.status().ToString().c_str()), 1;
  const tenon::Status ran = tenon::emit_spirv::testing::Run(**device, *module, params, got);
  if (!ran.ok()) return std::printf("%s\n", ran.ToString().c_str()), 1;
  const std::string difference = tenon::kir::testing::FirstDifference(k, params, got, wanted);
  std::printf("%zu words, %zu launches: %s\n", module->words.size(), module->dispatches.size(),
              difference.empty() ? "the same" : difference.c_str());
  return difference.empty() ? 0 : 1;
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
    bad += Judge(std::string(std::istreambuf_iterator<char>(in), {}), bake);
  }
  return bad != 0;
}
