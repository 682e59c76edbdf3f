// Clients: creation, options, key-value callbacks, devices found by number, device assignments.
#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

std::vector<PJRT_Device*> AllDevices(Env& env) {
  auto args = New<PJRT_Client_Devices_Args>();
  args.client = env.client();
  env.Ok(args);
  return {args.devices, args.devices + args.num_devices};
}

PJRT_Client_DefaultDeviceAssignment_Args Assignment(Env& env, int replicas, int partitions, std::vector<int>& numbers) {
  auto args = New<PJRT_Client_DefaultDeviceAssignment_Args>();
  args.client = env.client();
  args.num_replicas = replicas;
  args.num_partitions = partitions;
  args.default_assignment = numbers.data();
  args.default_assignment_size = numbers.size();
  return args;
}

}  // namespace

void AddClientTests(Suite& suite) {
  suite.Add("client.create", Needs::kTable, "PJRT_Client_Create gives a client where the device is present", kHeader,
            [](Env& env) {
              if (!env.profile().device) throw Stop{Observed::kNoDevice, "the profile says that there is no device"};
              Status status = env.ClientStatus();
              env.Expect(status.ok(), status.ToString());
            });
  suite.Add("client.create_two", Needs::kClient, "Two clients may live at the same time", kClients, [](Env& env) {
    Client one = env.NewClient();
    Client two = env.NewClient();
    env.Expect(one.get() != two.get(), "both are the same");
    one.Reset();
    auto args = New<PJRT_Client_Devices_Args>();
    args.client = two;
    env.Ok(args);
  });
  suite.Add("client.create_again", Needs::kClient, "Clients may be made and destroyed many times", kClients,
            [](Env& env) {
              for (int i = 0; i < 10; ++i) Client client = env.NewClient();
            });
  suite.Add("client.garbage_callbacks", Needs::kClient, "Key-value callbacks are not called by a client of one process",
            "JAX leaves garbage there", [](Env& env) {
              auto args = New<PJRT_Client_Create_Args>();
              args.kv_get_callback = [](PJRT_KeyValueGetCallback_Args*) -> PJRT_Error* { std::abort(); };
              args.kv_put_callback = [](PJRT_KeyValuePutCallback_Args*) -> PJRT_Error* { std::abort(); };
              args.kv_try_get_callback = [](PJRT_KeyValueTryGetCallback_Args*) -> PJRT_Error* { std::abort(); };
              env.Ok(args);
              Client client(env, args.client);
            });
  suite.Add(
      "client.platform_name", Needs::kClient, "The platform name is a short lower-case word", kClients, [](Env& env) {
        std::string name = env.PlatformName();
        env.Expect(!name.empty() && name.size() < 32, "it is '" + name + "'");
        for (char c : name)
          env.Expect((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-', "it is '" + name + "'");
      });
  suite.Add("client.platform_version", Needs::kClient, "The platform version is text", kHeader,
            [](Env& env) { env.Expect(!env.PlatformVersion().empty(), "it is empty"); });
  suite.Add("client.strings_stable", Needs::kClient, "Names stay where they are as long as the client lives", kHeader,
            [](Env& env) {
              auto first = New<PJRT_Client_PlatformName_Args>();
              first.client = env.client();
              env.Ok(first);
              std::string copy(first.platform_name, first.platform_name_size);
              for (int i = 0; i < 100; ++i) (void)env.PlatformVersion();
              env.Expect(copy == std::string_view(first.platform_name, first.platform_name_size), "the text changed");
            });
  suite.Add("client.process_index", Needs::kClient, "A single process has index 0", kHeader, [](Env& env) {
    auto args = New<PJRT_Client_ProcessIndex_Args>();
    args.client = env.client();
    env.Ok(args);
    env.Equal(args.process_index, 0, "process index");
  });
  suite.Add("client.devices", Needs::kClient, "There is at least one device, none is NULL and none appears twice",
            kHeader, [](Env& env) {
              std::vector<PJRT_Device*> devices = AllDevices(env);
              env.Expect(!devices.empty(), "no devices");
              std::set<PJRT_Device*> unique(devices.begin(), devices.end());
              env.Expect(unique.size() == devices.size(), "a device appears twice");
              env.Expect(!unique.contains(nullptr), "a device is NULL");
            });
  suite.Add("client.devices_stable", Needs::kClient, "The same devices in the same order each time", kHeader,
            [](Env& env) { env.Expect(AllDevices(env) == AllDevices(env), "the order changed"); });
  suite.Add("client.addressable_devices_subset", Needs::kClient,
            "Addressable devices are among the devices, as the same pointers", kHeader, [](Env& env) {
              std::vector<PJRT_Device*> all = AllDevices(env);
              for (PJRT_Device* device : env.devices()) {
                env.Expect(std::find(all.begin(), all.end(), device) != all.end(),
                           "an addressable device is not among the devices");
              }
            });
  suite.Add("client.lookup_device", Needs::kClient, "LookupDevice finds each device by its id", kHeader, [](Env& env) {
    for (PJRT_Device* device : AllDevices(env)) {
      auto args = New<PJRT_Client_LookupDevice_Args>();
      args.client = env.client();
      args.id = env.DeviceId(device);
      env.Ok(args);
      env.Expect(args.device == device, "another device");
    }
  });
  for (int id : {-1, 1 << 20}) {
    std::string name = id < 0 ? "negative" : "too_large";
    suite.Add("client.lookup_device_" + name, Needs::kClient,
              "LookupDevice refuses an unknown id with INVALID_ARGUMENT", "upstream's LookupDevice tests",
              [id](Env& env) {
                auto args = New<PJRT_Client_LookupDevice_Args>();
                args.client = env.client();
                args.id = id;
                env.Fails(args, {Code::kInvalidArgument}, "there is no such device");
              });
    suite.Add("client.lookup_addressable_" + name, Needs::kClient, "LookupAddressableDevice refuses an unknown number",
              kReference, [id](Env& env) {
                auto args = New<PJRT_Client_LookupAddressableDevice_Args>();
                args.client = env.client();
                args.local_hardware_id = id < 0 ? -2 : id;
                env.Fails(args, {Code::kInvalidArgument, Code::kNotFound}, "there is no such device");
              });
  }
  suite.Add("client.lookup_addressable", Needs::kClient,
            "LookupAddressableDevice finds each device by its local hardware id", kHeader, [](Env& env) {
              for (PJRT_Device* device : env.devices()) {
                auto id = New<PJRT_Device_LocalHardwareId_Args>();
                id.device = device;
                env.Ok(id);
                auto args = New<PJRT_Client_LookupAddressableDevice_Args>();
                args.client = env.client();
                args.local_hardware_id = id.local_hardware_id;
                env.Ok(args);
                env.Expect(args.addressable_device == device, "another device");
              }
            });
  suite.Add("client.memories", Needs::kClient, "The client's memories are those of its devices, each once", kHeader,
            [](Env& env) {
              auto args = New<PJRT_Client_AddressableMemories_Args>();
              args.client = env.client();
              env.Ok(args);
              std::set<PJRT_Memory*> all(args.addressable_memories,
                                         args.addressable_memories + args.num_addressable_memories),
                  reached;
              env.Equal(all.size(), args.num_addressable_memories, "different memories");
              for (PJRT_Device* device : env.devices()) {
                for (PJRT_Memory* memory : env.Memories(device)) reached.insert(memory);
              }
              env.Expect(reached == all, "the devices reach other memories than the client names");
            });
  suite.Add("client.topology_borrowed", Needs::kClient, "The client's topology is the same object each time", kHeader,
            [](Env& env) {
              auto first = New<PJRT_Client_TopologyDescription_Args>();
              auto second = first;
              first.client = second.client = env.client();
              env.Ok(first);
              env.Ok(second);
              env.Expect(first.topology != nullptr && first.topology == second.topology, "it is another one");
            });
  suite.Add("client.assignment_one", Needs::kClient, "The default assignment of one replica is an addressable device",
            kHeader, [](Env& env) {
              std::vector<int> numbers(1, -99);
              auto args = Assignment(env, 1, 1, numbers);
              env.Ok(args);
              auto lookup = New<PJRT_Client_LookupDevice_Args>();
              lookup.client = env.client();
              lookup.id = numbers[0];
              env.Ok(lookup);
            });
  suite.Add("client.assignment_two", Needs::kDevices2, "Two replicas get two different devices", kHeader, [](Env& env) {
    std::vector<int> numbers(2, -99);
    auto args = Assignment(env, 2, 1, numbers);
    env.Ok(args);
    env.Expect(numbers[0] != numbers[1], "both get the same device");
    env.Expect(numbers[0] != -99 && numbers[1] != -99, "an id was not written");
  });
  suite.Add("client.assignment_leaves_rest", Needs::kClient,
            "DefaultDeviceAssignment writes replicas times partitions numbers only", kReference, [](Env& env) {
              std::vector<int> numbers(5, -99);
              auto args = Assignment(env, 1, 1, numbers);
              env.Ok(args);
              for (size_t i = 1; i < numbers.size(); ++i) env.Equal(numbers[i], -99, "number behind the assignment");
            });
  suite.Add("client.assignment_too_small", Needs::kClient, "An array that is too small gives FAILED_PRECONDITION",
            "upstream's BufferTooSmall test", [](Env& env) {
              std::vector<int> numbers(1);
              auto args = Assignment(env, 1, 1, numbers);
              args.default_assignment_size = 0;
              env.Fails(args, {Code::kFailedPrecondition}, "the array has no room");
            });
  suite.Add("client.assignment_zero", Needs::kClient, "Zero replicas give INVALID_ARGUMENT", kReference, [](Env& env) {
    std::vector<int> numbers(4);
    auto args = Assignment(env, 0, 1, numbers);
    env.Fails(args, {Code::kInvalidArgument}, "there are no replicas");
  });
  suite.Add("client.assignment_negative", Needs::kClient, "Negative partitions give INVALID_ARGUMENT", kReference,
            [](Env& env) {
              std::vector<int> numbers(4);
              auto args = Assignment(env, 1, -1, numbers);
              env.Fails(args, {Code::kInvalidArgument}, "there are -1 partitions");
            });
  suite.Add("client.dma_map", Needs::kClient, "A page of host memory can be pinned and released", kHeader,
            [](Env& env) {
              alignas(4096) static char page[4096];
              auto map = New<PJRT_Client_DmaMap_Args>();
              map.client = env.client();
              map.data = page;
              map.size = sizeof(page);
              env.Ok(map);
              auto unmap = New<PJRT_Client_DmaUnmap_Args>();
              unmap.client = env.client();
              unmap.data = page;
              env.Ok(unmap);
            });
  suite.Add("client.process_info", Needs::kClient, "UpdateGlobalProcessInfo takes the states of processes", kHeader,
            [](Env& env) {
              PJRT_ProcessInfo info;
              std::memset(static_cast<void*>(&info), 0, sizeof(info));
              info.struct_size = PJRT_ProcessInfo_STRUCT_SIZE;
              info.state = PJRT_ProcessState_kConnected;
              auto args = New<PJRT_Client_UpdateGlobalProcessInfo_Args>();
              args.client = env.client();
              args.process_infos = &info;
              args.num_process_infos = 1;
              env.Ok(args);
            });
}

}  // namespace tenon::conformance
