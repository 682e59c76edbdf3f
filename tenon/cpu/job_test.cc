#include "tenon/cpu/job.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tenon/collectives/local.h"
#include "tenon/cpu/client.h"
#include "tenon/cpu/device.h"
#include "tenon/cpu/policy.h"

// Processes are threads here, each with a client of its own, and one device each.

namespace tenon::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Job::Setup SetupOf(int node, int nodes, std::shared_ptr<collectives::Store> store) {
  Job::Setup setup;
  setup.node = node;
  setup.num_nodes = nodes;
  setup.num_devices = 1;
  setup.store = std::move(store);
  setup.engine = "shm";
  setup.join_timeout = collectives::Milliseconds(20'000);
  setup.timeout = collectives::Milliseconds(20'000);
  setup.build = "one";
  setup.target = "alike";
  return setup;
}

std::vector<Status> InThreads(int nodes, const std::function<Status(int node)>& work) {
  std::vector<Status> outcomes(static_cast<size_t>(nodes));
  std::vector<std::thread> threads;
  for (int i = 0; i < nodes; ++i) threads.emplace_back([&, i] { outcomes[static_cast<size_t>(i)] = work(i); });
  for (std::thread& t : threads) t.join();
  return outcomes;
}

using Values = std::vector<std::vector<float>>;

/// Runs `program` over `partitions` devices, of which this client has one, on that one's part of each argument.
Result<Values> RunOn(plugin::Client& client, const std::string& program, int partitions, const Values& arguments) {
  plugin::CompileOptions options;
  options.num_partitions = partitions;
  plugin::DeviceAssignment assignment{.num_replicas = 1, .num_partitions = partitions};
  for (int i = 0; i < partitions; ++i) assignment.ids.push_back(partitions == 1 ? 0 : i * kDevicesPerProcess);
  TENON_ASSIGN_OR_RETURN(const plugin::Ref<plugin::LoadedExecutable> executable,
                         client.Compile({program, "mlir"}, options, assignment));
  auto& cpu = static_cast<CpuClient&>(client);
  std::vector<plugin::Argument> given;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto bytes = static_cast<size_t>(SizeBytes(executable->info().parameters[i].array.shape));
    if (bytes != arguments[i].size() * sizeof(float))
      return Internal(fmt::format("argument {} has {} bytes, the test gives {}", i, bytes, arguments[i].size() * 4));
    TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Storage> storage, AllocateFrom(cpu.memory_pool(), bytes));
    std::memcpy(storage->data(), arguments[i].data(), bytes);
    given.push_back({.storage = std::move(storage)});
  }
  std::vector<plugin::Ref<plugin::Buffer>> outputs(executable->info().outputs.size());
  plugin::DeviceExecution device{.device = client.addressable_devices()[0], .arguments = given, .outputs = outputs};
  plugin::ExecuteRequest request{.devices = {&device, 1}};
  TENON_RETURN_IF_ERROR(executable->Execute(request));
  TENON_RETURN_IF_ERROR(device.done.Wait());
  Values values;
  for (const auto& out : outputs) {
    TENON_ASSIGN_OR_RETURN(void* const pointer, out->DataPointer());
    const auto* data = static_cast<const float*>(pointer);
    values.emplace_back(data, data + NumElements(out->shape().dims));
  }
  return values;
}

/// Whole numbers, whose sums have no roundings.
std::vector<float> Numbers(size_t count, int seed) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(static_cast<int>(i * 7 + seed * 5) % 11 - 5));
  return values;
}

std::vector<float> Part(const std::vector<float>& whole, int index, int parts) {
  const size_t n = whole.size() / static_cast<size_t>(parts);
  return {whole.begin() + static_cast<int64_t>(n) * index, whole.begin() + static_cast<int64_t>(n) * (index + 1)};
}

/// Bodies over %a and %b, 12x6 each and cut by rows, that give a 12x6 cut by rows and a whole vector of 6.
constexpr std::pair<const char*, const char*> kBodies[] = {
    {"elementwise and sums",
     R"(  %s = stablehlo.add %a, %b : tensor<12x6xf32>
  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0] : (tensor<12x6xf32>, tensor<f32>) -> tensor<6xf32>)"},
    {"products over the cut dim",
     R"(  %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<12x6xf32>, tensor<12x6xf32>) -> tensor<6x6xf32>
  %s = stablehlo.dot_general %a, %p, contracting_dims = [1] x [0] : (tensor<12x6xf32>, tensor<6x6xf32>) -> tensor<12x6xf32>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<6x6xf32>, tensor<f32>) -> tensor<6xf32>)"},
    {"turned",
     R"(  %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<12x6xf32>) -> tensor<6x12xf32>
  %u = stablehlo.reshape %t : (tensor<6x12xf32>) -> tensor<12x6xf32>
  %s = stablehlo.subtract %u, %b : tensor<12x6xf32>
  %c = stablehlo.slice %s [3:4, 0:6] : (tensor<12x6xf32>) -> tensor<1x6xf32>
  %r = stablehlo.reshape %c : (tensor<1x6xf32>) -> tensor<6xf32>)"},
    {"backwards",
     R"(  %v = stablehlo.reverse %a, dims = [0] : tensor<12x6xf32>
  %s = stablehlo.multiply %v, %b : tensor<12x6xf32>
  %r = stablehlo.reduce(%s init: %z) applies stablehlo.minimum across dimensions = [0] : (tensor<12x6xf32>, tensor<f32>) -> tensor<6xf32>)"},
};

std::string Program(const char* body, int parts) {
  const std::string cut = parts == 1 ? "" : " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}";
  const std::string whole = parts == 1 ? "" : " {sdy.sharding = #sdy.sharding<@mesh, [{}]>}";
  return (parts == 1 ? std::string() : fmt::format("sdy.mesh @mesh = <[\"x\"={}]>\n", parts)) +
         fmt::format(
             "func.func @main(%a: tensor<12x6xf32>{}, %b: tensor<12x6xf32>{}) -> (tensor<12x6xf32>{}, "
             "tensor<6xf32>{}) {{\n  %z = stablehlo.constant dense<0.0> : tensor<f32>\n{}\n  return %s, %r : "
             "tensor<12x6xf32>, tensor<6xf32>\n}}",
             cut, cut, cut, whole, body);
}

TEST(Job, ProgramsOfSeveralProcessesComputeWhatOneComputes) {
  const std::vector<float> a = Numbers(72, 1), b = Numbers(72, 2);
  for (const int nodes : {2, 3, 4}) {
    const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
    for (const Status& s : InThreads(nodes, [&](int node) -> Status {
           TENON_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, Job::Join(SetupOf(node, nodes, store)));
           TENON_ASSIGN_OR_RETURN(const auto client, CpuClient::Create({1, int64_t{1} << 30, std::move(job)}));
           TENON_ASSIGN_OR_RETURN(const auto alone, CpuClient::Create({1, int64_t{1} << 30}));
           for (const auto& [name, body] : kBodies) {
             TENON_ASSIGN_OR_RETURN(const Values want, RunOn(*alone, Program(body, 1), 1, {a, b}));
             Result<Values> got =
                 RunOn(*client, Program(body, nodes), nodes, {Part(a, node, nodes), Part(b, node, nodes)});
             if (!got.ok()) return std::move(got).status().WithContext(name);
             if ((*got)[0] != Part(want[0], node, nodes) || (*got)[1] != want[1])
               return DataLoss(fmt::format("'{}' differs in process {} of {}", name, node, nodes));
           }
           return OkStatus();
         })) {
      EXPECT_TRUE(s.ok()) << s.ToString();
    }
  }
}

// The table of values moves as it grows, at whichever op that is: here one that passes a value on.
TEST(Job, ValuesArePassedOnHoweverManyThereAre) {
  const std::vector<float> a = Numbers(72, 1);
  const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
  for (const Status& s : InThreads(2, [&](int node) -> Status {
         TENON_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, Job::Join(SetupOf(node, 2, store)));
         TENON_ASSIGN_OR_RETURN(const auto client, CpuClient::Create({1, int64_t{1} << 30, std::move(job)}));
         for (const bool even : {false, true}) {
           std::string body = even ? "  %v0 = stablehlo.add %a, %b : tensor<12x6xf32>\n"
                                   : "  %o = stablehlo.subtract %a, %b : tensor<12x6xf32>\n"
                                     "  %v0 = stablehlo.add %o, %b : tensor<12x6xf32>\n";
           constexpr int kSteps = 120;
           for (int i = 0; i < kSteps; ++i) {
             body += fmt::format(
                 "  %p{0} = sdy.propagation_barrier %v{0} allowed_direction=NONE : tensor<12x6xf32>\n"
                 "  %v{1} = stablehlo.negate %p{0} : tensor<12x6xf32>\n",
                 i, i + 1);
           }
           body += fmt::format(
               "  %s = stablehlo.negate %v{} : tensor<12x6xf32>\n"
               "  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0] : "
               "(tensor<12x6xf32>, tensor<f32>) -> tensor<6xf32>",
               kSteps);
           std::vector<float> part = Part(a, node, 2);
           TENON_ASSIGN_OR_RETURN(const Values got, RunOn(*client, Program(body.c_str(), 2), 2,
                                                          {part, std::vector<float>(part.size(), 0.0f)}));
           for (float& v : part) v = -v;
           if (got[0] != part) return DataLoss(fmt::format("process {} has other values", node));
         }
         return OkStatus();
       })) {
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
}

// Of the first exchange process 2 knows nothing, nor process 0 of the last one.
TEST(Job, ExchangesMayLeaveProcessesOut) {
  const std::string program = R"(sdy.mesh @mesh = <["x"=3]>
func.func @main(%a: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"}
      (%b: tensor<2xf32>) {
    %1 = "stablehlo.collective_permute"(%b) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = stablehlo.add %b, %1 : tensor<2xf32>
    %3 = "stablehlo.all_reduce"(%2) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids} : (tensor<2xf32>) -> tensor<2xf32>
    %4 = stablehlo.add %2, %3 : tensor<2xf32>
    %5 = "stablehlo.collective_permute"(%4) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        source_target_pairs = dense<[[1, 2], [2, 1]]> : tensor<2x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %5 : tensor<2xf32>
  } : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
})";
  const Values parts = {{1, 2}, {30, 40}, {500, 600}}, want = {{0, 0}, {1032, 1244}, {563, 686}};
  const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
  for (const Status& s : InThreads(3, [&](int node) -> Status {
         TENON_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, Job::Join(SetupOf(node, 3, store)));
         TENON_ASSIGN_OR_RETURN(const auto client, CpuClient::Create({1, int64_t{1} << 30, std::move(job)}));
         const auto k = static_cast<size_t>(node);
         TENON_ASSIGN_OR_RETURN(const Values got, RunOn(*client, program, 3, {parts[k]}));
         if (got[0] == want[k]) return OkStatus();
         return DataLoss(fmt::format("process {} has {}", node, fmt::join(got[0], " ")));
       })) {
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
}

// Drawn numbers are others each time: where they decide how long a loop runs, processes would part ways.
TEST(Job, RandomNumbersAreTheSameInAllProcesses) {
  const std::string drawn = R"(  %h = stablehlo.constant dense<1.0> : tensor<f32>
  %n = stablehlo.constant dense<6> : tensor<1xi64>
  %s = stablehlo.add %a, %b : tensor<12x6xf32>
  %r = stablehlo.rng %z, %h, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<6xf32>)";
  // Along an axis that runs inside of no process, where all run the body.
  const std::string inside = R"(  %h = stablehlo.constant dense<1.0> : tensor<f32>
  %n = stablehlo.constant dense<6> : tensor<1xi64>
  %s = stablehlo.add %a, %b : tensor<12x6xf32>
  %r = sdy.manual_computation(%z, %h, %n) in_shardings=[<@mesh, []>, <@mesh, []>, <@mesh, [{}]>]
      out_shardings=[<@mesh, [{}]>] manual_axes={} (%z1: tensor<f32>, %h1: tensor<f32>, %n1: tensor<1xi64>) {
    %q = stablehlo.rng %z1, %h1, %n1, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<6xf32>
    sdy.return %q : tensor<6xf32>
  } : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<6xf32>)";
  for (const std::string& body : {drawn, inside}) {
    const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
    std::vector<std::vector<float>> numbers(2);
    for (const Status& s : InThreads(2, [&](int node) -> Status {
           TENON_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, Job::Join(SetupOf(node, 2, store)));
           TENON_ASSIGN_OR_RETURN(const auto client, CpuClient::Create({1, int64_t{1} << 30, std::move(job)}));
           const std::vector<float> part(36, 1.0f);
           TENON_ASSIGN_OR_RETURN(Values got, RunOn(*client, Program(body.c_str(), 2), 2, {part, part}));
           numbers[static_cast<size_t>(node)] = std::move(got[1]);
           return OkStatus();
         })) {
      EXPECT_TRUE(s.ok()) << s.ToString();
    }
    EXPECT_EQ(numbers[0], numbers[1]);
  }
}

/// %p's parts are the processes' own; of %x, cut by rows, they get the partial values of a reduction over them.
std::string PartialProgram(const char* op, const char* kind, int start, const char* body) {
  const auto partial = fmt::format("[{{}}], unreduced={}{{\"x\"}}", kind);
  return fmt::format(
      R"(sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4x2xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %p: tensor<2xf32> {{sdy.sharding = #sdy.sharding<@mesh, {1}>}})
    -> (tensor<2xf32> {{sdy.sharding = #sdy.sharding<@mesh, {1}>}}, tensor<2xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}]>}}) {{
  %z = stablehlo.constant dense<{3}.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.{0} across dimensions = [0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>
{2}
  return %r, %w : tensor<2xf32>, tensor<2xf32>
}})",
      op, partial, fmt::format(fmt::runtime(body), partial), start);
}

TEST(Job, PartialValuesLieInTheirProcesses) {
  const char* const by_hand =
      R"(  %w = sdy.manual_computation(%p) in_shardings=[<@mesh, {0}>] out_shardings=[<@mesh, {0}>] manual_axes={{"x"}}
      (%a: tensor<2xf32>) {{
    sdy.return %a : tensor<2xf32>
  }} : (tensor<2xf32>) -> tensor<2xf32>)";
  const Values rows = {{1, 2, 7, 4}, {5, 6, 3, 8}}, parts = {{9, 1}, {2, 3}};
  const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
  for (const Status& s : InThreads(2, [&](int node) -> Status {
         TENON_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, Job::Join(SetupOf(node, 2, store)));
         TENON_ASSIGN_OR_RETURN(const auto client, CpuClient::Create({1, int64_t{1} << 30, std::move(job)}));
         const auto k = static_cast<size_t>(node);
         struct Want {
           const char *op, *kind;
           int start;
           Values held;
           std::vector<float> whole;
         };
         for (const Want& want :
              {Want{"maximum", "max", 0, {{7, 4}, {5, 8}}, {9, 3}}, Want{"minimum", "min", 9, {{1, 2}, {3, 6}}, {2, 1}},
               Want{"add", "", 0, {{8, 6}, {8, 14}}, {11, 4}}}) {
           for (const char* body : {"  %w = stablehlo.reshape %p : (tensor<2xf32>) -> tensor<2xf32>", by_hand}) {
             TENON_ASSIGN_OR_RETURN(
                 const Values got,
                 RunOn(*client, PartialProgram(want.op, want.kind, want.start, body), 2, {rows[k], parts[k]}));
             if (got != Values{want.held[k], want.whole})
               return DataLoss(fmt::format("{} in process {}: {} and {}", want.op, node, fmt::join(got[0], " "),
                                           fmt::join(got[1], " ")));
           }
         }
         return OkStatus();
       })) {
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
}

// The other process has a client and never runs the program: the connection is not made before it does.
TEST(Job, AClientThatIsGivenUpDoesNotWaitForOneThatNeverComes) {
  const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
  std::vector<std::unique_ptr<Job>> jobs(2);
  for (const Status& s : InThreads(2, [&](int node) -> Status {
         Job::Setup setup = SetupOf(node, 2, store);
         setup.timeout = collectives::Milliseconds(300'000);
         TENON_ASSIGN_OR_RETURN(jobs[static_cast<size_t>(node)], Job::Join(std::move(setup)));
         return OkStatus();
       })) {
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  const auto client = *CpuClient::Create({1, int64_t{1} << 30, std::move(jobs[0])});
  Status outcome;
  std::thread runs([&] {
    const std::vector<float> part(36, 1.0f);
    outcome = RunOn(*client, Program(kBodies[0].second, 2), 2, {part, part}).status();
  });
  while (static_cast<CpuClient&>(*client).job()->queue().pending() == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto start = std::chrono::steady_clock::now();
  client->GivenUp();
  runs.join();
  EXPECT_EQ(outcome.code(), tenon::Code::kCancelled) << outcome.ToString();
  EXPECT_LT(std::chrono::steady_clock::now() - start, policy::kLeaveJob + std::chrono::seconds(20));
}

// In both directions at once, more than there are threads, in orders that do not agree; the array of one is made last,
// and that of another never.
TEST(Job, ArraysGoFromProcessToProcess) {
  const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
  constexpr int kArrays = 100;
  for (const Status& outcome : InThreads(2, [&](int node) -> Status {
         TENON_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, Job::Join(SetupOf(node, 2, store)));
         TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Client> client,
                                CpuClient::Create({1, int64_t{1} << 30, std::move(job)}));
         plugin::Device* const device = client->addressable_devices()[0];
         const int other = (1 - node) * kDevicesPerProcess;
         const Shape shape{DType::kF32, {3}};
         std::vector<plugin::Ref<plugin::Buffer>> kept, got;
         std::vector<plugin::EventRef> sent;
         plugin::Ref<plugin::Event> last = plugin::Event::Make();
         for (int i = 0; i < kArrays; ++i) {
           const int key = node == 0 ? i : kArrays - 1 - i;
           TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Storage> storage, device->default_memory()->Allocate(device, 12));
           auto* data = static_cast<float*>(storage->data());
           for (int k = 0; k < 3; ++k) data[k] = static_cast<float>(100 * node + key + k);
           kept.push_back(plugin::Buffer::Make(device, device->default_memory(), {shape}, std::move(storage),
                                               key == 5 ? plugin::EventRef(last) : nullptr));
           if (key == 9)
             kept.back() = plugin::Buffer::MakeError(device, device->default_memory(), {shape}, Aborted("never made"));
           sent.push_back(client->SendToProcess(kept.back(), other, key));
         }
         for (int key = 0; key < kArrays; ++key) {
           TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Buffer> buffer,
                                  client->ReceiveFromProcess({shape}, device, other, key));
           got.push_back(std::move(buffer));
         }
         last->Set();
         for (int key = 0; key < kArrays; ++key) {
           const plugin::Ref<plugin::Buffer>& buffer = got[static_cast<size_t>(key)];
           const Status status = buffer->ready().Wait();
           if (key == 9) {
             EXPECT_EQ(status.code(), tenon::Code::kAborted);
             EXPECT_THAT(std::string(status.message()), HasSubstr("never made"));
             continue;
           }
           TENON_RETURN_IF_ERROR(status);
           TENON_ASSIGN_OR_RETURN(void* const pointer, buffer->DataPointer());
           for (int k = 0; k < 3; ++k)
             EXPECT_EQ(static_cast<float*>(pointer)[k], static_cast<float>(100 * (1 - node) + key + k));
         }
         int failed = 0;
         for (const plugin::EventRef& event : sent) failed += event.Wait().ok() ? 0 : 1;
         EXPECT_EQ(failed, 1);
         EXPECT_EQ(client->SendToProcess(kept[0], node * kDevicesPerProcess, 1).Wait().code(),
                   tenon::Code::kInvalidArgument);
         EXPECT_EQ(client->SendToProcess(kept[0], 77, 1).Wait().code(), tenon::Code::kInvalidArgument);
         EXPECT_EQ(client->ReceiveFromProcess({shape, {}}, device, 77, 1).status().code(),
                   tenon::Code::kInvalidArgument);
         return OkStatus();
       })) {
    EXPECT_TRUE(outcome.ok()) << outcome.ToString();
  }
}

// Column by column here, row by row on the way and there; also of one that is made late, and of one that never is.
TEST(Job, ArraysThatLieOtherwiseAreTurnedBeforeTheyLeave) {
  const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
  // They outlive the threads: what was never made is told without the sender hearing of it.
  plugin::Ref<plugin::Client> clients[2];
  for (const Status& outcome : InThreads(2, [&](int node) -> Status {
         TENON_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, Job::Join(SetupOf(node, 2, store)));
         plugin::Ref<plugin::Client>& client = clients[node];
         TENON_ASSIGN_OR_RETURN(client, CpuClient::Create({1, int64_t{1} << 30, std::move(job)}));
         plugin::Device* const device = client->addressable_devices()[0];
         const int other = (1 - node) * kDevicesPerProcess;
         const plugin::ArraySpec rows{.shape = {DType::kF32, {2, 3}}},
             columns{.shape = rows.shape, .minor_to_major = {0, 1}};
         if (node == 1) {
           EXPECT_EQ(client->ReceiveFromProcess(columns, device, other, 0).status().code(),
                     tenon::Code::kUnimplemented);
           for (const int key : {0, 1, 2}) {
             TENON_ASSIGN_OR_RETURN(const plugin::Ref<plugin::Buffer> got,
                                    client->ReceiveFromProcess(rows, device, other, key));
             const Status status = got->ready().Wait();
             if (key == 2) {
               EXPECT_EQ(status.code(), tenon::Code::kAborted);
               EXPECT_THAT(std::string(status.message()), HasSubstr("never made"));
               continue;
             }
             TENON_RETURN_IF_ERROR(status);
             TENON_ASSIGN_OR_RETURN(const void* const pointer, got->DataPointer());
             EXPECT_THAT(std::span(static_cast<const float*>(pointer), 6), ElementsAre(0, 1, 2, 10, 11, 12)) << key;
           }
           return OkStatus();
         }
         plugin::Ref<plugin::Event> late = plugin::Event::Make();
         std::vector<plugin::Ref<plugin::Buffer>> kept;
         std::vector<plugin::EventRef> sent;
         for (const int key : {0, 1, 2}) {
           TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Storage> storage, device->default_memory()->Allocate(device, 24));
           constexpr float kColumns[] = {0, 10, 1, 11, 2, 12};
           std::memcpy(storage->data(), kColumns, sizeof kColumns);
           kept.push_back(
               key == 2 ? plugin::Buffer::MakeError(device, device->default_memory(), columns, Aborted("never made"))
                        : plugin::Buffer::Make(device, device->default_memory(), columns, std::move(storage),
                                               key == 1 ? plugin::EventRef(late) : nullptr));
           sent.push_back(client->SendToProcess(kept.back(), other, key));
         }
         late->Set();
         TENON_RETURN_IF_ERROR(sent[0].Wait());
         TENON_RETURN_IF_ERROR(sent[1].Wait());
         EXPECT_EQ(sent[2].Wait().code(), tenon::Code::kAborted);
         return OkStatus();
       })) {
    EXPECT_TRUE(outcome.ok()) << outcome.ToString();
  }
}

TEST(Job, AnotherProgramIsAnErrorOnBothSides) {
  const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
  const std::vector<Status> outcomes = InThreads(2, [&](int node) -> Status {
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, Job::Join(SetupOf(node, 2, store)));
    TENON_ASSIGN_OR_RETURN(const auto client, CpuClient::Create({1, int64_t{1} << 30, std::move(job)}));
    const std::vector<float> part(36, 1.0f);
    return RunOn(*client, Program(kBodies[node].second, 2), 2, {part, part}).status();
  });
  for (const Status& s : outcomes) {
    EXPECT_FALSE(s.ok());
    EXPECT_THAT(s.ToString(), HasSubstr("different orders"));
  }
}

TEST(Job, ExchangesAreNotForProgramsFromOutside) {
  const auto client = *CpuClient::Create({1, int64_t{1} << 30});
  const Status s =
      RunOn(*client,
            "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = stablehlo.custom_call "
            "@tenon.exchange(%a) {backend_config = \"0 c 0 0 0 0 400\"} : (tensor<4xf32>) -> tensor<4xf32>\n"
            "  return %0 : tensor<4xf32>\n}",
            1, {{1, 2, 3, 4}})
          .status();
  EXPECT_EQ(s.code(), tenon::Code::kInvalidArgument) << s.ToString();
}

TEST(Job, ProcessesThatDoNotFitTogetherHearTheSame) {
  const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
  const std::vector<Status> outcomes = InThreads(3, [&](int node) {
    Job::Setup setup = SetupOf(node, 3, store);
    if (node == 1) setup.target = "another";
    return Job::Join(std::move(setup)).status();
  });
  for (const Status& s : outcomes) {
    EXPECT_EQ(s.code(), tenon::Code::kFailedPrecondition);
    EXPECT_EQ(s.ToString(), outcomes[0].ToString());
    EXPECT_THAT(s.ToString(), HasSubstr("different bits"));
  }
}

TEST(Job, UnknownWaysAndMpiWithoutMpirunAreRefused) {
  Job::Setup setup = SetupOf(0, 2, collectives::MakeLocalStore());
  setup.engine = "pigeons";
  const Status unknown = Job::Join(std::move(setup)).status();
  EXPECT_EQ(unknown.code(), tenon::Code::kInvalidArgument) << unknown.ToString();
  EXPECT_THAT(unknown.ToString(), HasSubstr("'pigeons', wanted auto"));
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK"}) unsetenv(variable);
  setup = SetupOf(0, 2, collectives::MakeLocalStore());
  setup.engine = "mpi";
  const Status alone = Job::Join(std::move(setup)).status();
  EXPECT_EQ(alone.code(), tenon::Code::kFailedPrecondition) << alone.ToString();
  EXPECT_THAT(alone.ToString(), HasSubstr("no mpirun started this process"));
}

TEST(Job, MissingProcessesAreNamed) {
  const std::shared_ptr<collectives::Store> store = collectives::MakeLocalStore();
  const std::vector<Status> outcomes = InThreads(2, [&](int node) {
    Job::Setup setup = SetupOf(node, 3, store);
    setup.join_timeout = collectives::Milliseconds(200);
    return Job::Join(std::move(setup)).status();
  });
  for (const Status& s : outcomes) {
    EXPECT_EQ(s.code(), tenon::Code::kDeadlineExceeded);
    EXPECT_THAT(s.ToString(), HasSubstr("200 ms: 2"));
  }
}

}  // namespace
}  // namespace tenon::cpu
