#include "tenon/client/kv_store.h"

#include <new>
#include <stdexcept>
#include <thread>

#include "tenon/client/internal/kv_callbacks.h"
#include "tenon/client/testing/fake.h"

namespace tenon::client {
namespace {

using std::chrono::milliseconds;

TEST(KeyValueStore, PutGetTryGet) {
  const auto store = MakeInProcessKeyValueStore();
  EXPECT_FAILS(store->TryGet("k"), kNotFound, "'k'");
  EXPECT_FAILS(store->Get("k", milliseconds(1)), kDeadlineExceeded, "1 ms");
  EXPECT_OK(store->Put("k", std::string_view("a\0b", 3)));
  EXPECT_EQ(store->TryGet("k").value(), std::string("a\0b", 3));
  std::thread other([&] { EXPECT_OK(store->Put("late", "v")); });
  EXPECT_EQ(store->Get("late", milliseconds(60000)).value(), "v");
  other.join();
}

TEST(KeyValueStore, TimeoutsMayBeOfAnyLength) {
  const auto store = MakeInProcessKeyValueStore();
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(50));
    EXPECT_OK(store->Put("late", "v"));
  });
  const Result<std::string> late = store->Get("late", milliseconds::max());
  other.join();
  ASSERT_TRUE(late.ok()) << late.status().ToString();
  EXPECT_EQ(*late, "v");
  EXPECT_FAILS(store->Get("none", milliseconds::min()), kDeadlineExceeded, "'none'");
}

// What the plugin sees: the C callbacks, with arguments whose struct_size is garbage, as some plugins leave it.
PJRT_Error_Code g_code;
std::string g_message;
PJRT_Error* RecordError(PJRT_Error_Code code, const char* message, size_t size) {
  g_code = code;
  g_message.assign(message, size);
  static char token;
  return reinterpret_cast<PJRT_Error*>(&token);
}

TEST(KeyValueStore, CallbacksForThePlugin) {
  const auto store = MakeInProcessKeyValueStore();
  auto create = MakeArgs<PJRT_Client_Create_Args>();
  internal::SetKeyValueCallbacks(create, store.get());
  PJRT_CallbackError make_error = RecordError;

  PJRT_KeyValuePutCallback_Args put{};
  put.struct_size = 0xdead;
  put.key = "key";
  put.key_size = 3;
  put.value = "value";
  put.value_size = 5;
  put.callback_error = &make_error;
  put.user_arg = create.kv_put_user_arg;
  EXPECT_EQ(create.kv_put_callback(&put), nullptr);

  PJRT_KeyValueGetCallback_Args get{};
  get.struct_size = 0xdead;
  get.key = "key";
  get.key_size = 3;
  get.timeout_in_ms = 10;
  get.callback_error = &make_error;
  get.user_arg = create.kv_get_user_arg;
  EXPECT_EQ(create.kv_get_callback(&get), nullptr);
  EXPECT_EQ(std::string(get.value, get.value_size), "value");
  get.value_deleter_callback(get.value);

  PJRT_KeyValueTryGetCallback_Args try_get{};
  try_get.key = "none";
  try_get.key_size = 4;
  try_get.callback_error = &make_error;
  try_get.user_arg = create.kv_try_get_user_arg;
  EXPECT_NE(create.kv_try_get_callback(&try_get), nullptr);
  EXPECT_EQ(g_code, PJRT_Error_Code_NOT_FOUND);
  EXPECT_THAT(g_message, ::testing::HasSubstr("none"));
}

// Nothing may be thrown through the plugin's code.
TEST(KeyValueStore, ExceptionsBecomeErrorsOfThePlugin) {
  class Throwing final : public KeyValueStore {
   public:
    Result<std::string> Get(std::string_view, milliseconds) override { throw std::runtime_error("no get"); }
    Result<std::string> TryGet(std::string_view) override { throw std::bad_alloc(); }
    Status Put(std::string_view, std::string_view) override { throw std::runtime_error("no put"); }
  } store;
  auto create = MakeArgs<PJRT_Client_Create_Args>();
  internal::SetKeyValueCallbacks(create, &store);
  PJRT_CallbackError make_error = RecordError;
  const auto refuses = [&](auto* callback, auto args) {
    args.key = "key";
    args.key_size = 3;
    args.callback_error = &make_error;
    args.user_arg = create.kv_get_user_arg;
    return callback(&args) != nullptr;
  };
  EXPECT_TRUE(refuses(create.kv_get_callback, PJRT_KeyValueGetCallback_Args{}));
  EXPECT_EQ(g_code, PJRT_Error_Code_INTERNAL);
  EXPECT_THAT(g_message, ::testing::HasSubstr("no get"));
  EXPECT_TRUE(refuses(create.kv_try_get_callback, PJRT_KeyValueTryGetCallback_Args{}));
  EXPECT_EQ(g_code, PJRT_Error_Code_RESOURCE_EXHAUSTED);
  EXPECT_TRUE(refuses(create.kv_put_callback, PJRT_KeyValuePutCallback_Args{}));
  EXPECT_THAT(g_message, ::testing::HasSubstr("no put"));
}

TEST(KeyValueStore, LivesAsLongAsTheClient) {
  auto store = MakeInProcessKeyValueStore();
  const std::weak_ptr<KeyValueStore> alive = store;
  {
    ASSERT_OK_AND_ASSIGN(const Client client, testing::FakePlugin().CreateClient({}, std::move(store)));
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace tenon::client
