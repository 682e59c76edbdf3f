#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/client/client.h"
#include "tenon/client/testing/status.h"

namespace tenon::client::testing {

/// The plugin with made-up devices that the SDK's own tests use, loaded from its shared library. Programs are one word:
/// "add", "increment", "echo", "pair" ...; "later X" runs when RunPending is called, "everywhere X" on every replica.
Plugin FakePlugin();
void RunPending();
void SetScheduling(bool on);
void SetRemoteMemory(bool on);
/// What the plugin's extensions have handed out and not got back.
int64_t LiveExtensionObjects();

/// A client of it with two devices. Fails the test when objects are left over.
class FakeTest : public ::testing::Test {
 protected:
  FakeTest();
  ~FakeTest() override;

  Buffer Floats(std::vector<float> values, size_t device = 0);
  LoadedExecutable Compile(std::string_view program, const CompileOptions& options = {});

  LiveObjects before_ = CountLiveObjects();
  Plugin plugin_ = FakePlugin();
  Client client_;
};

/// The same table with changes: entries at and after `struct_size` are gone, and the version is what the caller says.
struct AlteredTable {
  PJRT_Api table;
  explicit AlteredTable(const PJRT_Api* of, int minor, size_t struct_size = PJRT_Api_STRUCT_SIZE);
};

}  // namespace tenon::client::testing
