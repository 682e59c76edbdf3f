#include "tenon/client/discovery.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "tenon/client/testing/fake.h"

namespace tenon::client {
namespace {

namespace fs = std::filesystem;

// A folder of plugins that only this test sees.
class DiscoveryTest : public ::testing::Test {
 protected:
  DiscoveryTest() : folder_(::testing::TempDir() + "/discovery_" + std::to_string(::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "plugins");
    for (const char* variable : kVariables) {
      const char* const value = std::getenv(variable);
      saved_.emplace_back(variable, value == nullptr ? "" : value);
      ::unsetenv(variable);
    }
    ::setenv("HOME", (folder_ / "home").c_str(), 1);
    ::setenv("PJRT_PLUGIN_LIBRARY_PATH", (folder_ / "plugins").c_str(), 1);
  }
  ~DiscoveryTest() override {
    for (const auto& [name, value] : saved_) ::setenv(name, value.c_str(), 1);
    fs::remove_all(folder_);
  }
  void Install(const fs::path& at) {
    fs::create_directories(at.parent_path());
    fs::create_symlink(TENON_FAKE_PLUGIN, at);
  }

  static constexpr const char* kVariables[] = {
      "HOME", "PJRT_PLUGIN_LIBRARY_PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"};
  fs::path folder_;
  std::vector<std::pair<const char*, std::string>> saved_;
};

TEST_F(DiscoveryTest, FindsByNameAndSaysWhereItLooked) {
  Install(folder_ / "plugins/pjrt_c_api_made_up_plugin.so");
  ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::Load("made_up"));
  EXPECT_TRUE(plugin == testing::FakePlugin());
  const auto missing = Plugin::Load("nobody");
  EXPECT_FAILS(missing, kNotFound, "no plugin 'nobody'");
  EXPECT_THAT(std::string(missing.status().message()), ::testing::HasSubstr("made_up"));
  EXPECT_THAT(std::string(missing.status().message()), ::testing::HasSubstr((folder_ / "plugins").string()));
}

TEST_F(DiscoveryTest, ListsWithReasons) {
  Install(folder_ / "plugins/pjrt-plugin-good.so");
  std::ofstream(folder_ / "plugins/pjrt-plugin-bad.so") << "no library";
  std::ofstream(folder_ / "plugins/readme.txt") << "not a plugin";
  bool good = false, bad = false;
  for (const Availability& a : ListPlugins()) {
    if (a.candidate.source != "PJRT_PLUGIN_LIBRARY_PATH") continue;
    if (a.candidate.name == "good") {
      good = true;
      EXPECT_OK(a.status);
      EXPECT_EQ(a.version, "0.117");
    } else {
      EXPECT_EQ(a.candidate.name, "bad");
      bad = true;
      EXPECT_FAILS(a.status, kFailedPrecondition, "cannot load");
    }
  }
  EXPECT_TRUE(good);
  EXPECT_TRUE(bad);
  // By name: the reason, not just "not found".
  EXPECT_FAILS(Plugin::Load("bad"), kFailedPrecondition, "cannot load");
}

TEST_F(DiscoveryTest, SearchesUserAndPythonFolders) {
  Install(folder_ / "home/.local/lib/pjrt/pjrt_c_api_user_plugin.so");
  const fs::path site = folder_ / "venv/lib/python3.11/site-packages";
  Install(site / "jax_plugins/some/pjrt_c_api_jax_plugin.so");
  fs::create_directories(site / "libtpu");
  std::ofstream(site / "libtpu/libtpu.so") << "x";
  std::ofstream(site / "jax_plugins/some/helper.so") << "x";
  ::setenv("VIRTUAL_ENV", (folder_ / "venv").c_str(), 1);
  std::map<std::string, std::string> sources;
  for (const Candidate& c : FindPlugins()) {
    if (c.path.starts_with(folder_.string())) sources[c.name] = c.source;
  }
  // The two symbolic links name one file, which counts once, where it was met first.
  EXPECT_EQ(sources["user"], "user");
  EXPECT_EQ(sources.count("jax"), 0u);
  EXPECT_EQ(sources["tpu"], "python");
  EXPECT_EQ(sources.size(), 2u);
  fs::remove(folder_ / "home/.local/lib/pjrt/pjrt_c_api_user_plugin.so");
  ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::Load("jax"));
  EXPECT_TRUE(plugin == testing::FakePlugin());
}

}  // namespace
}  // namespace tenon::client
