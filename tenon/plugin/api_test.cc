// The table as a whole: every entry is there, survives bad arguments, and touches nothing outside the caller's struct.

#include <cstdlib>
#include <memory>
#include <set>

#include "tenon/plugin/testing/harness.h"

namespace tenon::plugin::testing {
namespace {

TEST(Api, DeclaresItsVersion) {
  EXPECT_EQ(api()->struct_size, static_cast<size_t>(PJRT_Api_STRUCT_SIZE));
  EXPECT_EQ(api()->pjrt_api_version.major_version, 0);
  EXPECT_EQ(api()->pjrt_api_version.minor_version, 117);
  EXPECT_EQ(api()->pjrt_api_version.struct_size, 24u);
  EXPECT_EQ(api(), MakeApi(FakePlugin::Get()));
}

TEST(Api, EveryEntryIsBound) {
#define PJRT_FN(function, args, since, owner) EXPECT_NE(api()->function, nullptr) << #function;
#include "tenon/abi/api.def"
#undef PJRT_FN
}

// Guarded memory for an args struct of `size` bytes: what lies behind must stay as it was, and under ASan must not even
// be read.
class ExactArgs {
 public:
  explicit ExactArgs(size_t size) : memory_(static_cast<unsigned char*>(std::malloc(size))) {
    std::memset(memory_.get(), 0, size);
    if (size >= sizeof(size_t)) std::memcpy(memory_.get(), &size, sizeof(size));
  }
  template <class Args>
  Args* as() {
    return reinterpret_cast<Args*>(memory_.get());
  }

 private:
  struct Free {
    void operator()(unsigned char* p) const { std::free(p); }
  };
  std::unique_ptr<unsigned char, Free> memory_;
};

template <class Args>
Status TakeResult(PJRT_Error* (*function)(Args*), Args* args) {
  return TakeStatus(function(args));
}
template <class Args>
Status TakeResult(void (*function)(Args*), Args* args) {
  function(args);
  return InvalidArgument("returns nothing");
}

TEST(Api, NullArgumentsAreAnError) {
#define PJRT_FN(function, args, since, owner) EXPECT_CODE(TakeResult<args>(api()->function, nullptr), kInvalidArgument);
#include "tenon/abi/api.def"
#undef PJRT_FN
}

TEST(Api, TooSmallStructsAreAnError) {
#define PJRT_FN(function, args, since, owner)                                           \
  {                                                                                     \
    ExactArgs exact(sizeof(args));                                                      \
    exact.as<args>()->struct_size = 8;                                                  \
    EXPECT_CODE(TakeResult<args>(api()->function, exact.as<args>()), kInvalidArgument); \
  }
#include "tenon/abi/api.def"
#undef PJRT_FN
}

// These need no handle, or take none at all as a request to do nothing.
const std::set<std::string>& WorkOnZeros() {
  static const std::set<std::string> names = {"PJRT_Plugin_Initialize",
                                              "PJRT_Plugin_Attributes",
                                              "PJRT_Event_Destroy",
                                              "PJRT_Client_Create",
                                              "PJRT_Client_Destroy",
                                              "PJRT_AsyncTrackingEvent_Destroy",
                                              "PJRT_Executable_Destroy",
                                              "PJRT_LoadedExecutable_Destroy",
                                              "PJRT_Buffer_Destroy",
                                              "PJRT_CopyToDeviceStream_Destroy",
                                              "PJRT_TopologyDescription_Destroy",
                                              "PJRT_ExecuteContext_Create",
                                              "PJRT_ExecuteContext_Destroy",
                                              "PJRT_AsyncHostToDeviceTransferManager_Destroy",
                                              "PJRT_Event_Create"};
  return names;
}

// Every function with zeroed arguments of every size that a caller from 0.54 to 0.117 sends: an error where a handle is
// missing, and no access beyond the struct (which ASan would report).
TEST(Api, EverySizeWithZeroedArguments) {
#define PJRT_FN(function, args, since, owner) \
  const auto call_##args = [](void* a) { return TakeResult<args>(api()->function, static_cast<args*>(a)); };
#include "tenon/abi/api.def"
#undef PJRT_FN
  struct Row {
    const char* name;
    size_t size;
  };
  const Row rows[] = {
#define PJRT_SIZE(type, since, size) {#type, size},
#include "tenon/abi/struct_sizes.def"
#undef PJRT_SIZE
  };
  int tried = 0;
  for (const Row& row : rows) {
    std::string_view name = row.name;
    // Attributes are written in full for callers that send 24: their structs are larger than they say.
    if (name == "PJRT_Plugin_Attributes_Args" && row.size == 24) continue;
#define PJRT_FN(function, args, since, owner)                                                \
  if (name == #args) {                                                                       \
    ExactArgs exact(row.size);                                                               \
    Status status = call_##args(exact.as<args>());                                           \
    if (!WorkOnZeros().contains(#function)) {                                                \
      EXPECT_FALSE(status.ok()) << #function " of " << row.size;                             \
    } else {                                                                                 \
      EXPECT_TRUE(status.ok()) << #function " of " << row.size << ": " << status.ToString(); \
      if (std::string_view(#function) == "PJRT_Client_Create") {                             \
        ARGS(PJRT_Client_Destroy, destroy);                                                  \
        std::memcpy(&destroy.client, static_cast<char*>(exact.as<void>()) + 64, 8);          \
        EXPECT_CALL_OK(PJRT_Client_Destroy, destroy);                                        \
      } else if (std::string_view(#function) == "PJRT_ExecuteContext_Create") {              \
        ARGS(PJRT_ExecuteContext_Destroy, destroy);                                          \
        std::memcpy(&destroy.context, static_cast<char*>(exact.as<void>()) + 16, 8);         \
        EXPECT_CALL_OK(PJRT_ExecuteContext_Destroy, destroy);                                \
      } else if (std::string_view(#function) == "PJRT_Event_Create") {                       \
        ARGS(PJRT_Event_Destroy, destroy);                                                   \
        std::memcpy(&destroy.event, static_cast<char*>(exact.as<void>()) + 16, 8);           \
        EXPECT_CALL_OK(PJRT_Event_Destroy, destroy);                                         \
      }                                                                                      \
    }                                                                                        \
    ++tried;                                                                                 \
  }
#include "tenon/abi/api.def"
#undef PJRT_FN
  }
  EXPECT_GT(tried, 145);
}

TEST(Api, AttributesForCallersThatSend24) {
  ARGS(PJRT_Plugin_Attributes, args);
  args.struct_size = 24;
  ASSERT_CALL(PJRT_Plugin_Attributes, args);
  std::set<std::string> names;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& v = args.attributes[i];
    std::string name(v.name, v.name_size);
    EXPECT_TRUE(names.insert(name).second) << name;
    if (name == "stablehlo_current_version" || name == "stablehlo_minimum_version") {
      EXPECT_EQ(v.type, PJRT_NamedValue_kInt64List);
      EXPECT_EQ(v.value_size, 3u);
      EXPECT_GE(v.int64_array_value[1], 9);
    }
    if (name == "xla_version") EXPECT_EQ(v.int64_value, 2);  // The SDK's own wins over a plugin's.
    if (name == "flavor") EXPECT_EQ(std::string_view(v.string_value, v.value_size), "plain");
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"xla_version", "stablehlo_current_version", "stablehlo_minimum_version", "flavor"}));
}

TEST(Api, ErrorsAreVtableFirst) {
  ARGS(PJRT_Client_PlatformName, args);
  PJRT_Error* error = api()->PJRT_Client_PlatformName(&args);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->vtable->struct_size, static_cast<size_t>(PJRT_Error_FunctionTable_STRUCT_SIZE));
  EXPECT_EQ(error->vtable->get_code(error), PJRT_Error_Code_INVALID_ARGUMENT);
  const char* text = nullptr;
  size_t size = 0;
  error->vtable->message(error, &text, &size);
  EXPECT_EQ(std::string_view(text, size), "PJRT_Client_PlatformName: client is NULL");
  int payloads = 0;
  ARGS(PJRT_Error_ForEachPayload, each);
  each.error = error;
  each.visitor = [](const char*, size_t, const char*, size_t, void* n) { ++*static_cast<int*>(n); };
  each.user_arg = &payloads;
  EXPECT_CALL_OK(PJRT_Error_ForEachPayload, each);
  EXPECT_EQ(payloads, 0);
  error->vtable->destroy(error);
  ARGS(PJRT_Error_Destroy, destroy);
  api()->PJRT_Error_Destroy(&destroy);  // NULL is allowed.
  EXPECT_EQ(LiveObjects(ObjectKind::kError), 0);
}

}  // namespace
}  // namespace tenon::plugin::testing
