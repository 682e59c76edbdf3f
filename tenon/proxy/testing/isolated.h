#pragma once

/// The isolated plugin before the fake one (tenon/client/testing/fake.h says what programs that has), as clients use
/// it.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/client/client.h"
#include "tenon/client/testing/status.h"

namespace tenon::proxy::testing {

inline client::Plugin IsolatedPlugin() {
  static const client::Plugin plugin = [] {
    ::setenv("TENON_ISOLATE_PLUGIN", TENON_FAKE_PLUGIN, 1);
    Result<client::Plugin> loaded = client::Plugin::LoadFile(TENON_ISOLATED_PLUGIN);
    if (!loaded.ok()) std::fprintf(stderr, "%s\n", loaded.status().ToString().c_str());
    return std::move(loaded).value();
  }();
  return plugin;
}

inline Result<client::LoadedExecutable> Compile(const client::Client& c, const std::string& program) {
  return c.Compile(std::string_view(program));
}

inline Result<client::Buffer> Floats(const client::Client& c, std::vector<float> values) {
  return c.ToDevice(values, {static_cast<int64_t>(values.size())});
}

}  // namespace tenon::proxy::testing
