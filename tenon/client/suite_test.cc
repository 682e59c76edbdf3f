// What a user does, against the plugin in TENON_TEST_PLUGIN (a path), with the client options in TENON_TEST_OPTIONS.
// What a plugin says it does not implement is skipped with that reason; everything else must work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tenon/client/client.h"
#include "tenon/client/layouts.h"
#include "tenon/client/log_suppression.h"
#include "tenon/client/profiler.h"

namespace tenon::client {
namespace {

using ::testing::ElementsAre;

#define SKIP_OR_FAIL(status)                                         \
  if (const Status s_ = (status); s_.code() == Code::kUnimplemented) \
    GTEST_SKIP() << s_.ToString();                                   \
  else if (!s_.ok())                                                 \
  GTEST_FAIL() << s_.ToString()
#define ASSIGN_OR_SKIP(lhs, expr) ASSIGN_OR_SKIP_(TENON_CONCAT_(suite_, __LINE__), lhs, expr)
#define ASSIGN_OR_SKIP_(result, lhs, expr) \
  auto result = (expr);                    \
  SKIP_OR_FAIL(result.status());           \
  lhs = std::move(result).value()
#define EXPECT_OK(expr)                 \
  do {                                  \
    const auto& ok_ = (expr);           \
    EXPECT_TRUE(ok_.ok()) << Text(ok_); \
  } while (false)
std::string Text(const Status& s) { return s.ToString(); }
template <class T>
std::string Text(const Result<T>& r) {
  return r.status().ToString();
}

constexpr std::string_view kAdd = R"(
func.func @main(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.add %x, %y : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
})";

const char* PluginPath() { return std::getenv("TENON_TEST_PLUGIN"); }

class SuiteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (PluginPath() == nullptr) GTEST_SKIP() << "TENON_TEST_PLUGIN is not set";
    before_ = CountLiveObjects();
    const SuppressAbseilLogging quiet;
    auto plugin = Plugin::LoadFile(PluginPath());
    ASSERT_TRUE(plugin.ok()) << plugin.status().ToString();
    plugin_.emplace(*plugin);
    const char* const options = std::getenv("TENON_TEST_OPTIONS");
    auto parsed = Options::Parse(options == nullptr ? "" : options);
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    auto client = plugin_->CreateClient(*parsed);
    ASSERT_TRUE(client.ok()) << client.status().ToString();
    client_.emplace(std::move(*client));
  }
  void TearDown() override {
    if (!client_.has_value()) return;
    EXPECT_OK(std::move(*client_).Close());
    EXPECT_EQ(ToString(CountLiveObjects()), ToString(before_));
  }
  Device device(size_t i = 0) { return client_->device(i).value(); }

  LiveObjects before_;
  std::optional<Plugin> plugin_;
  std::optional<Client> client_;
};

TEST_F(SuiteTest, Facts) {
  EXPECT_FALSE(client_->PlatformName()->empty());
  EXPECT_OK(client_->PlatformVersion());
  EXPECT_OK(client_->ProcessIndex());
  EXPECT_OK(plugin_->Attributes());
  EXPECT_EQ(plugin_->StablehloVersion().size(), 3u);
  ASSERT_FALSE(client_->Devices()->empty());
  EXPECT_EQ(client_->LookupDevice(device().id().value()).value(), device());
  EXPECT_FALSE(client_->LookupDevice(123456).ok());
  EXPECT_FALSE(device().kind()->empty());
  EXPECT_OK(device().ToString());
  ASSIGN_OR_SKIP(const Memory memory, device().DefaultMemory());
  EXPECT_FALSE(memory.kind()->empty());
  EXPECT_FALSE(memory.AddressableByDevices()->empty());
}

TEST_F(SuiteTest, AddsAndTellsAboutIt) {
  auto add = client_->Compile(kAdd);
  ASSERT_TRUE(add.ok()) << add.status().ToString();
  auto x = client_->ToDevice(std::vector<float>{1, 2, 3, 4}, {2, 2});
  auto y = client_->ToDevice(std::vector<float>{10, 20, 30, 40}, {2, 2});
  ASSERT_TRUE(x.ok() && y.ok());
  auto out = add->Execute({&*x, &*y});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].ToHost<float>().value(), ElementsAre(11, 22, 33, 44));
  EXPECT_FALSE(x->IsDeleted().value());
  EXPECT_EQ((*out)[0].shape().value(), (Shape{DType::kF32, {2, 2}}));
  EXPECT_EQ((*out)[0].GetLayout().value(), Layout(TiledLayout::RowMajor(2)));

  const Executable& program = add->executable();
  EXPECT_OK(program.Name());
  EXPECT_EQ(program.NumOutputs().value(), 1u);
  EXPECT_EQ(program.OutputShapes().value(), (std::vector<Shape>{{DType::kF32, {2, 2}}}));
  for (const Status& status :
       {program.Fingerprint().status(), program.CostAnalysis().status(), program.MemoryStats().status(),
        program.OutputMemoryKinds().status(), program.OutputLayouts().status(), program.ParameterLayouts().status(),
        program.OutputShardings().status(), program.OptimizedProgram().status(),
        program.SerializedCompileOptions().status(), DefaultLayout(*client_, Shape{DType::kF32, {2, 2}}).status()}) {
    EXPECT_TRUE(status.ok() || status.code() == Code::kUnimplemented) << status.ToString();
  }
}

TEST_F(SuiteTest, MistakesGiveErrors) {
  EXPECT_FALSE(client_->Compile("this is no program").ok());
  auto add = client_->Compile(kAdd);
  ASSERT_TRUE(add.ok());
  auto x = client_->ToDevice(std::vector<float>{1, 2, 3, 4}, {2, 2});
  EXPECT_FALSE(add->Execute({&*x}).ok());
  EXPECT_OK(x->Delete());
  EXPECT_TRUE(x->IsDeleted().value());
  EXPECT_FALSE(x->ToHost<float>().ok());
  EXPECT_FALSE(add->Execute({&*x, &*x}).ok());
  EXPECT_OK(add->Delete());
  EXPECT_FALSE(add->Execute({&*x, &*x}).ok());
}

template <class T>
Status RoundTrip(const Client& client) {
  const T values[] = {T(1), T(0), T(1)};
  const int64_t dims[] = {3};
  TENON_ASSIGN_OR_RETURN(const Buffer b, client.ToDevice(std::span<const T>(values), dims));
  TENON_ASSIGN_OR_RETURN(const HostVector<T> back, b.ToHost<T>());
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(static_cast<T>(back[static_cast<size_t>(i)]) == values[i]) << DTypeName(kDTypeOf<T>);
  return OkStatus();
}
template <class... T>
std::vector<std::pair<DType, Status>> RoundTrips(const Client& client) {
  return {{kDTypeOf<T>, RoundTrip<T>(client)}...};
}

TEST_F(SuiteTest, ElementTypes) {
  for (const auto& [type, status] :
       RoundTrips<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double, F16,
                  BF16, std::complex<float>, std::complex<double>, F8E5M2, F8E4M3FN, F8E4M3B11FNUZ, F8E5M2FNUZ,
                  F8E4M3FNUZ, F8E4M3, F8E3M4, S4, U4, S2, U2>(*client_)) {
    EXPECT_TRUE(status.ok() || status.code() == Code::kUnimplemented) << DTypeName(type) << ": " << status.ToString();
  }
}

TEST_F(SuiteTest, EmptyArraysScalarsAndStrides) {
  EXPECT_TRUE(client_->ToDevice(std::vector<float>{}, {0, 3})->ToHost<float>()->empty());
  EXPECT_EQ(client_->ScalarToDevice(int64_t{-5})->ToScalar<int64_t>().value(), -5);
  const std::vector<int32_t> rows = {1, 2, 3, 4, 5, 6};
  auto transposed = client_->ToDevice(HostArray{rows.data(), DType::kS32, {3, 2}, {4, 12}}, device());
  ASSERT_TRUE(transposed.ok()) << transposed.status().ToString();
  EXPECT_THAT(transposed->ToHost<int32_t>().value(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_F(SuiteTest, AsynchronousTransfers) {
  const std::vector<float> values = {1, 2, 3, 4};
  auto transfer = client_->ToDeviceAsync(HostArray{values.data(), DType::kF32, {4}, {}}, device());
  ASSERT_TRUE(transfer.ok()) << transfer.status().ToString();
  EXPECT_OK(transfer->done.Await());
  auto future = transfer->buffer.ToHostAsync<float>();
  ASSERT_TRUE(future.ok());
  EXPECT_THAT(std::move(*future).Await().value(), ElementsAre(1, 2, 3, 4));
}

TEST_F(SuiteTest, SharedBuffers) {
  if (!client_->ScalarToDevice(1.0f)->IsOnCpu().value()) GTEST_SKIP() << "the devices have memory of their own";
  auto add = client_->Compile(kAdd);
  ASSIGN_OR_SKIP(SharedBuffer shared, client_->NewSharedBuffer(Shape{DType::kF32, {2, 2}}, device()));
  const std::span<float> data = shared.As<float>().value();
  for (size_t i = 0; i < 4; ++i) data[i] = static_cast<float>(i);
  auto out = add->Execute({&shared.buffer, &shared.buffer});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].ToHost<float>().value(), ElementsAre(0, 2, 4, 6));
  data[0] = 5;
  out = add->Execute({&shared.buffer, &shared.buffer});
  EXPECT_THAT((*out)[0].ToHost<float>().value(), ElementsAre(10, 2, 4, 6));
  auto view = ViewOnHost<float>(shared.buffer);
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  EXPECT_EQ(view->elements().data(), data.data());
}

TEST_F(SuiteTest, ViewsOfTheHostKeepTheirMemory) {
  auto memory = AlignedMemory::Allocate(1 << 16);
  auto shared = std::make_shared<AlignedMemory>(std::move(*memory));
  const std::weak_ptr<AlignedMemory> alive = shared;
  {
    const HostArray array{shared->data(), DType::kU8, {1 << 16}, {}};
    auto b = client_->ViewOfHost(array, std::move(shared), device());
    ASSERT_TRUE(b.ok()) << b.status().ToString();
    EXPECT_EQ(b->ToHost<uint8_t>()->size(), size_t{1} << 16);
  }
  EXPECT_TRUE(alive.expired());
}

TEST_F(SuiteTest, ViewsOfDeviceMemoryNeedNobodyToTell) {
  alignas(64) float data[4] = {1, 2, 3, 4};
  auto b = client_->ViewOfDeviceMemory(data, Shape{DType::kF32, {4}}, device());
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  EXPECT_THAT(b->ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
}

TEST_F(SuiteTest, Donation) {
  constexpr std::string_view kProgram = R"(
func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
})";
  auto twice = client_->Compile(kProgram);
  ASSERT_TRUE(twice.ok()) << twice.status().ToString();
  auto x = client_->ToDevice(std::vector<float>{1, 2, 3, 4}, {4});
  auto kept = twice->Execute({&*x});
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_FALSE(x->IsDeleted().value());
  ExecuteOptions options;
  options.donate = Donate::All();
  auto donated = twice->Execute({&*x}, options);
  ASSERT_TRUE(donated.ok()) << donated.status().ToString();
  EXPECT_THAT((*donated)[0].ToHost<float>().value(), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT((*kept)[0].ToHost<float>().value(), ElementsAre(2, 4, 6, 8));
  if (x->IsDeleted().value()) {
    EXPECT_FALSE(twice->Execute({&*x}).ok());
  } else {
    EXPECT_THAT(x->ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
    GTEST_SKIP() << "the plugin consumes no arguments";
  }
}

TEST_F(SuiteTest, SerializedPrograms) {
  auto add = client_->Compile(kAdd);
  ASSERT_TRUE(add.ok());
  ASSIGN_OR_SKIP(const std::string bytes, add->executable().Serialize());
  ASSIGN_OR_SKIP(const LoadedExecutable again, client_->DeserializeAndLoad(bytes));
  auto x = client_->ToDevice(std::vector<float>{1, 2, 3, 4}, {2, 2});
  auto out = again.Execute({&*x, &*x});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].ToHost<float>().value(), ElementsAre(2, 4, 6, 8));
  EXPECT_FALSE(client_->DeserializeAndLoad("junk").ok());
}

TEST_F(SuiteTest, SeveralDevices) {
  if (client_->AddressableDevices()->size() < 2) GTEST_SKIP() << "the client has one device";
  auto x = client_->ToDevice(std::vector<float>{1, 2, 3, 4}, {2, 2});
  auto there = x->CopyTo(device(1));
  ASSERT_TRUE(there.ok()) << there.status().ToString();
  EXPECT_EQ(there->GetDevice().value(), device(1));
  CompileOptions options;
  options.SetReplicas(2);
  auto add = client_->Compile(kAdd, options);
  ASSERT_TRUE(add.ok()) << add.status().ToString();
  ASSERT_EQ(add->num_devices(), 2u);
  const std::vector<const Buffer*> arguments[] = {{&*x, &*x}, {&*there, &*there}};
  ExecuteOptions run;
  run.want_done_events = true;
  auto execution = add->ExecuteOnDevices(arguments, run);
  ASSERT_TRUE(execution.ok()) << execution.status().ToString();
  for (size_t d = 0; d < 2; ++d) {
    EXPECT_OK(execution->done[d].Await());
    EXPECT_EQ(execution->outputs[d][0].GetDevice().value(), device(d));
    EXPECT_THAT(execution->outputs[d][0].ToHost<float>().value(), ElementsAre(2, 4, 6, 8));
  }
  // On a device of choice.
  auto second = client_->Compile(kAdd, CompileOptions().SetDevice(device(1).id().value()));
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_OK(second->Execute({&*there, &*there}));
}

TEST_F(SuiteTest, PortableProgramsRunWhereTold) {
  auto add = client_->Compile(kAdd, CompileOptions().SetPortable());
  ASSERT_TRUE(add.ok()) << add.status().ToString();
  const size_t last = client_->AddressableDevices()->size() - 1;
  auto x = client_->ToDevice(std::vector<float>{1, 2, 3, 4}, {2, 2});
  auto there = x->CopyTo(device(last));
  ExecuteOptions options;
  options.device = device(last);
  auto out = add->Execute({&*there, &*there}, options);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].ToHost<float>().value(), ElementsAre(2, 4, 6, 8));
}

TEST_F(SuiteTest, BetweenTwoClients) {
  auto other = plugin_->CreateClient();
  ASSERT_TRUE(other.ok()) << other.status().ToString();
  auto x = client_->ToDevice(std::vector<float>{1, 2, 3, 4}, {2, 2});
  auto copy = x->CopyTo(other->device(0).value());
  ASSERT_TRUE(copy.ok()) << copy.status().ToString();
  EXPECT_THAT(copy->ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
  auto add = client_->Compile(kAdd);
  EXPECT_EQ(add->Execute({&*x, &*copy}).status().code(), Code::kInvalidArgument);
}

TEST_F(SuiteTest, BetweenTwoPlugins) {
  const char* const path = std::getenv("TENON_TEST_SECOND_PLUGIN");
  if (path == nullptr) GTEST_SKIP() << "TENON_TEST_SECOND_PLUGIN is not set";
  auto second = Plugin::LoadFile(path);
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  auto other = second->CreateClient();
  ASSERT_TRUE(other.ok()) << other.status().ToString();
  auto x = client_->ToDevice(std::vector<float>{1, 2, 3, 4}, {2, 2});
  auto there = x->CopyTo(other->device(0).value());
  ASSERT_TRUE(there.ok()) << there.status().ToString();
  auto add = other->Compile(kAdd);
  ASSERT_TRUE(add.ok()) << add.status().ToString();
  auto sum = add->Execute({&*there, &*there});
  ASSERT_TRUE(sum.ok()) << sum.status().ToString();
  auto back = (*sum)[0].CopyTo(device());
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_THAT(back->ToHost<float>().value(), ElementsAre(2, 4, 6, 8));
}

TEST_F(SuiteTest, RawCopiesAndTransferManagers) {
  auto x = client_->ToDevice(std::vector<float>{1, 2, 3, 4}, {4});
  float two[2] = {};
  ASSIGN_OR_SKIP(const Event raw, x->CopyRawToHost(two, 4, 8));
  SKIP_OR_FAIL(raw.Await());
  EXPECT_THAT(two, ElementsAre(2, 3));
  ASSIGN_OR_SKIP(const Memory memory, device().DefaultMemory());
  const Shape shapes[] = {{DType::kF32, {4}}};
  ASSIGN_OR_SKIP(TransferManager manager, client_->CreateTransferManager(shapes, memory));
  const std::vector<float> values = {1, 2, 3, 4};
  ASSIGN_OR_SKIP(const Event done, manager.TransferData(0, std::as_bytes(std::span(values)), 0, true));
  EXPECT_OK(done.Await());
  ASSIGN_OR_SKIP(const Buffer filled, manager.RetrieveBuffer(0));
  EXPECT_THAT(filled.ToHost<float>().value(), ElementsAre(1, 2, 3, 4));
}

TEST_F(SuiteTest, Topology) {
  ASSIGN_OR_SKIP(const client::Topology topology, client_->GetTopology());
  EXPECT_EQ(topology.PlatformName().value(), client_->PlatformName().value());
  EXPECT_EQ(topology.Devices()->size(), client_->Devices()->size());
  auto program = topology.Compile(Program::Mlir(std::string(kAdd)), {}, &*client_);
  if (!program.ok()) GTEST_SKIP() << program.status().ToString();  // CPU plugins of XLA have no compiler for topologies
  ASSIGN_OR_SKIP(const LoadedExecutable add, client_->Load(*program));
  auto x = client_->ToDevice(std::vector<float>{1, 2, 3, 4}, {2, 2});
  auto out = add.Execute({&*x, &*x});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].ToHost<float>().value(), ElementsAre(2, 4, 6, 8));
}

TEST_F(SuiteTest, Profile) {
  ASSIGN_OR_SKIP(Profiler profiler, Profiler::Create(*plugin_));
  EXPECT_OK(profiler.Start());
  EXPECT_OK(client_->Compile(kAdd));
  EXPECT_OK(profiler.Stop());
  EXPECT_OK(profiler.Collect());
}

// An HloModuleProto as gopjrt makes it: x * x + 1.
TEST_F(SuiteTest, HloProtos) {
  const char* const shared = std::getenv("TENON_SHARED");
  const std::string path = std::string(shared == nullptr ? TENON_SHARED_DEFAULT : shared) +
                           "/clients/captures/gopjrt_hlo/minimal_xx_plus_1.hlo";
  std::ifstream file(path, std::ios::binary);
  if (!file) GTEST_SKIP() << "there is no " << path;
  auto program = client_->Compile(Program::Hlo(std::string(std::istreambuf_iterator<char>(file), {})));
  if (!program.ok() && (program.status().code() == Code::kUnimplemented ||
                        program.status().message().find("format") != std::string::npos)) {
    GTEST_SKIP() << program.status().ToString();
  }
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  auto x = client_->ScalarToDevice(3.0f);
  auto out = program->Execute({&*x});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[0].ToScalar<float>().value(), 10);
}

}  // namespace
}  // namespace tenon::client
