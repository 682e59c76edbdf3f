#include <utility>

#include "tenon/conformance/areas/more.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

void Suite::Add(std::string_view name, Needs needs, std::string_view rule, std::string_view source,
                std::function<void(Env&)> run) {
  tests_.push_back({std::string(name), needs, std::string(rule), std::string(source), std::move(run)});
}

const Test* Suite::Find(std::string_view name) const {
  for (const Test& test : tests_) {
    if (test.name == name) return &test;
  }
  return nullptr;
}

const Suite& AllTests() {
  static const Suite& suite = []() -> const Suite& {
    auto& all = *new Suite;
    AddLoadTests(all);
    AddStructTests(all);
    AddErrorTests(all);
    AddClientTests(all);
    AddDeviceTests(all);
    AddMemoryTests(all);
    AddBufferTests(all);
    AddPromiseTests(all);
    AddTypeTests(all);
    AddLayoutTests(all);
    AddAsyncTests(all);
    AddEventTests(all);
    AddCompileTests(all);
    AddExecuteTests(all);
    AddDonationTests(all);
    AddMultiDeviceTests(all);
    AddAotTests(all);
    AddExtensionTests(all);
    AddRareExtensionTests(all);
    AddCallbackTests(all);
    AddThreadTests(all);
    AddTeardownTests(all);
    AddSoakTests(all);
    AddPerformanceTests(all);
    AddOpTests(all);
    return all;
  }();
  return suite;
}

}  // namespace tenon::conformance
