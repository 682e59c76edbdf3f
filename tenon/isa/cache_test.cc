#include "tenon/isa/cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tenon::isa {
namespace {

namespace fs = std::filesystem;

class SysfsTree {
 public:
  SysfsTree() {
    std::string pattern = (fs::temp_directory_path() / "tenon_cache_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~SysfsTree() { fs::remove_all(root_); }
  void Add(int index, const char* level, const char* type, const char* size) {
    const fs::path dir = root_ / ("index" + std::to_string(index));
    fs::create_directory(dir);
    std::ofstream(dir / "level") << level << '\n';
    std::ofstream(dir / "type") << type << '\n';
    std::ofstream(dir / "size") << size << '\n';
  }
  std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

TEST(ParseCacheSize, UnitsAndGarbage) {
  EXPECT_EQ(ParseCacheSize("32K"), 32 << 10);
  EXPECT_EQ(ParseCacheSize("1024K"), 1 << 20);
  EXPECT_EQ(ParseCacheSize("32M"), 32 << 20);
  EXPECT_EQ(ParseCacheSize("512"), 512);
  for (const char* bad : {"", "K", "-3K", "12Q", "99999999999999999999K"}) EXPECT_EQ(ParseCacheSize(bad), 0) << bad;
}

TEST(ReadSysfsCaches, TakesDataAndUnifiedOnly) {
  SysfsTree tree;
  tree.Add(0, "1", "Data", "48K");
  tree.Add(1, "1", "Instruction", "64K");
  tree.Add(2, "2", "Unified", "2048K");
  EXPECT_EQ(ReadSysfsCaches(tree.root()), (CacheSizes{48 << 10, 2 << 20, 0}));
  tree.Add(3, "3", "Unified", "32M");
  EXPECT_EQ(ReadSysfsCaches(tree.root()), (CacheSizes{48 << 10, 2 << 20, 32 << 20}));
}

TEST(ReadSysfsCaches, AnAbsentTreeGivesNothing) { EXPECT_EQ(ReadSysfsCaches("/nonexistent"), CacheSizes{}); }

TEST(Caches, AreNeverEmpty) {
  EXPECT_GE(Caches().l1_bytes, 4 << 10);
  EXPECT_GE(Caches().l2_bytes, Caches().l1_bytes);
  EXPECT_GT(Caches().l3_bytes, 0);
}

}  // namespace
}  // namespace tenon::isa
