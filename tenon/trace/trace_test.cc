#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tenon/abi/pjrt_layouts.h"
#include "tenon/plugin/testing/harness.h"
#include "tenon/trace/call.h"
#include "tenon/trace/function.h"
#include "tenon/trace/load.h"
#include "tenon/trace/recorder.h"
#include "tenon/trace/writer.h"

namespace tenon::plugin::testing {

// Everything that the harness calls goes through the trace.
const PJRT_Api* api() { return trace::TraceApi(MakeApi(FakePlugin::Get())); }

}  // namespace tenon::plugin::testing

namespace tenon::trace {
namespace {

using namespace tenon::plugin::testing;  // NOLINT(google-build-using-namespace): the harness

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class TraceTest : public PluginTest {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("tenon_trace_test." + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    Start({});
    PluginTest::SetUp();
  }
  void TearDown() override {
    PluginTest::TearDown();
    StopTrace();
    std::filesystem::remove_all(folder_);
  }
  void Start(TraceOptions options) {
    options.file = json_path();
    options.text = text_path();
    StartTrace(options);
  }
  std::string json_path() const { return folder_ / "trace.json"; }
  std::string text_path() const { return folder_ / "trace.txt"; }
  // Ends the trace and reads it.
  nlohmann::json Json() {
    StopTrace();
    return nlohmann::json::parse(Read(json_path()));
  }
  std::string Text() {
    Flush();
    return Read(text_path());
  }
  uint64_t Count(Misuse misuse) { return MisuseCount(misuse); }

  std::filesystem::path folder_;
};

std::vector<nlohmann::json> Where(const nlohmann::json& events, auto predicate) {
  std::vector<nlohmann::json> found;
  std::ranges::copy_if(events, std::back_inserter(found), predicate);
  return found;
}

TEST_F(TraceTest, EveryEntryOfThePluginIsForwarded) {
  const PJRT_Api* inner = plugin::MakeApi(FakePlugin::Get());
  const PJRT_Api* traced = api();
  EXPECT_EQ(traced, api());
  EXPECT_EQ(traced->struct_size, inner->struct_size);
  EXPECT_EQ(traced->pjrt_api_version.minor_version, inner->pjrt_api_version.minor_version);
#define PJRT_FN(function, args, since, owner)        \
  EXPECT_NE(traced->function, nullptr) << #function; \
  EXPECT_NE(traced->function, inner->function) << #function;
#include "tenon/abi/api.def"
#undef PJRT_FN
}

TEST_F(TraceTest, AProgramIsWrittenWithArgumentsSizesAndLifetimes) {
  Result<PJRT_LoadedExecutable*> add = Compile("later add");
  ASSERT_TRUE(add.ok()) << add.status().ToString();
  PJRT_Buffer* one = Four(1);
  PJRT_Buffer* two = Four(10);
  Result<Outcome> outcome = Execute(*add, {one, two});
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_TRUE(Finish(outcome->done).ok());
  EXPECT_EQ(*Download(outcome->outputs[0]), (std::vector<float>{11, 13, 15, 17}));
  const std::string text = Text();
  EXPECT_NE(text.find("PJRT_Client_Compile(client=client#1, program=\"mlir, 9 bytes\""), text.npos) << text;
  EXPECT_NE(text.find("type=f32"), text.npos) << text;
  EXPECT_NE(text.find("dims=[4]"), text.npos) << text;
  EXPECT_NE(text.find("arguments=[buffer#1, buffer#2], outputs=[buffer#3 16 bytes], events=[event#"), text.npos)
      << text;
  Destroy(one);
  Destroy(two);
  Destroy(outcome->outputs[0]);
  Destroy(*add);
  const nlohmann::json events = Json();
  const auto calls = [&](const char* name) {
    return Where(events, [&](const nlohmann::json& e) { return e["ph"] == "X" && e.value("name", "") == name; });
  };
  ASSERT_EQ(calls("PJRT_LoadedExecutable_Execute").size(), 1u);
  EXPECT_EQ(calls("PJRT_LoadedExecutable_Execute")[0]["args"]["outputs"], nlohmann::json::array({"buffer#3"}));
  EXPECT_EQ(calls("PJRT_Client_BufferFromHostBuffer").size(), 2u);
  // Each buffer begins and ends once, with its size.
  for (const char* phase : {"b", "e"}) {
    const auto ends = Where(events, [&](const nlohmann::json& e) {
      return e["ph"] == phase && e.value("cat", "") == "buffer" && e["args"].value("bytes", 0) == 16;
    });
    EXPECT_EQ(ends.size(), 3u) << phase;
  }
  // The execution's event took from the end of the call until the program ran.
  const auto fired = Where(events, [](const nlohmann::json& e) {
    return e.value("cat", "") == "event" && e["ph"] == "e" && e["name"] == "LoadedExecutable_Execute";
  });
  EXPECT_EQ(fired.size(), 1u);
  const auto bytes = Where(events, [](const nlohmann::json& e) { return e["ph"] == "C"; });
  ASSERT_FALSE(bytes.empty());
  EXPECT_EQ(bytes.back()["args"]["bytes"], 0);
  const auto summary = Where(events, [](const nlohmann::json& e) { return e.value("name", "") == "summary"; });
  ASSERT_EQ(summary.size(), 1u);
  EXPECT_EQ(summary[0]["args"]["buffers"], 3);
  EXPECT_EQ(summary[0]["args"]["peak_live_bytes"], 48);
  EXPECT_EQ(summary[0]["args"]["functions"]["PJRT_LoadedExecutable_Execute"]["calls"], 1);
  // The client lives on: TearDown destroys it.
  EXPECT_EQ(summary[0]["args"]["leaks"].size(), 1u) << summary[0].dump(1);
}

TEST_F(TraceTest, DestroyingTwiceIsToldAndHarmless) {
  PJRT_Buffer* buffer = Four(1);
  Destroy(buffer);
  ARGS(PJRT_Buffer_Destroy, again);
  again.buffer = buffer;
  EXPECT_CODE(CALL(PJRT_Buffer_Destroy, again), kInvalidArgument);
  EXPECT_EQ(Count(Misuse::kDoubleDestroy), 1u);
  EXPECT_NE(Text().find("MISUSE double destroy: PJRT_Buffer_Destroy: buffer is buffer#1"), std::string::npos) << Text();
  again.buffer = nullptr;
  EXPECT_TRUE(CALL(PJRT_Buffer_Destroy, again).ok());
  EXPECT_EQ(Count(Misuse::kDoubleDestroy), 1u);
}

TEST_F(TraceTest, UsingWhatIsDestroyedIsToldAndHarmless) {
  PJRT_Buffer* buffer = Four(1);
  Result<PJRT_LoadedExecutable*> increment = Compile("increment");
  ASSERT_TRUE(increment.ok());
  Destroy(buffer);
  ARGS(PJRT_Buffer_Dimensions, dims);
  dims.buffer = buffer;
  EXPECT_CODE(CALL(PJRT_Buffer_Dimensions, dims), kInvalidArgument);
  EXPECT_EQ(Count(Misuse::kUseAfterDestroy), 1u);
  EXPECT_CODE(Execute(*increment, {buffer}).status(), kInvalidArgument);
  EXPECT_EQ(Count(Misuse::kUseAfterDestroy), 2u);
  Destroy(*increment);
}

TEST_F(TraceTest, UsingDeletedContentsIsTold) {
  PJRT_Buffer* buffer = Four(1);
  ARGS(PJRT_Buffer_Delete, drop);
  drop.buffer = buffer;
  EXPECT_CALL_OK(PJRT_Buffer_Delete, drop);
  EXPECT_TRUE(IsDeleted(buffer));
  EXPECT_EQ(Count(Misuse::kUseAfterDelete), 0u);
  EXPECT_FALSE(Download(buffer).ok());
  EXPECT_GE(Count(Misuse::kUseAfterDelete), 1u);
  Destroy(buffer);
  EXPECT_EQ(Count(Misuse::kDoubleDestroy), 0u);
}

TEST_F(TraceTest, WrongStructSizesAreTold) {
  ARGS(PJRT_Client_PlatformName, args);
  args.client = client_;
  args.struct_size = 17;
  TakeStatus(api()->PJRT_Client_PlatformName(&args)).ok();
  EXPECT_EQ(Count(Misuse::kWrongStructSize), 1u);
  args.struct_size = sizeof(args) + 64;  // A newer caller.
  EXPECT_TRUE(CALL(PJRT_Client_PlatformName, args).ok());
  EXPECT_EQ(Count(Misuse::kWrongStructSize), 1u);
  ARGS(PJRT_Plugin_Attributes, attributes);
  attributes.struct_size = 24;  // An older caller.
  EXPECT_TRUE(CALL(PJRT_Plugin_Attributes, attributes).ok());
  EXPECT_EQ(Count(Misuse::kWrongStructSize), 1u);
}

TEST_F(TraceTest, MissingArgumentsAreTold) {
  ARGS(PJRT_Client_PlatformName, name);
  EXPECT_CODE(CALL(PJRT_Client_PlatformName, name), kInvalidArgument);
  EXPECT_EQ(Count(Misuse::kNullArgument), 1u);
  EXPECT_CODE(TakeStatus(api()->PJRT_Client_PlatformName(nullptr)), kInvalidArgument);
  EXPECT_EQ(Count(Misuse::kNullArgument), 2u);
  ARGS(PJRT_Client_BufferFromHostBuffer, upload);
  float value = 1;
  upload.client = client_;
  upload.device = device(0);
  upload.data = &value;
  upload.type = PJRT_Buffer_Type_F32;
  upload.num_dims = 2;  // Without dims.
  EXPECT_CODE(CALL(PJRT_Client_BufferFromHostBuffer, upload), kInvalidArgument);
  EXPECT_EQ(Count(Misuse::kNullArgument), 3u);
}

TEST_F(TraceTest, ErrorsReadTooEarlyAreTold) {
  Result<PJRT_LoadedExecutable*> echo = Compile("later echo");
  ASSERT_TRUE(echo.ok());
  PJRT_Buffer* buffer = Four(1);
  Result<Outcome> outcome = Execute(*echo, {buffer});
  ASSERT_TRUE(outcome.ok());
  ARGS(PJRT_Event_Error, early);
  early.event = outcome->done;
  EXPECT_FALSE(CALL(PJRT_Event_Error, early).ok());
  EXPECT_EQ(Count(Misuse::kErrorBeforeReady), 1u);
  RunPending();
  EXPECT_TRUE(CALL(PJRT_Event_Error, early).ok());
  EXPECT_EQ(Count(Misuse::kErrorBeforeReady), 1u);
  EXPECT_TRUE(Finish(outcome->done).ok());
  Destroy(outcome->outputs[0]);
  Destroy(buffer);
  Destroy(*echo);
}

TEST_F(TraceTest, ErrorsMayBeFreedInEitherWayButOnce) {
  ARGS(PJRT_Client_LookupDevice, lookup);
  lookup.client = client_;
  lookup.id = 77;
  PJRT_Error* error = api()->PJRT_Client_LookupDevice(&lookup);
  ASSERT_NE(error, nullptr);
  const char* message;
  size_t size;
  error->vtable->message(error, &message, &size);
  EXPECT_NE(std::string(message, size).find("77"), std::string::npos);
  EXPECT_EQ(error->vtable->get_code(error), PJRT_Error_Code_INVALID_ARGUMENT);
  error->vtable->destroy(error);
  ARGS(PJRT_Error_Destroy, again);
  again.error = error;
  api()->PJRT_Error_Destroy(&again);
  EXPECT_EQ(Count(Misuse::kDoubleDestroy), 1u);
  PJRT_Error* kept = api()->PJRT_Client_LookupDevice(&lookup);
  const nlohmann::json events = Json();
  EXPECT_EQ(Count(Misuse::kLeakedError), 1u);
  EXPECT_EQ(events.at(events.size() - 1)["args"]["misuse"]["error never freed"], 1);
  again.error = kept;
  api()->PJRT_Error_Destroy(&again);
}

TEST_F(TraceTest, LeaksAreToldAtTheEnd) {
  PJRT_Buffer* buffer = Four(1);
  ARGS(PJRT_Buffer_ReadyEvent, ready);
  ready.buffer = buffer;
  ASSERT_CALL(PJRT_Buffer_ReadyEvent, ready);
  StopTrace();
  EXPECT_EQ(Count(Misuse::kLeakedHandle), 3u);  // These two and the client.
  const std::string text = Read(text_path());
  EXPECT_NE(text.find("# leaked: buffer#1 made by PJRT_Client_BufferFromHostBuffer"), text.npos) << text;
  EXPECT_NE(text.find("made by PJRT_Buffer_ReadyEvent"), text.npos) << text;
  DestroyEvent(ready.event);
  Destroy(buffer);
}

TEST_F(TraceTest, CleanUseIsClean) {
  Result<PJRT_LoadedExecutable*> pair = Compile("pair");
  ASSERT_TRUE(pair.ok());
  Result<Outcome> outcome = Execute(*pair, {});
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(Finish(outcome->done).ok());
  for (PJRT_Buffer* output : outcome->outputs) Destroy(output);
  Destroy(*pair);
  for (int i = 0; i < kNumMisuses; ++i)
    EXPECT_EQ(Count(static_cast<Misuse>(i)), 0u) << MisuseName(static_cast<Misuse>(i));
}

TEST_F(TraceTest, CallbacksRunOnceAndOwnTheirError) {
  Result<PJRT_LoadedExecutable*> fail = Compile("fail");
  ASSERT_TRUE(fail.ok());
  PJRT_Buffer* buffer = Four(1);
  Result<Outcome> outcome = Execute(*fail, {buffer});
  ASSERT_TRUE(outcome.ok());
  struct Seen {
    int calls = 0;
    Status status;
  } seen;
  ARGS(PJRT_Event_OnReady, on_ready);
  on_ready.event = outcome->done;
  on_ready.user_arg = &seen;
  on_ready.callback = [](PJRT_Error* error, void* arg) {
    ++static_cast<Seen*>(arg)->calls;
    static_cast<Seen*>(arg)->status = TakeStatus(error);
  };
  EXPECT_CALL_OK(PJRT_Event_OnReady, on_ready);
  EXPECT_FALSE(Finish(outcome->done).ok());
  EXPECT_EQ(seen.calls, 1);
  EXPECT_CODE(seen.status, kAborted);
  for (PJRT_Buffer* output : outcome->outputs) Destroy(output);
  Destroy(buffer);
  Destroy(*fail);
  StopTrace();
  EXPECT_EQ(Count(Misuse::kLeakedError), 0u);
}

TEST_F(TraceTest, NewerTablesAndUnknownExtensionsAreForwarded) {
  struct Newer {
    PJRT_Api api;
    PJRT_Error* (*later)(void*);
  };
  struct Extension {
    PJRT_Extension_Base base;
    int (*sum)(int, int);
  };
  static int seen;
  static Extension unknown{{sizeof(Extension), static_cast<PJRT_Extension_Type>(77), nullptr},
                           [](int a, int b) { return a + b; }};
  static Newer newer;
  newer.api = *plugin::MakeApi(FakePlugin::Get());
  newer.api.struct_size = sizeof(Newer);
  unknown.base.next = newer.api.extension_start;
  newer.api.extension_start = &unknown.base;
  newer.later = [](void* args) -> PJRT_Error* {
    seen = static_cast<int*>(args)[2];
    return nullptr;
  };
  const auto* traced = reinterpret_cast<const Newer*>(TraceApi(&newer.api));
  ASSERT_EQ(traced->api.struct_size, sizeof(Newer));
  ASSERT_NE(traced->later, newer.later);
  int args[] = {16, 0, 42};
  EXPECT_EQ(traced->later(args), nullptr);
  EXPECT_EQ(seen, 42);
  const auto* extension = reinterpret_cast<const Extension*>(traced->api.extension_start);
  EXPECT_EQ(NumberOf(extension->base.type), 77u);
  EXPECT_EQ(extension->sum(2, 3), 5);
  EXPECT_NE(Text().find("table entry 138("), std::string::npos) << Text();
  // The chain goes on with all that the plugin has.
  int theirs = 0, ours = 0;
  for (const auto* e = newer.api.extension_start; e != nullptr; e = e->next) ++theirs;
  for (const auto* e = traced->api.extension_start; e != nullptr; e = e->next) ++ours;
  EXPECT_EQ(ours, theirs);
}

TEST_F(TraceTest, OlderTablesStayShort) {
  static PJRT_Api older;
  older = *plugin::MakeApi(FakePlugin::Get());
  older.struct_size = offsetof(PJRT_Api, PJRT_Client_DmaMap);
  older.PJRT_Client_DmaMap = reinterpret_cast<PJRT_Client_DmaMap*>(1);  // Behind the end: must not be touched.
  older.PJRT_Buffer_CopyRawToHost = nullptr;
  const PJRT_Api* traced = TraceApi(&older);
  EXPECT_EQ(traced->struct_size, older.struct_size);
  EXPECT_EQ(traced->PJRT_Client_DmaMap, nullptr);
  EXPECT_EQ(traced->PJRT_Buffer_CopyRawToHost, nullptr);
  EXPECT_NE(traced->PJRT_Buffer_CopyToMemory, nullptr);
}

TEST_F(TraceTest, ExtensionFunctionsAreRecorded) {
  const auto* layouts = FindExtension<PJRT_Layouts_Extension>(PJRT_Extension_Type_Layouts);
  ASSERT_NE(layouts, nullptr);
  PJRT_Buffer* buffer = Four(1);
  ARGS(PJRT_Layouts_PJRT_Buffer_MemoryLayout, get);
  get.buffer = buffer;
  EXPECT_TRUE(TakeStatus(layouts->PJRT_Layouts_PJRT_Buffer_MemoryLayout(&get)).ok());
  ARGS(PJRT_Layouts_MemoryLayout_Destroy, destroy);
  destroy.layout = get.layout;
  EXPECT_TRUE(TakeStatus(layouts->PJRT_Layouts_MemoryLayout_Destroy(&destroy)).ok());
  EXPECT_CODE(TakeStatus(layouts->PJRT_Layouts_MemoryLayout_Destroy(&destroy)), kInvalidArgument);
  EXPECT_EQ(Count(Misuse::kDoubleDestroy), 1u);
  EXPECT_NE(Text().find("PJRT_Layouts_PJRT_Buffer_MemoryLayout(buffer=buffer#1) -> (layout=layout#1)"),
            std::string::npos)
      << Text();
  Destroy(buffer);
}

TEST_F(TraceTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 4, kCalls = 20000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int k = 0; k < kCalls; ++k) {
        ARGS(PJRT_Client_ProcessIndex, args);
        args.client = client_;
        EXPECT_EQ(api()->PJRT_Client_ProcessIndex(&args), nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const nlohmann::json events = Json();
  EXPECT_EQ(events.at(events.size() - 1)["args"]["functions"]["PJRT_Client_ProcessIndex"]["calls"], kThreads * kCalls);
  std::map<int, int> per_thread;
  for (const auto& event : events) {
    if (event["name"] == "PJRT_Client_ProcessIndex") ++per_thread[event["tid"]];
  }
  EXPECT_EQ(per_thread.size(), static_cast<size_t>(kThreads));
  for (const auto& [tid, calls] : per_thread) EXPECT_EQ(calls, kCalls);
}

TEST_F(TraceTest, AFullDiskDoesNotMatter) {
  StartTrace({.file = "/dev/full", .text = "/dev/full"});
  ARGS(PJRT_Client_ProcessIndex, args);
  args.client = client_;
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(api()->PJRT_Client_ProcessIndex(&args), nullptr);
  StopTrace();
  StartTrace({.file = "/no/such/folder/trace.json", .text = "/no/such/folder/trace.txt"});
  EXPECT_EQ(api()->PJRT_Client_ProcessIndex(&args), nullptr);
  StopTrace();
}

TEST_F(TraceTest, AChildWritesFilesOfItsOwn) {
  PJRT_Buffer* buffer = Four(1);
  Flush();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ARGS(PJRT_Buffer_Dimensions, dims);
    dims.buffer = buffer;
    const bool good = api()->PJRT_Buffer_Dimensions(&dims) == nullptr && dims.num_dims == 1;
    StopTrace();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  Destroy(buffer);
  const nlohmann::json ours = Json();
  const nlohmann::json theirs = nlohmann::json::parse(Read(json_path() + "." + std::to_string(child)));
  const auto calls = [](const nlohmann::json& events, const char* name) {
    return Where(events, [&](const nlohmann::json& e) { return e.value("name", "") == name; }).size();
  };
  EXPECT_EQ(calls(ours, "PJRT_Buffer_Dimensions"), 0u);
  EXPECT_EQ(calls(ours, "PJRT_Client_BufferFromHostBuffer"), 1u);
  EXPECT_EQ(calls(theirs, "PJRT_Buffer_Dimensions"), 1u);
  EXPECT_EQ(calls(theirs, "PJRT_Client_BufferFromHostBuffer"), 0u);
}

TEST(FailingApi, SaysWhyInEveryCallAndLetsFrameworksAsk) {
  const PJRT_Api* failing = FailingApi("no plugin");
  ARGS(PJRT_Plugin_Attributes, attributes);
  EXPECT_EQ(failing->PJRT_Plugin_Attributes(&attributes), nullptr);
  EXPECT_EQ(attributes.num_attributes, 0u);
  ARGS(PJRT_Plugin_Initialize, initialize);
  PJRT_Error* error = failing->PJRT_Plugin_Initialize(&initialize);
  ASSERT_NE(error, nullptr);
  ARGS(PJRT_Error_Message, message);
  message.error = error;
  failing->PJRT_Error_Message(&message);
  EXPECT_EQ(std::string(message.message, message.message_size), "no plugin");
  ARGS(PJRT_Error_Destroy, destroy);
  destroy.error = error;
  failing->PJRT_Error_Destroy(&destroy);
}

TEST(OutputFileTest, WhatAnotherWritesIsLeftToIt) {
  const std::string path = ::testing::TempDir() + "/trace_output_" + std::to_string(getpid());
  const std::string other = path + "." + std::to_string(getpid());
  std::ofstream(path) << "of an earlier run";
  OutputFile first, second;
  ASSERT_TRUE(first.Open(path));
  first.Append("1");
  ASSERT_TRUE(second.Open(path));
  second.Append("2");
  first.Append("3");
  first.Close();
  second.Close();
  EXPECT_EQ(Read(path), "13");
  EXPECT_EQ(Read(other), "2");
  // Free again, also for files without contents to take care of.
  ASSERT_TRUE(second.Open(path));
  second.Close();
  EXPECT_EQ(Read(path), "");
  EXPECT_TRUE(second.Open("/dev/null"));
  EXPECT_FALSE(second.Open("/no/such/folder/file"));
  std::remove(path.c_str());
  std::remove(other.c_str());
}

TEST(Functions, StructsEndWhereTheirLastFieldEnds) {
#define PJRT_FN(function, args, since, owner)                                                     \
  EXPECT_EQ(FunctionOf(k_##function).struct_size, static_cast<int>(args##_STRUCT_SIZE)) << #args; \
  EXPECT_STREQ(FunctionOf(k_##function).name, #function);
#include "tenon/abi/api.def"
#undef PJRT_FN
}

}  // namespace
}  // namespace tenon::trace
