#include <atomic>

#include "tenon/plugin/bind.h"

namespace tenon::plugin::bind {

namespace {

std::atomic<Plugin*> the_plugin{nullptr};

NamedValueArray* MakeAttributes(Plugin& plugin) {
  auto list = [](std::array<int64_t, 3> version) { return std::vector<int64_t>(version.begin(), version.end()); };
  std::vector<NamedValue> values = {
      {"xla_version", int64_t{2}},
      {"stablehlo_current_version", list(plugin.stablehlo_current_version())},
      {"stablehlo_minimum_version", list(plugin.stablehlo_minimum_version())},
  };
  for (NamedValue& v : plugin.Attributes()) {
    bool taken = false;  // Clients want unique names.
    for (const NamedValue& have : values) taken = taken || have.name == v.name;
    if (!taken) values.push_back(std::move(v));
  }
  return new NamedValueArray(std::move(values));
}

}  // namespace

Plugin& ThePlugin() { return *the_plugin.load(std::memory_order_acquire); }
void SetThePlugin(Plugin& plugin) { the_plugin.store(&plugin, std::memory_order_release); }

TENON_BIND(PJRT_Plugin_Initialize) { return ThePlugin().Initialize(); }

// Some clients send the size of a smaller struct (24) and still read the fields behind it: those are always written.
TENON_BIND(PJRT_Plugin_Attributes) {
  static const NamedValueArray* const attributes = MakeAttributes(ThePlugin());  // Lives as long as the process.
  args.attributes = attributes->data();
  args.num_attributes = attributes->size();
  return OkStatus();
}

}  // namespace tenon::plugin::bind
