#include "tenon/discovery/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace tenon::discovery {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PluginNameOfFile, KnowsThePatternsOfPlugins) {
  EXPECT_EQ(PluginNameOfFile("/x/pjrt_c_api_cpu_plugin.so", true), "cpu");
  EXPECT_EQ(PluginNameOfFile("pjrt_c_api_metal_plugin.dylib", true), "metal");
  EXPECT_EQ(PluginNameOfFile("pjrt-plugin-cuda.so", true), "cuda");
  EXPECT_EQ(PluginNameOfFile("/a/b/libtpu.so", true), "tpu");
  EXPECT_EQ(PluginNameOfFile("xla_cuda_plugin.so", true), "cuda");
  EXPECT_EQ(PluginNameOfFile("xla_cpu_pjrt.so", true), "cpu");
  EXPECT_EQ(PluginNameOfFile("pjrt_plugin_tenon.so", true), "tenon");
  EXPECT_EQ(PluginNameOfFile("libm.so", true), "");
  EXPECT_EQ(PluginNameOfFile("pjrt_c_api_cpu_plugin.txt", true), "");
  EXPECT_EQ(PluginNameOfFile("/x/whatever.so"), "whatever");
  EXPECT_EQ(PluginNameOfFile("/x/whatever"), "whatever");
}

// An environment that only this test sees, and empty files in it: nothing here loads them.
class SearchTest : public ::testing::Test {
 protected:
  SearchTest() : root_(::testing::TempDir() + "/discovery_" + std::to_string(::getpid())) {
    fs::remove_all(root_);
    for (const char* variable : {"HOME", "PJRT_PLUGIN_LIBRARY_PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
                                 "PYTHONPATH", "PATH", "TENON_PLUGIN"}) {
      const char* const value = std::getenv(variable);
      saved_.emplace_back(variable, value == nullptr ? std::nullopt : std::optional<std::string>(value));
      ::unsetenv(variable);
    }
  }
  ~SearchTest() override {
    for (const auto& [name, value] : saved_) value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
    fs::remove_all(root_);
  }
  std::string Make(const fs::path& file) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "x";
    return (root_ / file).string();
  }
  /// The files of this test that a name stands for.
  std::vector<std::string> Paths(std::string_view name) const {
    std::vector<std::string> paths;
    for (const PluginFile& file : FilesNamed(name)) {
      if (file.path.starts_with(root_.string())) paths.push_back(file.path);
    }
    return paths;
  }
  void Set(const char* variable, const fs::path& value) { ::setenv(variable, (root_ / value).c_str(), 1); }

  fs::path root_;
  std::vector<std::pair<const char*, std::optional<std::string>>> saved_;
};

TEST_F(SearchTest, NamedFoldersComeFirstThenTheUsersThenPythons) {
  Set("PJRT_PLUGIN_LIBRARY_PATH", "named");
  Set("HOME", "home");
  Set("VIRTUAL_ENV", "venv");
  const std::string python = Make("venv/lib/python3.11/site-packages/jax_plugins/some/pjrt_plugin_x.so");
  const std::string user = Make("home/.local/lib/pjrt/pjrt-plugin-x.so");
  const std::string named = Make("named/pjrt_c_api_x_plugin.so");
  Make("named/readme.txt");
  EXPECT_THAT(Paths("x"), ElementsAre(named, user, python));
}

TEST_F(SearchTest, PythonIsThatOfThePath) {
  const std::string plugin = Make("env/lib/python3.12/site-packages/tenon_jax/lib/pjrt_plugin_tenon.so");
  EXPECT_THAT(Paths("tenon"), ElementsAre());
  fs::permissions(Make("env/bin/python3"), fs::perms::owner_all);
  Set("PATH", "env/bin");
  EXPECT_THAT(Paths("tenon"), ElementsAre(plugin));
}

TEST_F(SearchTest, AliasesComeAfterNames) {
  Set("VIRTUAL_ENV", "venv");
  const fs::path site = "venv/lib/python3.11/site-packages";
  const std::string xla = Make(site / "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
  const std::string cuda = Make(site / "jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  EXPECT_THAT(Paths("xla_cpu"), ElementsAre(xla));
  EXPECT_THAT(Paths("cpu"), ElementsAre(xla));
  EXPECT_THAT(Paths("xla_cuda13"), ElementsAre(cuda));
  EXPECT_THAT(Paths("gpu"), ElementsAre(cuda));
  // Last in order of folders, and still first: it is called so itself.
  Set("HOME", "home");
  const std::string own = Make("home/.local/lib/python3.11/site-packages/jax_plugins/other/pjrt_plugin_xla_cpu.so");
  EXPECT_THAT(Paths("xla_cpu"), ElementsAre(own, xla));
}

TEST_F(SearchTest, LooksBesideTheProgram) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  bool beside = false;
  for (const SearchFolder& folder : SearchFolders())
    beside |= folder.source == "beside" && fs::equivalent(folder.path, program.parent_path());
  EXPECT_TRUE(beside);
}

TEST_F(SearchTest, FilesAreToldFromNames) {
  EXPECT_TRUE(IsFile("/a/b"));
  EXPECT_TRUE(IsFile("./b.so"));
  EXPECT_FALSE(IsFile("tenon"));
  EXPECT_FALSE(IsFile("tenon.so"));
  const std::string file = Make("here/tenon.so");
  const fs::path before = fs::current_path();
  fs::current_path(fs::path(file).parent_path());
  EXPECT_TRUE(IsFile("tenon.so"));
  fs::current_path(before);
}

TEST_F(SearchTest, TheDefaultIsTenonOrWhatTheEnvironmentSays) {
  EXPECT_EQ(DefaultPlugin(), "tenon");
  ::setenv("TENON_PLUGIN", "", 1);
  EXPECT_EQ(DefaultPlugin(), "tenon");
  ::setenv("TENON_PLUGIN", "xla_cpu", 1);
  EXPECT_EQ(DefaultPlugin(), "xla_cpu");
}

TEST_F(SearchTest, SaysWhatWasFoundAndWhereItLooked) {
  Set("PJRT_PLUGIN_LIBRARY_PATH", "named");
  EXPECT_THAT(DescribeSearch(), HasSubstr((root_ / "named").string() + " (missing)"));
  Make("named/pjrt_c_api_cpu_plugin.so");
  EXPECT_THAT(DescribeSearch(), HasSubstr("cpu (also xla_cpu)"));
}

}  // namespace
}  // namespace tenon::discovery
