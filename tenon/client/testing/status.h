#pragma once

/// Outcomes of calls, in tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tenon/base/status.h"

namespace tenon::client::testing {

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
