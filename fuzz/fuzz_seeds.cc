// fuzz_seeds OUT FILES...: writes each program as text into OUT/text and as artifacts of several versions into
// OUT/bytecode. Programs above 32 KiB are left out: small seeds fuzz faster.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tenon/dialect/parse.h"

namespace {

namespace fs = std::filesystem;
constexpr size_t kMaxSeed = 32 << 10;

void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
  using tenon::dialect::Version;
  if (argc < 3) {
    std::fprintf(stderr, "usage: fuzz_seeds OUT FILES...\n");
    return 2;
  }
  const fs::path out = argv[1];
  fs::create_directories(out / "text");
  fs::create_directories(out / "bytecode");
  int seeds = 0;
  for (int i = 2; i < argc; ++i) {
    const fs::path file = argv[i];
    std::ifstream in(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    if (bytes.empty() || bytes.size() > kMaxSeed) continue;
    tenon::dialect::Context context;
    auto module = tenon::dialect::Parse(context, bytes);
    if (!module.ok()) continue;
    const std::string name = std::to_string(i) + "_" + file.stem().string();
    const std::string text = tenon::dialect::ToText(module->op());
    if (text.size() <= kMaxSeed) {
      WriteFile(out / "text" / (name + ".mlir"), text);
      WriteFile(out / "text" / (name + ".generic.mlir"), tenon::dialect::ToText(module->op(), {.generic = true}));
      ++seeds;
    }
    for (Version version : {Version{0, 9, 0}, Version{0, 14, 0}, Version{1, 9, 0}, tenon::dialect::kCurrentVersion}) {
      auto artifact = tenon::dialect::Serialize(module->op(), version);
      if (!artifact.ok() || artifact->size() > kMaxSeed) continue;
      WriteFile(out / "bytecode" / (name + "." + version.ToString()), *artifact);
      ++seeds;
    }
  }
  std::printf("%d seeds in %s\n", seeds, out.c_str());
  return 0;
}
