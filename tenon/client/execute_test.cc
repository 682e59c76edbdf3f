#include <cstring>
#include <stdexcept>
#include <thread>

#include "tenon/client/client.h"
#include "tenon/client/stream.h"
#include "tenon/client/testing/fake.h"

namespace tenon::client {
namespace {

using ::testing::ElementsAre;
class ExecuteTest : public testing::FakeTest {};

TEST_F(ExecuteTest, RunsAndKeepsItsArguments) {
  const LoadedExecutable add = Compile("add");
  const Buffer x = Floats({1, 2, 3, 4}), y = Floats({10, 20, 30, 40});
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, add.Execute({&x, &y}));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(11, 22, 33, 44));
  EXPECT_FALSE(x.IsDeleted().value());
}

TEST_F(ExecuteTest, DonatesOnlyWhenAsked) {
  const LoadedExecutable increment = Compile("increment");
  const auto run = [&](const Donate& donate) {
    const Buffer x = Floats({1, 2, 3, 4});
    ExecuteOptions options;
    options.donate = donate;
    const auto out = increment.Execute({&x}, options);
    EXPECT_THAT((*out)[0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
    return x.IsDeleted().value();
  };
  EXPECT_FALSE(run(Donate::None()));
  EXPECT_TRUE(run(Donate::All()));
  EXPECT_TRUE(run(Donate::Only({0})));
  const Buffer x = Floats({1, 2, 3, 4});
  ExecuteOptions options;
  options.donate = Donate::Only({1});
  EXPECT_FAILS(increment.Execute({&x}, options), kInvalidArgument, "argument 1 is to be donated; there are 1");
  Buffer gone = Floats({1, 2, 3, 4});
  options.donate = Donate::All();
  EXPECT_OK(increment.Execute({&gone}, options));
  EXPECT_EQ(increment.Execute({&gone}).status().code(), Code::kInvalidArgument);  // after donation
}

TEST_F(ExecuteTest, OutputsLieWhereTheCallerWants) {
  const LoadedExecutable add = Compile("add");
  const Buffer x = Floats({1, 2, 3, 4});
  alignas(64) float place[4] = {};
  void* places[] = {place, nullptr};
  ExecuteOptions options;
  options.output_memory = std::span(places).first(1);
  {
    ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, add.Execute({&x, &x}, options));
    EXPECT_EQ(out[0].UnsafePointer().value(), reinterpret_cast<uintptr_t>(place));
  }
  EXPECT_THAT(place, ElementsAre(2, 4, 6, 8));
  places[0] = nullptr;  // Of this one the plugin chooses.
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, add.Execute({&x, &x}, options));
  EXPECT_NE(out[0].UnsafePointer().value(), reinterpret_cast<uintptr_t>(place));
  options.output_memory = places;
  EXPECT_FAILS(add.Execute({&x, &x}, options), kInvalidArgument, "places for 2 outputs of 1 on 1 devices");
}

TEST_F(ExecuteTest, SeveralOutputsAndNone) {
  const LoadedExecutable pair = Compile("pair");
  EXPECT_EQ(pair.num_outputs(), 2u);
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> out, pair.Execute(std::span<const Buffer* const>()));
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(out[1].ToScalar<int32_t>().value(), 7);
}

TEST_F(ExecuteTest, EventsAndErrorsOfLaterWork) {
  const Buffer x = Floats({1, 2, 3, 4});
  const LoadedExecutable later = Compile("later echo"), fail = Compile("fail"), refuse = Compile("refuse");
  std::vector<Buffer> out(1);
  Event done;
  const Buffer* arguments[] = {&x};
  EXPECT_OK(later.ExecuteInto(arguments, out, {}, &done));
  EXPECT_FALSE(done.IsReady().value());
  testing::RunPending();
  EXPECT_OK(done.Await());
  EXPECT_THAT(out[0].ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
  ASSERT_OK_AND_ASSIGN(const std::vector<Buffer> failed, fail.Execute({&x}));
  testing::RunPending();
  EXPECT_FAILS(failed[0].Await(), kAborted, "failed on purpose");
  EXPECT_FAILS(failed[0].ToHost<float>(), kAborted, "failed on purpose");
  EXPECT_FAILS(refuse.Execute({&x}), kInternal, "refused on purpose");
}

TEST_F(ExecuteTest, RunsOnSeveralDevices) {
  CompileOptions options;
  options.SetReplicas(2);
  const LoadedExecutable everywhere = Compile("everywhere increment", options);
  EXPECT_EQ(everywhere.num_devices(), 2u);
  EXPECT_EQ(everywhere.AddressableDevices()[1], client_.device(1).value());
  EXPECT_EQ(everywhere.AddressableDeviceLogicalIds().value(), (std::vector<LogicalId>{{0, 0}, {1, 0}}));
  EXPECT_EQ(everywhere.GetDeviceAssignment().value(), (DeviceAssignment{2, 1, {0, 1}}));
  const Buffer a = Floats({1, 2, 3, 4}, 0), b = Floats({5, 6, 7, 8}, 1);
  const std::vector<const Buffer*> arguments[] = {{&a}, {&b}};
  ExecuteOptions run;
  run.want_done_events = true;
  ASSERT_OK_AND_ASSIGN(const Execution execution, everywhere.ExecuteOnDevices(arguments, run));
  ASSERT_EQ(execution.done.size(), 2u);
  for (const Event& event : execution.done) EXPECT_OK(event.Await());
  EXPECT_THAT(execution.outputs[0][0].ToHost<float>().value(), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(execution.outputs[1][0].ToHost<float>().value(), ElementsAre(6, 7, 8, 9));
  EXPECT_FAILS(everywhere.Execute({&a}), kFailedPrecondition, "2 devices");
  EXPECT_FAILS(everywhere.ExecuteOnDevices(std::span(arguments, 1)), kInvalidArgument, "arguments for 1 devices");
  const std::vector<const Buffer*> uneven[] = {{&a}, {}};
  EXPECT_FAILS(everywhere.ExecuteOnDevices(uneven), kInvalidArgument, "0 arguments for device 1");
}

TEST_F(ExecuteTest, MistakesGiveErrors) {
  const LoadedExecutable add = Compile("add");
  const Buffer x = Floats({1, 2, 3, 4});
  Buffer gone = Floats({1, 2, 3, 4});
  const Buffer taken = std::move(gone);
  EXPECT_FAILS(add.Execute({&x, &gone}), kFailedPrecondition, "argument 1 is an empty Buffer");  // NOLINT: on purpose
  EXPECT_FAILS(add.Execute({nullptr, &x}), kFailedPrecondition, "argument 0 is a null pointer");
  EXPECT_EQ(add.Execute({&x}).status().code(), Code::kInvalidArgument);
  std::vector<Buffer> none;
  const Buffer* two[] = {&x, &x};
  EXPECT_FAILS(add.ExecuteInto(two, none), kInvalidArgument, "room for 0 outputs");
  ASSERT_OK_AND_ASSIGN(const Client other, plugin_.CreateClient());
  ASSERT_OK_AND_ASSIGN(const Buffer foreign, other.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}));
  EXPECT_FAILS(add.Execute({&x, &foreign}), kInvalidArgument, "argument 1 belongs to another client");
  ExecuteOptions elsewhere;
  elsewhere.device = other.device(0).value();
  EXPECT_FAILS(add.Execute({&x, &x}, elsewhere), kInvalidArgument, "the device to run on");
  ExecuteOptions callbacks;
  callbacks.send.resize(2);
  EXPECT_FAILS(add.Execute({&x, &x}, callbacks), kInvalidArgument, "2 lists of callbacks");
}

TEST_F(ExecuteTest, DeletedAndMovedExecutables) {
  LoadedExecutable add = Compile("add");
  const Buffer x = Floats({1, 2, 3, 4});
  EXPECT_FALSE(add.IsDeleted().value());
  EXPECT_OK(add.Delete());
  EXPECT_TRUE(add.IsDeleted().value());
  EXPECT_FAILS(add.Execute({&x, &x}), kFailedPrecondition, "deleted");
  LoadedExecutable echo = Compile("echo");
  const LoadedExecutable moved = std::move(echo);
  EXPECT_FAILS(echo.Execute({&x}), kFailedPrecondition, "moved from");  // NOLINT: on purpose
  EXPECT_OK(moved.Execute({&x}));
}

TEST_F(ExecuteTest, WhatIsKnownOfAProgram) {
  const LoadedExecutable loaded = Compile("pair");
  const Executable& program = loaded.executable();
  EXPECT_EQ(program.Name().value(), "pair");
  EXPECT_EQ(program.NumReplicas().value(), 1u);
  EXPECT_EQ(program.NumPartitions().value(), 1u);
  EXPECT_EQ(program.NumOutputs().value(), 2u);
  EXPECT_TRUE(program.SizeOfGeneratedCodeInBytes().ok());
  EXPECT_EQ(program.OutputShapes().value(), (std::vector<Shape>{{DType::kF32, {4}}, {DType::kS32, {}}}));
  EXPECT_THAT(program.OutputMemoryKinds().value(), ElementsAre("device", "pinned_host"));
  EXPECT_TRUE(program.ParameterMemoryKinds()->empty());
  EXPECT_THAT(program.OutputLayouts().value(), ElementsAre("{0}", "{}"));
  EXPECT_EQ(program.Fingerprint().value(), "fingerprint of pair");
  ASSERT_OK_AND_ASSIGN(const std::vector<NamedValue> cost, program.CostAnalysis());
  EXPECT_EQ(ToString(*Find(cost, "flops")), "4");
  ASSERT_OK_AND_ASSIGN(const CompiledMemoryStats stats, program.MemoryStats());
  EXPECT_EQ(stats.temporaries, 5);
  EXPECT_EQ(stats.peak, 6);
  EXPECT_EQ(stats.Requirements(), 1 + 2 + 3 - 4 + 5);
  ASSERT_OK_AND_ASSIGN(const Program optimized, program.OptimizedProgram());
  EXPECT_EQ(optimized.code, "pair");
  EXPECT_EQ(optimized.format, "fake");
  EXPECT_EQ(program.SerializedCompileOptions().value(), CompileOptions().Serialize().value());
  const LoadedExecutable add = Compile("add");
  EXPECT_THAT(add.executable().ParameterShardings().value(), ElementsAre("p0", "p1"));
  EXPECT_THAT(add.executable().OutputShardings().value(), ElementsAre("o0"));
  EXPECT_THAT(add.executable().ParameterLayouts().value(), ElementsAre("{0}", "{0}"));
}

TEST_F(ExecuteTest, MemoryStatsOfOldPluginsLackNewFigures) {
  testing::AlteredTable old(plugin_.api().raw(), 117);
  static PJRT_Executable_GetCompiledMemoryStats* const real =
      plugin_.api().raw()->PJRT_Executable_GetCompiledMemoryStats;
  old.table.PJRT_Executable_GetCompiledMemoryStats = [](PJRT_Executable_GetCompiledMemoryStats_Args* args) {
    args->struct_size = 104;  // what a plugin before 0.72 would have seen of it
    return real(args);
  };
  ASSERT_OK_AND_ASSIGN(const Plugin older, Plugin::FromApi(&old.table, "older"));
  ASSERT_OK_AND_ASSIGN(const Client client, older.CreateClient());
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable loaded, client.Compile("pair"));
  ASSERT_OK_AND_ASSIGN(const CompiledMemoryStats stats, loaded.executable().MemoryStats());
  EXPECT_EQ(stats.temporaries, 5);
  EXPECT_EQ(stats.peak, -1);
}

// A plugin that sends "abc" on channel 3 in two pieces and takes what channel 5 gives. Handles are made up.
struct ChannelPlugin {
  static inline std::vector<std::string> log;
  static inline std::string received;
  static inline int64_t streams = 0;
  static inline bool row_major = false;

  static PJRT_Error* MakeError(PJRT_Error_Code code, const char* message, size_t size) {
    log.push_back("error " + std::to_string(code) + " " + std::string(message, size));
    return nullptr;
  }
  static PJRT_Error* Execute(PJRT_LoadedExecutable_Execute_Args* args) {
    PJRT_CallbackError error = MakeError;
    row_major = args->options->use_major_to_minor_data_layout_for_callbacks;
    for (size_t i = 0; i < args->options->num_send_ops; ++i) {
      const PJRT_SendCallbackInfo& send = args->options->send_callbacks[0][i];
      for (const char* piece : {"ab", "c"}) {
        PJRT_Chunk chunk{const_cast<char*>(piece), std::strlen(piece), [](void*, void*) { log.push_back("freed"); },
                         nullptr};
        EXPECT_EQ(send.send_callback(&chunk, &error, 3, chunk.size == 1, send.user_arg), nullptr);
      }
    }
    for (size_t i = 0; i < args->options->num_recv_ops; ++i) {
      const PJRT_RecvCallbackInfo& recv = args->options->recv_callbacks[0][i];
      EXPECT_EQ(recv.channel_id, 5);
      ++streams;
      recv.recv_callback(reinterpret_cast<PJRT_CopyToDeviceStream*>(&streams), recv.user_arg);
    }
    return real(args);
  }
  static PJRT_Error* AddChunk(PJRT_CopyToDeviceStream_AddChunk_Args* args) {
    received.append(static_cast<const char*>(args->chunk->data), args->chunk->size);
    args->chunk->deleter(args->chunk->data, args->chunk->deleter_arg);
    return nullptr;  // the event stays null: done
  }
  static PJRT_Error* TotalBytes(PJRT_CopyToDeviceStream_TotalBytes_Args* args) {
    return args->total_bytes = 4, nullptr;
  }
  static PJRT_Error* Granule(PJRT_CopyToDeviceStream_GranuleSize_Args* args) {
    return args->granule_size_in_bytes = 2, nullptr;
  }
  static PJRT_Error* Current(PJRT_CopyToDeviceStream_CurrentBytes_Args* args) {
    return args->current_bytes = static_cast<int64_t>(received.size()), nullptr;
  }
  static PJRT_Error* Destroy(PJRT_CopyToDeviceStream_Destroy_Args*) { return --streams, nullptr; }
  static inline PJRT_LoadedExecutable_Execute* real = nullptr;
};

TEST_F(ExecuteTest, SendsAndReceives) {
  static testing::AlteredTable altered(plugin_.api().raw(), 117);
  ChannelPlugin::real = [](PJRT_LoadedExecutable_Execute_Args* args) -> PJRT_Error* {
    // The fake refuses callbacks; the rest of the call is its own.
    PJRT_ExecuteOptions options = *args->options;
    options.num_send_ops = options.num_recv_ops = 0;
    args->options = &options;
    return testing::FakePlugin().api().raw()->PJRT_LoadedExecutable_Execute(args);
  };
  altered.table.PJRT_LoadedExecutable_Execute = ChannelPlugin::Execute;
  altered.table.PJRT_CopyToDeviceStream_AddChunk = ChannelPlugin::AddChunk;
  altered.table.PJRT_CopyToDeviceStream_TotalBytes = ChannelPlugin::TotalBytes;
  altered.table.PJRT_CopyToDeviceStream_GranuleSize = ChannelPlugin::Granule;
  altered.table.PJRT_CopyToDeviceStream_CurrentBytes = ChannelPlugin::Current;
  altered.table.PJRT_CopyToDeviceStream_Destroy = ChannelPlugin::Destroy;
  ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::FromApi(&altered.table, "channels"));
  ASSERT_OK_AND_ASSIGN(const Client client, plugin.CreateClient());
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable echo, client.Compile("echo"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, client.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}));
  std::string sent;
  ExecuteOptions options;
  options.send = {{SendCallback{3, [&](std::span<const std::byte> data, size_t total, bool done) {
                                  EXPECT_EQ(total, 3u);
                                  EXPECT_EQ(done, data.size() == 1);
                                  sent.append(reinterpret_cast<const char*>(data.data()), data.size());
                                  return done ? Aborted("enough") : OkStatus();
                                }}}};
  options.recv = {
      {RecvCallback{5, [](CopyToDeviceStream stream) {
                      EXPECT_EQ(stream.TotalBytes().value(), 4);
                      EXPECT_EQ(stream.GranuleSize().value(), 2);
                      const std::string data = "wxyz";
                      EXPECT_OK(stream.AddChunk(std::as_bytes(std::span(data).first(2))));
                      bool released = false;
                      EXPECT_OK(stream.AddChunk(std::as_bytes(std::span(data).subspan(2)), [&] { released = true; }));
                      EXPECT_TRUE(released);
                      EXPECT_EQ(stream.CurrentBytes().value(), 4);
                      const CopyToDeviceStream taken = std::move(stream);
                      released = false;
                      EXPECT_FAILS(stream.AddChunk({}, [&] { released = true; }),  // NOLINT: on purpose
                                   kFailedPrecondition, "moved from");
                      EXPECT_TRUE(released);
                      EXPECT_FAILS(stream.TotalBytes(), kFailedPrecondition, "moved from");
                      EXPECT_FAILS(stream.GranuleSize(), kFailedPrecondition, "moved from");
                      EXPECT_FAILS(stream.CurrentBytes(), kFailedPrecondition, "moved from");
                    }}}};
  EXPECT_OK(echo.Execute({&x}, options));
  EXPECT_EQ(sent, "abc");
  EXPECT_EQ(ChannelPlugin::received, "wxyz");
  EXPECT_EQ(ChannelPlugin::streams, 0);
  EXPECT_TRUE(ChannelPlugin::row_major);
  EXPECT_THAT(ChannelPlugin::log, ElementsAre("freed", "freed", "error 10 enough"));
  // What they throw does not go through the plugin: it is an error, or the end of the stream.
  ChannelPlugin::log.clear();
  options.send[0][0].receive = [](std::span<const std::byte>, size_t, bool) -> Status {
    throw std::runtime_error("on purpose");
  };
  options.recv[0][0].supply = [](CopyToDeviceStream stream) {
    EXPECT_OK(stream.AddChunk({}, [] { throw std::runtime_error("on purpose"); }));
    throw std::runtime_error("on purpose");
  };
  EXPECT_OK(echo.Execute({&x}, options));
  EXPECT_EQ(ChannelPlugin::streams, 0);
  const std::string error = "error 13 a send callback: on purpose";
  EXPECT_THAT(ChannelPlugin::log, ElementsAre("freed", error, "freed", error));
}

// A program may call back until it is done, also where its plugin cannot tell when that is.
TEST_F(ExecuteTest, CallbacksLiveAsLongAsTheProgramRuns) {
  static testing::AlteredTable altered(plugin_.api().raw(), 117);
  static PJRT_SendCallbackInfo info;
  static const PJRT_Api& real = *plugin_.api().raw();
  altered.table.PJRT_LoadedExecutable_Execute = [](PJRT_LoadedExecutable_Execute_Args* args) -> PJRT_Error* {
    PJRT_ExecuteOptions options = *args->options;
    info = options.send_callbacks[0][0];
    options.num_send_ops = 0;
    args->options = &options;
    return real.PJRT_LoadedExecutable_Execute(args);
  };
  altered.table.PJRT_Event_OnReady = nullptr;
  altered.table.PJRT_Event_Await = [](PJRT_Event_Await_Args* args) -> PJRT_Error* {
    PJRT_CallbackError error = ChannelPlugin::MakeError;
    PJRT_Chunk chunk{};
    EXPECT_EQ(info.send_callback(&chunk, &error, 0, true, info.user_arg), nullptr);
    return real.PJRT_Event_Await(args);
  };
  ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::FromApi(&altered.table, "mute"));
  ASSERT_OK_AND_ASSIGN(const Client client, plugin.CreateClient());
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable echo, client.Compile("echo"));
  ASSERT_OK_AND_ASSIGN(const Buffer x, client.ToDevice(std::vector<float>{1, 2, 3, 4}, {4}));
  int calls = 0;
  ExecuteOptions options;
  options.send = {{SendCallback{3, [&](std::span<const std::byte>, size_t, bool) { return ++calls, OkStatus(); }}}};
  EXPECT_OK(echo.Execute({&x}, options));
  EXPECT_EQ(calls, 1);
  const std::vector<const Buffer*> arguments = {&x};
  EXPECT_OK(echo.ExecuteOnDevices({&arguments, 1}, options));
  EXPECT_EQ(calls, 2);
  const HostArray array = HostArray::Of(std::span<const float>(), std::vector<int64_t>{0}).value();
  EXPECT_FAILS(client.ViewOfHost(array, std::make_shared<int>(), client.device(0).value()), kUnimplemented, "OnReady");
}

// The same through the SDK, whose programs have channels: bytes from any thread in any pieces, and every way to fail.
TEST_F(ExecuteTest, ChannelsOfPrograms) {
  const LoadedExecutable channels = Compile("channels");
  const Buffer x = Floats({1, 2, 3, 4});
  const std::vector<float> values = {10, 20, 30, 40};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  std::vector<float> sent;
  const SendCallback take{5, [&](std::span<const std::byte> data, size_t total, bool done) {
                            EXPECT_EQ(total, 16u);
                            EXPECT_TRUE(done);
                            sent.resize(data.size() / sizeof(float));
                            std::memcpy(sent.data(), data.data(), data.size());
                            return OkStatus();
                          }};
  const auto run = [&](std::function<void(CopyToDeviceStream)> supply, SendCallback send) {
    ExecuteOptions options;
    options.send = {{std::move(send)}};
    options.recv = {{RecvCallback{6, std::move(supply)}}};
    Result<std::vector<Buffer>> out = channels.Execute({&x}, options);
    if (!out.ok()) return Result<std::vector<float>>(out.status());
    return (*out)[0].ToHost<float>();
  };
  std::thread feeding;
  Result<std::vector<float>> out = run(
      [&](CopyToDeviceStream stream) {
        feeding = std::thread([bytes, stream = std::make_shared<CopyToDeviceStream>(std::move(stream))] {
          EXPECT_EQ(stream->TotalBytes().value(), 16);
          EXPECT_EQ(stream->GranuleSize().value(), 1);
          EXPECT_OK(stream->AddChunk(bytes.first(5)));
          EXPECT_EQ(stream->CurrentBytes().value(), 5);
          ASSERT_OK_AND_ASSIGN(const Event rest, stream->AddChunk(bytes.subspan(5)));
          EXPECT_OK(rest.Await());
          ASSERT_OK_AND_ASSIGN(const Event more, stream->AddChunk(bytes.first(1)));
          EXPECT_FAILS(more.Await(), kFailedPrecondition, "has had its 16 bytes");
        });
      },
      take);
  feeding.join();
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT(*out, ::testing::ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(sent, *out);

  EXPECT_FAILS(run([&](CopyToDeviceStream stream) { EXPECT_OK(stream.AddChunk(bytes.first(4))); }, take), kAborted,
               "gave 4 of 16 bytes");
  const auto give_too_much = [&](CopyToDeviceStream stream) {
    EXPECT_OK(stream.AddChunk(bytes.first(4)));
    ASSERT_OK_AND_ASSIGN(const Event event, stream.AddChunk(bytes));
    EXPECT_FAILS(event.Await(), kInvalidArgument, "a stream that has 4 of 16");
  };
  EXPECT_FAILS(run(give_too_much, take), kInvalidArgument, "a stream that has 4 of 16");
  const auto give = [&](CopyToDeviceStream stream) { EXPECT_OK(stream.AddChunk(bytes)); };
  EXPECT_FAILS(run(give, {5, [](std::span<const std::byte>, size_t, bool) { return DataLoss("not wanted"); }}),
               kDataLoss, "not wanted");
  EXPECT_FAILS(run(give, {7, take.receive}), kInvalidArgument, "sends on channel 5, and the execution has no callback");
  EXPECT_FAILS(channels.Execute({&x}), kInvalidArgument, "wants callbacks");
  ExecuteOptions options;
  options.send = {{take}};
  EXPECT_FAILS(Compile("echo").Execute({&x}, options), kUnimplemented, "'echo' has no channels to the host");
}

TEST_F(ExecuteTest, SerializedProgramsComeBack) {
  const LoadedExecutable echo = Compile("echo");
  ASSERT_OK_AND_ASSIGN(const std::string bytes, echo.executable().Serialize());
  const Buffer x = Floats({1, 2, 3, 4}), y = Floats({1, 2, 3, 4}, 1);
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable again, client_.DeserializeAndLoad(bytes));
  EXPECT_OK(again.Execute({&x}));
  CompileOptions options;
  options.SetDevice(1);
  ASSERT_OK_AND_ASSIGN(const LoadedExecutable moved, client_.DeserializeAndLoad(bytes, options));
  EXPECT_OK(moved.Execute({&y}));
  EXPECT_EQ(moved.AddressableDevices()[0].id().value(), 1);
  EXPECT_EQ(client_.DeserializeAndLoad("junk").status().code(), Code::kInvalidArgument);
}

TEST_F(ExecuteTest, CompileRefusesWhatPluginsDieOf) {
  EXPECT_FAILS(client_.CompileWithSerializedOptions(Program::Mlir("echo"), ""), kInvalidArgument, "empty");
  EXPECT_FAILS(client_.Compile("nonsense"), kInvalidArgument, "unknown program 'nonsense'");
  CompileOptions bad;
  bad.SetReplicas(0);
  EXPECT_FAILS(client_.Compile("echo", bad), kInvalidArgument, "0 replicas");
}

TEST_F(ExecuteTest, ThreadsShareAnExecutable) {
  const LoadedExecutable add = Compile("add");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto value = static_cast<float>(t * 100 + i);
        const Buffer x = Floats({value, 0, 0, 0});
        const auto out = add.Execute({&x, &x});
        ASSERT_TRUE(out.ok());
        EXPECT_EQ((*out)[0].ToHost<float>().value()[0], 2 * value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tenon::client
