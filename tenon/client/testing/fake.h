#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/client/client.h"

namespace tenon::client::testing {

/// The plugin with made-up devices that the SDK's own tests use, loaded from its shared library. Programs are one word:
/// "add", "increment", "echo", "pair" ...; "later X" runs when RunPending is called, "everywhere X" on every replica.
/// It has the extensions of tenon/plugin/testing/extensions.h.
Plugin FakePlugin();
void RunPending();
void SetScheduling(bool on);
void SetRemoteMemory(bool on);
/// What the plugin's made-up extensions have handed out and not got back.
int64_t LiveTestObjects();

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

template <class T>
Status StatusOf(const Result<T>& r) {
  return r.status();
}
inline Status StatusOf(const Status& s) { return s; }

inline ::testing::AssertionResult IsOk(const Status& s) {
  return s.ok() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << s.ToString();
}

}  // namespace tenon::client::testing

#define EXPECT_OK(expr) EXPECT_TRUE(::tenon::client::testing::IsOk(::tenon::client::testing::StatusOf(expr)))

/// The call fails with this code, and the message has this piece.
#define EXPECT_FAILS(expr, code_, piece)                                                   \
  do {                                                                                     \
    const auto& tenon_result = (expr);                                                     \
    const ::tenon::Status tenon_status = ::tenon::client::testing::StatusOf(tenon_result); \
    EXPECT_EQ(tenon_status.code(), ::tenon::Code::code_) << tenon_status.ToString();       \
    EXPECT_THAT(std::string(tenon_status.message()), ::testing::HasSubstr(piece));         \
  } while (false)

/// Declares `lhs` with the value of the Result, or ends the test.
#define ASSERT_OK_AND_ASSIGN(lhs, expr) ASSERT_OK_AND_ASSIGN_(TENON_CONCAT_(tenon_test_, __LINE__), lhs, expr)
#define ASSERT_OK_AND_ASSIGN_(result, lhs, expr)          \
  auto result = (expr);                                   \
  ASSERT_TRUE(result.ok()) << result.status().ToString(); \
  lhs = std::move(result).value()
