#include "tenon/base/code_file.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>

namespace tenon {
namespace {

const std::string kHere = std::filesystem::canonical("/proc/self/exe").string();

TEST(CodeFile, OfTheProgramAndOfALibrary) {
  EXPECT_EQ(FileOfCode(reinterpret_cast<const void*>(&FileOfCode)), kHere);
  EXPECT_EQ(FolderOfCode(reinterpret_cast<const void*>(&FileOfCode)), std::filesystem::path(kHere).parent_path());
  const std::string library = FileOfCode(reinterpret_cast<const void*>(&::getenv));
  EXPECT_NE(library.find("/libc"), library.npos) << library;
  EXPECT_EQ(FileOfCode(nullptr), "");
  EXPECT_EQ(FolderOfCode(nullptr), "");
}

TEST(CodeFile, BesideTheCode) {
  const void* here = reinterpret_cast<const void*>(&FileOfCode);
  const std::string folder = std::filesystem::path(kHere).parent_path();
  EXPECT_EQ(FileBeside(here, "x.so"), folder + "/x.so");
  EXPECT_EQ(FileBeside(here, "../lib/x.so"), folder + "/../lib/x.so");
  // Not a file of the root, nor of the folder that the process is in.
  EXPECT_EQ(FileBeside(nullptr, "x.so"), "");
}

// A program that PATH found is told its name alone, and one may be told anything.
TEST(CodeFile, OfAProgramThatIsCalledByItsNameAlone) {
  for (const char* name : {"code_file_test", "../elsewhere/program", ""}) {
    std::string first(name), filter = "--gtest_filter=CodeFile.OfTheProgramAndOfALibrary";
    char* arguments[] = {first.data(), filter.data(), nullptr};
    pid_t child = 0;
    ASSERT_EQ(::posix_spawn(&child, kHere.c_str(), nullptr, nullptr, arguments, environ), 0);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << name;
  }
}

}  // namespace
}  // namespace tenon
