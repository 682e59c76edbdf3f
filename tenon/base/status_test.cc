#include "tenon/base/status.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenon/base/contain.h"

namespace tenon {
namespace {

Result<int> Half(int x) {
  if (x % 2 != 0) return InvalidArgument("got an odd number, wanted an even one");
  return x / 2;
}

Result<int> Quarter(int x) {
  TENON_ASSIGN_OR_RETURN(int half, Half(x));
  return Half(half);
}

Status OnlyQuarters(int x) {
  TENON_RETURN_IF_ERROR(Quarter(x).status());
  return OkStatus();
}

TEST(Status, OkIsOnePointerAndSaysOk) {
  EXPECT_TRUE(OkStatus().ok());
  EXPECT_EQ(OkStatus().code(), Code::kOk);
  EXPECT_EQ(OkStatus().ToString(), "OK");
  EXPECT_EQ(OkStatus().message(), "");
}

TEST(Status, ErrorsCarryCodeMessageAndPlace) {
  const Status s = NotFound("no such plugin");
  EXPECT_FALSE(s.ok());
  EXPECT_EQ(s.code(), Code::kNotFound);
  EXPECT_EQ(s.ToString(), "NOT_FOUND: no such plugin");
  EXPECT_NE(std::string_view(s.where().file_name()).find("status_test.cc"), std::string_view::npos);
}

TEST(Status, ContextGoesInFrontAndOkStaysOk) {
  EXPECT_EQ(Internal("b").WithContext("a").message(), "a: b");
  EXPECT_TRUE(OkStatus().WithContext("a").ok());
}

TEST(Status, PayloadsStayUnderAContext) {
  const Status s = Internal("b").WithPayload("kind", "1").WithPayload("where", std::string("x\0y", 3));
  const Status again = s.WithPayload("kind", "2").WithContext("a");
  EXPECT_EQ(again.message(), "a: b");
  const std::vector<Status::Payload> wanted = {{"kind", "2"}, {"where", std::string("x\0y", 3)}};
  EXPECT_EQ(std::vector<Status::Payload>(again.payloads().begin(), again.payloads().end()), wanted);
  EXPECT_EQ(s.payloads()[0].value, "1");
  EXPECT_TRUE(OkStatus().WithPayload("kind", "1").payloads().empty());
}

TEST(Status, CodesHaveThePjrtNumbers) {
  EXPECT_EQ(static_cast<int>(Code::kInvalidArgument), 3);
  EXPECT_EQ(static_cast<int>(Code::kUnimplemented), 12);
  EXPECT_EQ(CodeName(Code::kUnauthenticated), "UNAUTHENTICATED");
  EXPECT_EQ(CodeName(static_cast<Code>(99)), "UNKNOWN_CODE");
}

TEST(Result, PropagatesThroughTheMacros) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(OnlyQuarters(4).ok());
  EXPECT_FALSE(OnlyQuarters(3).ok());
}

TEST(Result, AnOkStatusIsNotAValue) { EXPECT_EQ(Result<int>(OkStatus()).status().code(), Code::kInternal); }

TEST(Check, ABrokenInvariantIsAnErrorWhereItIsContained) {
  const Status status = Contain("compile", [] { TENON_CHECK(1 + 1 == 3); });
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("check failed: 1 + 1 == 3"), std::string_view::npos) << status.ToString();
}

}  // namespace
}  // namespace tenon
