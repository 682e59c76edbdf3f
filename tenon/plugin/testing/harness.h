#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/pjrt.h"
#include "tenon/base/status.h"
#include "tenon/plugin/testing/fake_plugin.h"

namespace tenon::plugin::testing {

/// Declares args of a function, zeroed, with struct_size set.
#define ARGS(function, name)           \
  function##_Args name;                \
  std::memset(&name, 0, sizeof(name)); \
  name.struct_size = function##_Args_STRUCT_SIZE

/// Calls a function of the table and returns its error, which is freed, as a Status.
#define CALL(function, args) TakeStatus(api()->function(&(args)))

#define EXPECT_CODE(expression, expected)                                     \
  do {                                                                        \
    const ::tenon::Status& status_ = (expression);                            \
    EXPECT_EQ(status_.code(), ::tenon::Code::expected) << status_.ToString(); \
  } while (false)
#define ASSERT_CALL(function, args)                                    \
  do {                                                                 \
    const ::tenon::Status status_ = CALL(function, args);              \
    ASSERT_TRUE(status_.ok()) << #function ": " << status_.ToString(); \
  } while (false)
#define EXPECT_CALL_OK(function, args)                                 \
  do {                                                                 \
    const ::tenon::Status status_ = CALL(function, args);              \
    EXPECT_TRUE(status_.ok()) << #function ": " << status_.ToString(); \
  } while (false)

const PJRT_Api* api();
/// The error as a status, through the table's functions, and frees it.
Status TakeStatus(PJRT_Error* error);

/// Waits for an event, after running what is pending, and destroys it.
Status Finish(PJRT_Event* event);
bool IsReady(PJRT_Event* event);
void DestroyEvent(PJRT_Event* event);

/// The plugin's extension of this type, or null.
template <class Extension>
const Extension* FindExtension(PJRT_Extension_Type type) {
  for (PJRT_Extension_Base* e = api()->extension_start; e != nullptr; e = e->next) {
    // As bytes: others are of types that the enum does not have.
    if (std::memcmp(&e->type, &type, sizeof(type)) == 0) return reinterpret_cast<const Extension*>(e);
  }
  return nullptr;
}

/// A client of the fake plugin with what tests need of it. Destroys the client and checks that nothing is left.
class PluginTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  PJRT_Device* device(size_t i) { return devices_[i]; }
  PJRT_Memory* memory(size_t device_index, std::string_view kind);

  PJRT_Buffer* Upload(const std::vector<float>& values, std::vector<int64_t> dims, PJRT_Device* device = nullptr);
  PJRT_Buffer* Four(float first) { return Upload({first, first + 1, first + 2, first + 3}, {4}); }
  Result<std::vector<float>> Download(PJRT_Buffer* buffer);
  void Destroy(PJRT_Buffer* buffer);
  bool IsDeleted(PJRT_Buffer* buffer);
  /// The outcome of the buffer's ready event.
  Status Ready(PJRT_Buffer* buffer);

  Result<PJRT_LoadedExecutable*> Compile(std::string_view program, std::string_view options = kOneDevice);
  void Destroy(PJRT_LoadedExecutable* executable);
  struct Outcome {
    std::vector<PJRT_Buffer*> outputs;
    PJRT_Event* done = nullptr;
  };
  /// The bytes of `buffer` as an array of another type.
  PJRT_Buffer* Bitcast(PJRT_Buffer* buffer, PJRT_Buffer_Type type, std::vector<int64_t> dims);
  /// On one device.
  Result<Outcome> Execute(PJRT_LoadedExecutable* executable, std::vector<PJRT_Buffer*> arguments,
                          PJRT_ExecuteOptions* options = nullptr);

  static constexpr std::string_view kOneDevice = "\x1a\x04\x20\x01\x28\x01";

  PJRT_Client* client_ = nullptr;
  std::vector<PJRT_Device*> devices_;
};

}  // namespace tenon::plugin::testing
