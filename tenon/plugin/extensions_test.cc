// Extensions of the plugin's own stand behind those of the SDK. Alone in its program: a process has one table.
#include <gtest/gtest.h>

#include "tenon/plugin/caller_value.h"
#include "tenon/plugin/plugin.h"

namespace tenon::plugin {
namespace {

// One that nobody has.
constexpr auto kOwnType = PJRT_Extension_Type_Unknown;

class PluginWithExtension final : public Plugin {
 public:
  PJRT_Extension_Base* Extensions() override { return &own_; }
  Result<Ref<Client>> CreateClient(ClientOptions) override { return Unimplemented("no devices"); }

 private:
  PJRT_Extension_Base own_{.struct_size = sizeof(PJRT_Extension_Base), .type = kOwnType, .next = nullptr};
};

TEST(Extensions, OfThePluginComeBehindTheSdks) {
  static PluginWithExtension plugin;
  std::vector<int> types;
  for (const PJRT_Extension_Base* e = MakeApi(plugin)->extension_start; e != nullptr; e = e->next) {
    types.push_back(CallerValue(e->type));
  }
  ASSERT_GE(types.size(), 2u);
  EXPECT_EQ(types.back(), kOwnType);
  EXPECT_EQ(types.front(), PJRT_Extension_Type_Layouts);
}

}  // namespace
}  // namespace tenon::plugin
