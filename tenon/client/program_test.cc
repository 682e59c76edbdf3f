#include "tenon/client/program.h"

#include <gtest/gtest.h>

#include <fstream>

namespace tenon::client {
namespace {

std::string FormatOf(const std::string& contents) {
  const std::string path = ::testing::TempDir() + "/program_test_file";
  std::ofstream(path, std::ios::binary) << contents;
  const auto program = Program::FromFile(path);
  if (!program.ok()) return std::string(CodeName(program.status().code()));
  EXPECT_EQ(program->code, contents);
  return program->format;
}

TEST(Program, FormatsAreTold) {
  EXPECT_EQ(FormatOf("module @x {\n}\n"), "mlir");
  EXPECT_EQ(FormatOf("// comment\nfunc.func @main() {}"), "mlir");
  EXPECT_EQ(FormatOf("  #loc = loc(unknown)\nmodule {}"), "mlir");
  EXPECT_EQ(FormatOf("\"builtin.module\"() ({}) : () -> ()"), "mlir");
  EXPECT_EQ(FormatOf(std::string("ML\xefR\x0d", 5)), "mlir");
  EXPECT_EQ(FormatOf(std::string("\x0a\x04main\x12\x04main\x1a\x00", 14)), "hlo");
  EXPECT_EQ(FormatOf(""), "INVALID_ARGUMENT");
  EXPECT_EQ(Program::FromFile("/nowhere/x").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace tenon::client
