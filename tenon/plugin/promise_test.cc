// Promised buffers that are kept with what waits for them, directly and in rings: they fail instead of waiting for
// ever.
#include <gtest/gtest.h>

#include "tenon/plugin/testing/harness.h"

namespace tenon::plugin::testing {
namespace {

class PromiseTest : public PluginTest {
 protected:
  struct Promise {
    PJRT_Buffer* buffer = nullptr;
    PJRT_FulfillAliasBufferCallback* handle = nullptr;
  };

  Promise NewPromise() {
    static const int64_t dims[] = {4};
    ARGS(PJRT_Client_CreateAliasBuffer, args);
    args.client = client_;
    args.memory = memory(0, "device");
    args.shape_dims = dims;
    args.shape_num_dims = 1;
    args.shape_element_type = PJRT_Buffer_Type_F32;
    EXPECT_CALL_OK(PJRT_Client_CreateAliasBuffer, args);
    return {args.alias_buffer, args.fulfill_alias_buffer_cb};
  }
  Status Keep(const Promise& promise, PJRT_Buffer* buffer) {
    ARGS(PJRT_Client_FulfillAliasBuffer, args);
    args.client = client_;
    args.buffer = buffer;
    args.fulfill_alias_buffer_cb = promise.handle;
    return CALL(PJRT_Client_FulfillAliasBuffer, args);
  }
  PJRT_Buffer* Copy(PJRT_Buffer* buffer) {
    ARGS(PJRT_Buffer_CopyToDevice, args);
    args.buffer = buffer;
    args.dst_device = device(0);
    EXPECT_CALL_OK(PJRT_Buffer_CopyToDevice, args);
    return args.dst_buffer;
  }
  PJRT_Buffer* Run(std::string_view program, PJRT_Buffer* argument) {
    Result<PJRT_LoadedExecutable*> loaded = Compile(program);
    EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
    Result<Outcome> outcome = Execute(*loaded, {argument});
    EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
    Destroy(*loaded);
    DestroyEvent(outcome->done);
    return outcome->outputs[0];
  }
  PJRT_Buffer* AsBytes(PJRT_Buffer* buffer) { return Bitcast(buffer, PJRT_Buffer_Type_U8, {16}); }
  using PluginTest::Destroy;
  void Destroy(std::initializer_list<PJRT_Buffer*> buffers) {
    for (PJRT_Buffer* buffer : buffers) PluginTest::Destroy(buffer);
  }
};

TEST_F(PromiseTest, CannotBeKeptWithItself) {
  const Promise promise = NewPromise();
  EXPECT_CODE(Keep(promise, promise.buffer), kInvalidArgument);
  EXPECT_CODE(Ready(promise.buffer), kInvalidArgument);
  Destroy(promise.buffer);
}

TEST_F(PromiseTest, CannotBeKeptWithACopyOfItself) {
  const Promise promise = NewPromise();
  PJRT_Buffer* const copy = Copy(promise.buffer);
  PJRT_Buffer* const second = Copy(copy);
  EXPECT_CODE(Keep(promise, second), kInvalidArgument);
  EXPECT_CODE(Ready(promise.buffer), kInvalidArgument);
  EXPECT_CODE(Ready(second), kInvalidArgument);
  Destroy({promise.buffer, copy, second});
}

TEST_F(PromiseTest, CannotBeKeptWithWhatProgramsMakeOfIt) {
  for (const char* program : {"echo", "later echo"}) {
    SCOPED_TRACE(program);
    const Promise promise = NewPromise();
    PJRT_Buffer* const output = Run(program, promise.buffer);
    // The second program has its argument's storage and not its contents: it is handed to the device at once.
    PJRT_Buffer* const copy = Copy(output);
    PJRT_Buffer* const again = Run(program, copy);
    EXPECT_CODE(Keep(promise, again), kInvalidArgument);
    EXPECT_CODE(Ready(again), kInvalidArgument);
    EXPECT_CODE(Ready(output), kInvalidArgument);
    Destroy({promise.buffer, output, copy, again});
  }
}

TEST_F(PromiseTest, AnotherViewOfOneIsKeptWithIt) {
  const Promise promise = NewPromise();
  PJRT_Buffer* const view = AsBytes(promise.buffer);
  EXPECT_FALSE(IsDeleted(promise.buffer));
  PJRT_Buffer* const real = Four(3);
  EXPECT_CODE(Keep(promise, real), kOk);
  Destroy({promise.buffer, real});
  EXPECT_EQ(*Download(view), (std::vector<float>{3, 4, 5, 6}));
  Destroy(view);

  const Promise broken = NewPromise();
  PJRT_Buffer* const bytes = AsBytes(broken.buffer);
  EXPECT_CODE(Keep(broken, bytes), kInvalidArgument);
  EXPECT_CODE(Ready(bytes), kInvalidArgument);
  Destroy({broken.buffer, bytes});
}

// Given away on a condition: usable when the promise is kept and the condition holds, whichever comes first.
TEST_F(PromiseTest, IsDonatedWithAControlDependency) {
  for (const bool kept_first : {false, true}) {
    for (const bool holds : {false, true}) {
      SCOPED_TRACE(kept_first);
      SCOPED_TRACE(holds);
      const Promise promise = NewPromise();
      ARGS(PJRT_Buffer_DonateWithControlDependency, donate);
      donate.buffer = promise.buffer;
      ASSERT_CALL(PJRT_Buffer_DonateWithControlDependency, donate);
      EXPECT_TRUE(IsDeleted(promise.buffer));
      PJRT_Buffer* const sum = Run("echo", donate.out_buffer);
      const auto keep = [&] {
        PJRT_Buffer* const real = Four(3);
        EXPECT_CODE(Keep(promise, real), kOk);
        Destroy(real);
      };
      if (kept_first) keep();
      PJRT_Buffer_DonateWithControlDependency_Callback_Args callback{};
      callback.struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE;
      callback.callback_data = donate.callback_data;
      if (!holds) callback.error_code = PJRT_Error_Code_CANCELLED;
      donate.dependency_ready_callback(&callback);
      if (!kept_first) keep();
      RunPending();
      if (holds) {
        EXPECT_EQ(*Download(donate.out_buffer), (std::vector<float>{3, 4, 5, 6}));
        EXPECT_EQ(*Download(sum), (std::vector<float>{3, 4, 5, 6}));
      } else {
        EXPECT_CODE(Ready(donate.out_buffer), kCancelled);
        EXPECT_CODE(Ready(sum), kCancelled);
      }
      Destroy({promise.buffer, donate.out_buffer, sum});
    }
  }
}

TEST_F(PromiseTest, RingsOfPromisesFail) {
  Promise promises[3];
  PJRT_Buffer* copies[3];
  for (int i = 0; i < 3; ++i) {
    promises[i] = NewPromise();
    copies[i] = Copy(promises[i].buffer);
  }
  EXPECT_CODE(Keep(promises[1], copies[0]), kOk);
  EXPECT_CODE(Keep(promises[2], promises[1].buffer), kOk);
  EXPECT_CODE(Keep(promises[0], copies[2]), kInvalidArgument);
  for (int i = 0; i < 3; ++i) {
    EXPECT_CODE(Ready(promises[i].buffer), kInvalidArgument);
    EXPECT_CODE(Ready(copies[i]), kInvalidArgument);
    Destroy({promises[i].buffer, copies[i]});
  }
}

TEST_F(PromiseTest, ChainsOfPromisesAreKept) {
  const Promise first = NewPromise(), second = NewPromise(), third = NewPromise();
  PJRT_Buffer* const output = Run("echo", first.buffer);
  // Two ways from the same promise are no ring.
  PJRT_Buffer* const both = Run("echo", output);
  EXPECT_CODE(Keep(second, both), kOk);
  EXPECT_CODE(Keep(third, second.buffer), kOk);
  PJRT_Buffer* const real = Four(3);
  EXPECT_CODE(Keep(first, real), kOk);
  RunPending();
  const std::vector<float> wanted = {3, 4, 5, 6};
  for (PJRT_Buffer* buffer : {second.buffer, third.buffer, both}) EXPECT_EQ(*Download(buffer), wanted);
  Destroy({first.buffer, second.buffer, third.buffer, output, both, real});
}

TEST_F(PromiseTest, DestroyedSourcesStillKeepThem) {
  const Promise first = NewPromise(), second = NewPromise();
  EXPECT_CODE(Keep(second, first.buffer), kOk);
  Destroy(first.buffer);
  PJRT_Buffer* const real = Four(3);
  EXPECT_CODE(Keep(first, real), kOk);
  EXPECT_EQ(*Download(second.buffer), (std::vector<float>{3, 4, 5, 6}));
  Destroy({second.buffer, real});
}

// A copy that waited for the promise has not begun when a program gets the buffer for good.
TEST_F(PromiseTest, DonationLeavesEarlierUsesTheirContents) {
  SetScheduling(true);
  const Promise promise = NewPromise();
  PJRT_Buffer* const copy = Copy(promise.buffer);
  PJRT_Buffer* const real = Four(3);
  RunPending();
  EXPECT_CODE(Keep(promise, real), kOk);
  PJRT_Buffer* const output = Run("increment", promise.buffer);
  RunPending();
  SetScheduling(false);
  EXPECT_TRUE(IsDeleted(promise.buffer));
  EXPECT_EQ(*Download(copy), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(*Download(output), (std::vector<float>{4, 5, 6, 7}));
  Destroy({promise.buffer, copy, real, output});
}

}  // namespace
}  // namespace tenon::plugin::testing
