// Devices, their descriptions, and memories.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

void CheckAttributes(Env& env, const PJRT_NamedValue* values, size_t count) {
  env.Expect(count == 0 || values != nullptr, "the array is NULL");
  std::set<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    std::string name(values[i].name, values[i].name_size);
    env.Expect(names.insert(name).second, "two attributes are called " + name);
    env.Expect(values[i].type <= PJRT_NamedValue_kBool, name + " has an unknown kind");
    env.Expect(values[i].struct_size >= PJRT_NamedValue_STRUCT_SIZE,
               name + " has struct_size " + std::to_string(values[i].struct_size));
  }
}

int IsSet(bool flag) { return flag ? 1 : 0; }

struct Tracker {
  int destroyed = 0;
};

}  // namespace

void AddDeviceTests(Suite& suite) {
  suite.Add("devices.ids_unique", Needs::kClient, "Device ids are unique", kHeader, [](Env& env) {
    std::set<int> ids;
    for (PJRT_Device* device : env.devices())
      env.Expect(ids.insert(env.DeviceId(device)).second, "two devices have the same id");
  });
  suite.Add("devices.description_stable", Needs::kClient, "A device has one description: the same pointer each time",
            kHeader, [](Env& env) {
              for (PJRT_Device* device : env.devices())
                env.Expect(env.Description(device) == env.Description(device), "another pointer");
            });
  suite.Add("devices.descriptions_differ", Needs::kDevices2, "Different devices have different descriptions", kHeader,
            [](Env& env) {
              env.Expect(env.Description(env.device(0)) != env.Description(env.device(1)), "the same pointer");
            });
  suite.Add("devices.process_index", Needs::kClient, "Addressable devices belong to this process", kHeader,
            [](Env& env) {
              auto args = New<PJRT_DeviceDescription_ProcessIndex_Args>();
              args.device_description = env.Description(env.device());
              env.Ok(args);
              env.Equal(args.process_index, 0, "process index");
            });
  suite.Add("devices.addressable", Needs::kClient, "Each addressable device says that it is", kHeader, [](Env& env) {
    for (PJRT_Device* device : env.devices()) {
      auto args = New<PJRT_Device_IsAddressable_Args>();
      args.device = device;
      env.Ok(args);
      env.Expect(args.is_addressable, "it says no");
    }
  });
  suite.Add("devices.kind_same", Needs::kClient, "The kind is a text that does not change", kHeader, [](Env& env) {
    auto first = New<PJRT_DeviceDescription_Kind_Args>();
    auto second = first;
    first.device_description = second.device_description = env.Description(env.device());
    env.Ok(first);
    env.Ok(second);
    env.Expect(first.device_kind_size > 0, "no kind");
    env.Expect(std::string_view(first.device_kind, first.device_kind_size) ==
                   std::string_view(second.device_kind, second.device_kind_size),
               "it changed");
  });
  suite.Add("devices.strings_differ", Needs::kDevices2, "The texts of two devices tell them apart", kHeader,
            [](Env& env) {
              std::set<std::string> texts;
              for (size_t i = 0; i < 2; ++i) {
                auto args = New<PJRT_DeviceDescription_ToString_Args>();
                args.device_description = env.Description(env.device(i));
                env.Ok(args);
                texts.insert(std::string(args.to_string, args.to_string_size));
              }
              env.Equal(texts.size(), 2, "different texts");
            });
  suite.Add("devices.attributes", Needs::kClient,
            "Attributes of a description are well formed and of kinds that clients read", kReference, [](Env& env) {
              auto args = New<PJRT_DeviceDescription_Attributes_Args>();
              args.device_description = env.Description(env.device());
              env.Ok(args);
              CheckAttributes(env, args.attributes, args.num_attributes);
              for (size_t i = 0; i < args.num_attributes; ++i) {
                env.Expect(args.attributes[i].type <= PJRT_NamedValue_kInt64List,
                           "an attribute is neither string, int64 nor list");
              }
            });
  suite.Add("devices.live_attributes", Needs::kClient,
            "PJRT_Device_GetAttributes gives well-formed values and a deleter", kHeader, [](Env& env) {
              auto args = New<PJRT_Device_GetAttributes_Args>();
              args.device = env.device();
              env.Ok(args);
              CheckAttributes(env, args.attributes, args.num_attributes);
              env.Expect(args.attributes_deleter != nullptr, "no deleter");
              args.attributes_deleter(args.device_attributes);
            });
  suite.Add("devices.local_ids_unique", Needs::kClient, "Local hardware ids of addressable devices are unique", kHeader,
            [](Env& env) {
              std::set<int> ids;
              for (PJRT_Device* device : env.devices()) {
                auto args = New<PJRT_Device_LocalHardwareId_Args>();
                args.device = device;
                env.Ok(args);
                env.Expect(ids.insert(args.local_hardware_id).second, "two devices have the same number");
              }
            });
  suite.Add("devices.default_memory_reachable", Needs::kClient,
            "A device's default memory is among the memories that it reaches", kHeader, [](Env& env) {
              for (PJRT_Device* device : env.devices()) {
                std::vector<PJRT_Memory*> memories = env.Memories(device);
                env.Expect(std::find(memories.begin(), memories.end(), env.DefaultMemory(device)) != memories.end(),
                           "it is not");
              }
            });
  suite.Add("devices.memory_stats", Needs::kClient, "MemoryStats counts what buffers take", kHeader, [](Env& env) {
    auto before = New<PJRT_Device_MemoryStats_Args>();
    before.device = env.device();
    env.Ok(before);
    std::vector<float> values(1 << 20, 1.0f);
    Buffer buffer = env.Upload<float>(values, {1 << 20});
    env.Expect(env.Ready(buffer).ok(), "the upload failed");
    auto after = New<PJRT_Device_MemoryStats_Args>();
    after.device = env.device();
    env.Ok(after);
    env.Expect(after.bytes_in_use >= before.bytes_in_use + (4 << 20), "bytes_in_use did not grow by the buffer's size");
  });
  suite.Add("devices.memory_stats_flags", Needs::kClient, "MemoryStats writes each flag, also when it has no figure",
            kHeader, [](Env& env) {
              auto args = New<PJRT_Device_MemoryStats_Args>();
              std::memset(&args.bytes_in_use, 0x77,
                          sizeof(args) - offsetof(PJRT_Device_MemoryStats_Args, bytes_in_use));
              args.device = env.device();
              env.Ok(args);
              unsigned char flag;
              for (const bool* value :
                   {&args.peak_bytes_in_use_is_set, &args.num_allocs_is_set, &args.largest_alloc_size_is_set,
                    &args.bytes_limit_is_set, &args.bytes_reserved_is_set, &args.peak_bytes_reserved_is_set,
                    &args.bytes_reservable_limit_is_set, &args.largest_free_block_bytes_is_set, &args.pool_bytes_is_set,
                    &args.peak_pool_bytes_is_set}) {
                std::memcpy(&flag, value, 1);
                env.Expect(flag <= 1, "a flag was not written");
              }
              env.Expect(args.bytes_in_use >= 0, "bytes_in_use is negative");
            });
  suite.Add("devices.poison_nothing", Needs::kClient, "Poisoning a launch that does not run says that there was none",
            kHeader, [](Env& env) {
              auto args = New<PJRT_Device_PoisonExecution_Args>();
              args.device = env.device();
              args.launch_id = 987654;
              args.error_code = PJRT_Error_Code_ABORTED;
              args.error_message = "on purpose";
              args.error_message_size = 10;
              args.poisoned = true;
              env.Ok(args);
              env.Equal(IsSet(args.poisoned), 0, "poisoned");
            });
}

void AddMemoryTests(Suite& suite) {
  suite.Add("memories.ids_unique", Needs::kClient, "Memory ids are unique in a client", kHeader, [](Env& env) {
    auto all = New<PJRT_Client_AddressableMemories_Args>();
    all.client = env.client();
    env.Ok(all);
    std::set<int> ids;
    for (size_t i = 0; i < all.num_addressable_memories; ++i) {
      auto args = New<PJRT_Memory_Id_Args>();
      args.memory = all.addressable_memories[i];
      env.Ok(args);
      env.Expect(ids.insert(args.id).second, "two memories have the same id");
    }
  });
  suite.Add("memories.kind_ids_match", Needs::kClient,
            "Equal kinds have equal kind ids, different kinds different ones", kHeader, [](Env& env) {
              auto all = New<PJRT_Client_AddressableMemories_Args>();
              all.client = env.client();
              env.Ok(all);
              std::map<std::string, int> ids;
              std::set<int> different;
              for (size_t i = 0; i < all.num_addressable_memories; ++i) {
                auto args = New<PJRT_Memory_Kind_Id_Args>();
                args.memory = all.addressable_memories[i];
                env.Ok(args);
                auto [entry, fresh] = ids.emplace(env.MemoryKind(all.addressable_memories[i]), args.kind_id);
                env.Equal(args.kind_id, entry->second, "kind id of " + entry->first);
                if (fresh) different.insert(args.kind_id);
              }
              env.Equal(different.size(), ids.size(), "different kind ids");
            });
  suite.Add("memories.default_kind", Needs::kClient, "The default memory of every device is of the same kind",
            kReference, [](Env& env) {
              std::set<std::string> kinds;
              for (PJRT_Device* device : env.devices()) kinds.insert(env.MemoryKind(env.DefaultMemory(device)));
              env.Equal(kinds.size(), 1, "kinds");
            });
  suite.Add("memories.kinds_once_per_device", Needs::kClient, "A device has at most one memory of each kind", kClients,
            [](Env& env) {
              for (PJRT_Device* device : env.devices()) {
                std::set<std::string> kinds;
                for (PJRT_Memory* memory : env.Memories(device))
                  env.Expect(kinds.insert(env.MemoryKind(memory)).second, "two of one kind");
              }
            });
  suite.Add("memories.devices_symmetric", Needs::kClient, "A memory that a device reaches names that device", kHeader,
            [](Env& env) {
              for (PJRT_Device* device : env.devices()) {
                for (PJRT_Memory* memory : env.Memories(device)) {
                  auto args = New<PJRT_Memory_AddressableByDevices_Args>();
                  args.memory = memory;
                  env.Ok(args);
                  env.Expect(std::find(args.devices, args.devices + args.num_devices, device) !=
                                 args.devices + args.num_devices,
                             "it does not");
                }
              }
            });
  suite.Add("memories.strings", Needs::kClient, "ToString and DebugString are not empty", kHeader, [](Env& env) {
    auto text = New<PJRT_Memory_ToString_Args>();
    text.memory = env.DefaultMemory(env.device());
    env.Ok(text);
    auto debug = New<PJRT_Memory_DebugString_Args>();
    debug.memory = text.memory;
    env.Ok(debug);
    env.Expect(text.to_string_size > 0 && debug.debug_string_size > 0, "one is empty");
  });
  suite.Add("memories.vtable", Needs::kClient, "From 0.105 on a memory begins with NULL or a filled table of functions",
            kHeader, [](Env& env) {
              if (env.minor() < 105) env.Unsupported("the plugin is older than 0.105");
              const PJRT_Memory_FunctionTable* table = env.DefaultMemory(env.device())->vtable;
              if (table == nullptr) return;
              env.Expect(table->struct_size >= PJRT_Memory_FunctionTable_STRUCT_SIZE,
                         "struct_size of the table is too small");
              env.Expect(table->get_user_data != nullptr && table->set_user_data != nullptr, "a function is NULL");
            });
  suite.Add("memories.user_data", Needs::kClient, "User data is stored by key; replacing it runs its destructor",
            kHeader, [](Env& env) {
              if (env.minor() < 105) env.Unsupported("the plugin is older than 0.105");
              Tracker first, second;
              static const int key = 0;
              {
                Client client = env.NewClient();
                auto devices = New<PJRT_Client_AddressableDevices_Args>();
                devices.client = client;
                env.Ok(devices);
                PJRT_Memory* memory = env.DefaultMemory(devices.addressable_devices[0]);
                if (memory->vtable == nullptr) env.Unsupported("the memory has no table");
                auto destroy = [](void* data) { ++static_cast<Tracker*>(data)->destroyed; };
                env.Expect(memory->vtable->get_user_data(memory, &key) == nullptr, "there is data already");
                memory->vtable->set_user_data(memory, &key, &first, destroy);
                env.Expect(memory->vtable->get_user_data(memory, &key) == &first, "the data is not what was stored");
                memory->vtable->set_user_data(memory, &key, &second, destroy);
                env.Equal(first.destroyed, 1, "destructor calls after replacing");
                env.Equal(second.destroyed, 0, "destructor calls of the new value");
              }
              env.Equal(second.destroyed, 1, "destructor calls after the client went");
            });
  suite.Add("memories.upload_to_each", Needs::kClient,
            "Each memory of a device takes uploads and gives the values back", kHeader, [](Env& env) {
              for (PJRT_Memory* memory : env.Memories(env.device())) {
                Buffer buffer = env.Upload<float>({1, 2, 3, 4}, {4}, {.memory = memory});
                auto args = New<PJRT_Buffer_Memory_Args>();
                args.buffer = buffer;
                env.Ok(args);
                env.Expect(args.memory == memory, "the buffer is in another memory");
                env.ExpectValues(buffer, {1, 2, 3, 4});
              }
            });
  suite.Add("memories.copy_between", Needs::kClient, "CopyToMemory copies between each two memories of a device",
            kHeader, [](Env& env) {
              std::vector<PJRT_Memory*> memories = env.Memories(env.device());
              if (memories.size() < 2) env.Unsupported("the device has one memory");
              for (PJRT_Memory* from : memories) {
                for (PJRT_Memory* to : memories) {
                  if (from == to) continue;
                  Buffer buffer = env.Upload<float>({5, 6, 7, 8}, {4}, {.memory = from});
                  Buffer copy = env.CopyToMemory(buffer, to);
                  env.ExpectValues(copy, {5, 6, 7, 8});
                }
              }
            });
}

}  // namespace tenon::conformance
