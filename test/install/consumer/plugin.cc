// The least that is a plugin: it loads, answers, and has no devices.
#include "tenon/plugin/plugin.h"

namespace {

class EmptyPlugin final : public tenon::plugin::Plugin {
 public:
  tenon::Result<tenon::plugin::Ref<tenon::plugin::Client>> CreateClient(tenon::plugin::ClientOptions) override {
    return tenon::Unimplemented("no devices in this one");
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static EmptyPlugin& plugin = *new EmptyPlugin;
  return tenon::plugin::MakeApi(plugin);
}
