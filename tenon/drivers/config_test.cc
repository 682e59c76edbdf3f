#include "tenon/drivers/config.h"

#include <gtest/gtest.h>

namespace tenon::drivers {
namespace {

struct Example {
  enum class Mode : uint8_t { kPlain, kFast, kLast };
  int64_t count = 3;
  bool flag = false;
  Dims list;
  Mode mode = Mode::kPlain;

  template <class Self, class F>
  static void Fields(Self& self, F&& field) {
    field("count", self.count);
    field("flag", self.flag);
    field("list", self.list);
    field("mode", self.mode, Mode::kLast);
  }
  friend bool operator==(const Example&, const Example&) = default;
};

TEST(Config, HoldsWhatIsNoDefaultUnderItsName) {
  EXPECT_EQ(ToConfig(Example{}), Config{});
  const Config config = ToConfig(Example{4, true, {1, -2}, Example::Mode::kFast});
  EXPECT_EQ(ToString(config), "{count=[4], flag=[1], list=[1,-2], mode=[1]}");
  const Result<Example> back = FromConfig<Example>(config);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, (Example{4, true, {1, -2}, Example::Mode::kFast}));
  EXPECT_EQ(ToString(ToConfig(Example{3, false, {7}, Example::Mode::kPlain})), "{list=[7]}");
}

TEST(Config, RefusesWhatIsNoSuchStruct) {
  const auto error = [](std::vector<Config::Field> fields) {
    return FromConfig<Example>({std::move(fields)}).status().ToString();
  };
  EXPECT_EQ(error({}), "OK");
  EXPECT_EQ(error({{"mode", {2}}, {"count", {INT64_MIN}}}), "OK");
  for (const auto& [field, wanted] :
       std::vector<std::pair<Config::Field, std::string>>{{{"other", {1}}, "'other' is no field"},
                                                          {{"", {1}}, "'' is no field"},
                                                          {{"count", {}}, "count does not take []"},
                                                          {{"count", {1, 2}}, "count does not take [1,2]"},
                                                          {{"flag", {2}}, "flag does not take [2]"},
                                                          {{"mode", {3}}, "mode does not take [3]"},
                                                          {{"mode", {-1}}, "mode does not take [-1]"},
                                                          {{"mode", {256}}, "mode does not take [256]"}}) {
    EXPECT_NE(error({field}).find(wanted), std::string::npos) << error({field});
  }
  EXPECT_NE(error({{"count", {1}}, {"count", {1}}}).find("comes twice"), std::string::npos);
}

}  // namespace
}  // namespace tenon::drivers
