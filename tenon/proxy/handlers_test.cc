// Calls of the host's handlers by a device process that may say anything.
#include "tenon/proxy/handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tenon/abi/xla_ffi.h"
#include "tenon/base/dtype.h"
#include "tenon/proxy/policy.h"

namespace tenon::proxy {
namespace {

using ::testing::HasSubstr;
using wire::Verb;

// A handler that leaves its results as they are.
XLA_FFI_Error* Nothing(XLA_FFI_CallFrame* frame) {
  auto* const extension = frame->extension_start;
  if (extension != nullptr && extension->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata* metadata = reinterpret_cast<XLA_FFI_Metadata_Extension*>(extension)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
  }
  return nullptr;
}

// A session with a server, of which only what handlers answer is looked at.
class ServerSession final : public session::Session {
 public:
  ServerSession() : Session(nullptr) {}
  uint64_t home() const override { return generation() + 1000; }
  uint32_t max_message_bytes() const override { return 1 << 20; }
  void Announce(const std::shared_ptr<channel::Piece>&) override {}
  void Forget(uint32_t) override {}
  Result<Bytes> MemoryAt(const wire::Place&, uint64_t) override { return DataLoss("no memory"); }
  void End() override {}
  void Kill(const std::string&) override {}

  wire::HandlerDone Answer() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return !answer_.empty(); });
    Result<wire::HandlerDone> done = wire::Decode<wire::HandlerDone>(std::exchange(answer_, {}));
    EXPECT_TRUE(done.ok());
    return done.ok() ? *done : wire::HandlerDone{};
  }

 private:
  bool TrySend(Verb verb, uint64_t, std::string_view message) override {
    std::lock_guard lock(mutex_);
    if (verb == Verb::kHandlerDone) answer_ = message;
    came_.notify_all();
    return true;
  }
  Status Send(Verb verb, uint64_t number, std::string_view message) override {
    (void)TrySend(verb, number, message);
    return OkStatus();
  }
  std::mutex mutex_;
  std::condition_variable came_;
  std::string answer_;
};

wire::Operand Bytes(int64_t count) {
  wire::Operand operand;
  operand.array.dtype = static_cast<uint8_t>(DType::kU8);
  operand.array.dims = {count};
  operand.size = static_cast<uint64_t>(count);
  return operand;
}

class HandlersTest : public ::testing::Test {
 protected:
  HandlersTest() {
    plugin::FfiHandlerRegistration registration;
    registration.target_name = "nothing";
    registration.platform_name = "Host";
    registration.handler = reinterpret_cast<void*>(&Nothing);
    EXPECT_TRUE(RegisterHandler(registration).ok());
  }
  wire::HandlerDone Run(wire::CallHandler call) {
    Handlers()->Run(session_, 1, std::move(call), nullptr);
    return session_->Answer();
  }
  std::shared_ptr<ServerSession> session_ = std::make_shared<ServerSession>();
};

TEST_F(HandlersTest, ResultsGoBackByValue) {
  wire::CallHandler call;
  call.operands = {Bytes(3)};
  call.values = {"abc"};
  call.results = {Bytes(5), Bytes(0)};
  const wire::HandlerDone done = Run(call);
  EXPECT_EQ(done.error.code, 0) << done.error.message;
  ASSERT_EQ(done.values.size(), 2u);
  EXPECT_EQ(done.values[0], std::string(5, '\0'));
  EXPECT_EQ(done.values[1], "");
}

// A server says how large results are: they are made only as far as a message could bring them back.
TEST_F(HandlersTest, ResultsAreBounded) {
  wire::CallHandler call;
  call.results = {Bytes(int64_t{1} << 33)};
  EXPECT_THAT(Run(call).error.message, HasSubstr("for which a message has 1048576 left"));
  call.results.assign(2, Bytes(600000));
  EXPECT_THAT(Run(call).error.message, HasSubstr("for which a message has 448576 left"));
  call.results.assign(20000, Bytes(0));
  EXPECT_THAT(Run(call).error.message, HasSubstr("20000 arrays, at most 16384"));
}

// Operands come with their bytes, all of them.
TEST_F(HandlersTest, OperandsHaveTheirBytes) {
  wire::CallHandler call;
  call.operands = {Bytes(int64_t{1} << 33)};
  call.values = {""};
  EXPECT_THAT(Run(call).error.message, HasSubstr("of 0 bytes, wanted 8589934592"));
  call.values = {};
  EXPECT_THAT(Run(call).error.message, HasSubstr("0 values for 1 operands"));
}

// However many different attributes a handler is called with.
TEST_F(HandlersTest, WhatIsKeptOfAttributesIsBounded) {
  wire::CallHandler call;
  call.attributes.push_back({"text", XLA_FFI_AttrType_STRING, 0, {}, {}});
  size_t most = 0;
  for (size_t i = 0; i < policy::kMaxCallSites + 100; ++i) {
    call.attributes[0].bytes = std::to_string(i);
    ASSERT_EQ(Run(call).error.code, 0);
    most = std::max(most, CountCallSites().count);
  }
  EXPECT_EQ(most, policy::kMaxCallSites);
  for (char c = 'a'; c < 'z'; ++c) {
    call.attributes[0].bytes = std::string(size_t{8} << 20, c);
    ASSERT_EQ(Run(call).error.code, 0);
    EXPECT_LE(CountCallSites().bytes, policy::kMaxCallSiteBytes);
  }
  EXPECT_GE(CountCallSites().count, 1u);
}

}  // namespace
}  // namespace tenon::proxy
