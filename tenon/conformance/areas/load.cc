// Loading, versions, the table, plugin attributes.
#include <dlfcn.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

const PJRT_NamedValue* FindAttribute(Env& env, std::string_view name) {
  auto args = New<PJRT_Plugin_Attributes_Args>();
  env.Ok(args);
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& value = args.attributes[i];
    if (std::string_view(value.name, value.name_size) == name) return &value;
  }
  return nullptr;
}

void ExpectVersion(Env& env, const char* name) {
  const PJRT_NamedValue* value = FindAttribute(env, name);
  env.Expect(value != nullptr, std::string("the attribute ") + name + " is missing");
  env.Expect(value->type == PJRT_NamedValue_kInt64List, std::string(name) + " is not a list of int64");
  env.Equal(value->value_size, 3, std::string("numbers of ") + name);
  env.Expect(value->int64_array_value != nullptr, std::string(name) + " is NULL");
}

}  // namespace

void AddLoadTests(Suite& suite) {
  suite.Add("load.same_pointer", Needs::kTable, "GetPjrtApi returns the same pointer on each call", kHeader,
            [](Env& env) {
              auto get = reinterpret_cast<PJRT_GetPjrtApi_Function>(dlsym(env.library(), "GetPjrtApi"));
              for (int i = 0; i < 3; ++i) env.Expect(get() == env.api(), "GetPjrtApi returned another pointer");
            });
  suite.Add("load.same_pointer_from_threads", Needs::kTable, "GetPjrtApi may be called from any thread", kHeader,
            [](Env& env) {
              auto get = reinterpret_cast<PJRT_GetPjrtApi_Function>(dlsym(env.library(), "GetPjrtApi"));
              std::vector<const PJRT_Api*> seen(8);
              std::vector<std::thread> threads;
              for (auto& slot : seen) threads.emplace_back([&slot, get] { slot = get(); });
              for (auto& thread : threads) thread.join();
              for (const PJRT_Api* api : seen)
                env.Expect(api == env.api(), "GetPjrtApi returned another pointer on another thread");
            });
  suite.Add("load.open_again", Needs::kTable, "The library may be opened and closed again while it is in use",
            "gopjrt closes and reopens plugins", [](Env& env) {
              void* again = dlopen(env.path().c_str(), RTLD_LAZY);
              env.Expect(again != nullptr, "dlopen failed the second time");
              auto get = reinterpret_cast<PJRT_GetPjrtApi_Function>(dlsym(again, "GetPjrtApi"));
              env.Expect(get != nullptr && get() == env.api(), "the second handle gives another table");
              dlclose(again);
              auto args = New<PJRT_Plugin_Attributes_Args>();
              env.Ok(args);
            });
  suite.Add("load.major_version", Needs::kTable, "The major version is 0", kHeader,
            [](Env& env) { env.Equal(env.api()->pjrt_api_version.major_version, 0, "major version"); });
  suite.Add("load.minor_version", Needs::kTable, "The minor version is at least 29, the oldest that JAX accepts",
            kClients, [](Env& env) {
              env.Expect(env.minor() >= 29, "minor version " + std::to_string(env.minor()));
              env.Expect(env.minor() < 10000, "minor version " + std::to_string(env.minor()));
            });
  suite.Add("load.version_struct_size", Needs::kTable, "pjrt_api_version.struct_size is 24 or more", kHeader,
            [](Env& env) {
              env.Expect(env.api()->pjrt_api_version.struct_size >= PJRT_Api_Version_STRUCT_SIZE, "it is less");
            });
  suite.Add("load.table_covers_version", Needs::kTable,
            "struct_size of the table reaches every entry that the minor version promises", kHeader, [](Env& env) {
              for (const FunctionInfo& f : kFunctions) {
                if (f.since > env.minor()) continue;
                env.Expect(env.api()->struct_size >= f.offset + sizeof(void*),
                           std::string(f.name) + " lies beyond struct_size");
              }
            });
  suite.Add("load.no_null_entry", Needs::kTable,
            "No entry that the minor version promises is NULL: clients do not check", kClients, [](Env& env) {
              std::string missing;
              for (const FunctionInfo& f : kFunctions) {
                if (f.since > env.minor() || env.api()->struct_size < f.offset + sizeof(void*)) continue;
                void* slot;
                std::memcpy(&slot, reinterpret_cast<const char*>(env.api()) + f.offset, sizeof(slot));
                if (slot == nullptr) missing += std::string(missing.empty() ? "" : ", ") + f.name;
              }
              env.Expect(missing.empty(), "NULL: " + missing);
            });
  suite.Add("load.extensions_well_formed", Needs::kTable,
            "The chain of extensions ends, and each has a size and a known or later type", kHeader, [](Env& env) {
              std::set<const PJRT_Extension_Base*> seen;
              for (const PJRT_Extension_Base* e = env.api()->extension_start; e != nullptr; e = e->next) {
                env.Expect(seen.insert(e).second, "the chain is a circle");
                env.Expect(e->struct_size >= sizeof(PJRT_Extension_Base), "an extension has a struct_size below 24");
                env.Expect(TypeOf(*e) < 1000, "an extension has a nonsensical type");
              }
            });
  suite.Add("load.initialize", Needs::kTable, "PJRT_Plugin_Initialize succeeds, or says why the plugin cannot run here",
            kHeader, [](Env& env) {
              auto args = New<PJRT_Plugin_Initialize_Args>();
              Status status = env.Try(args);
              if (!status.ok() && !env.profile().device) return;
              env.Expect(status.ok(), status.ToString());
            });
  suite.Add("load.initialize_twice", Needs::kTable, "A second PJRT_Plugin_Initialize does no harm",
            "observed in XLA's plugins", [](Env& env) {
              auto args = New<PJRT_Plugin_Initialize_Args>();
              Status first = env.Try(args);
              Status second = env.Try(args);
              env.Expect(first.code() == second.code(), "first " + first.ToString() + ", then " + second.ToString());
            });
  suite.Add("load.attributes", Needs::kTable, "PJRT_Plugin_Attributes succeeds; its names are unique and not empty",
            kClients, [](Env& env) {
              auto args = New<PJRT_Plugin_Attributes_Args>();
              env.Ok(args);
              env.Expect(args.num_attributes == 0 || args.attributes != nullptr, "the array is NULL");
              std::set<std::string> names;
              for (size_t i = 0; i < args.num_attributes; ++i) {
                const PJRT_NamedValue& value = args.attributes[i];
                std::string name(value.name, value.name_size);
                env.Expect(!name.empty(), "an attribute has no name");
                env.Expect(names.insert(name).second, "two attributes are called " + name);
                env.Expect(value.type <= PJRT_NamedValue_kBool, name + " has an unknown kind");
              }
            });
  suite.Add("load.attributes_stable", Needs::kTable, "Plugin attributes live as long as the process and do not change",
            kHeader, [](Env& env) {
              auto first = New<PJRT_Plugin_Attributes_Args>();
              auto second = New<PJRT_Plugin_Attributes_Args>();
              env.Ok(first);
              env.Ok(second);
              env.Equal(second.num_attributes, first.num_attributes, "number of attributes");
              for (size_t i = 0; i < first.num_attributes; ++i) {
                env.Expect(std::string_view(first.attributes[i].name, first.attributes[i].name_size) ==
                               std::string_view(second.attributes[i].name, second.attributes[i].name_size),
                           "the names differ");
              }
            });
  suite.Add("load.attribute_stablehlo_current", Needs::kTable, "stablehlo_current_version is a list of three int64",
            kClients, [](Env& env) { ExpectVersion(env, "stablehlo_current_version"); });
  suite.Add("load.attribute_stablehlo_minimum", Needs::kTable, "stablehlo_minimum_version is a list of three int64",
            kClients, [](Env& env) { ExpectVersion(env, "stablehlo_minimum_version"); });
  suite.Add("load.attribute_xla_version", Needs::kTable, "xla_version is an int64", "upstream's PluginAttributes test",
            [](Env& env) {
              const PJRT_NamedValue* value = FindAttribute(env, "xla_version");
              env.Expect(value != nullptr, "the attribute xla_version is missing");
              env.Expect(value->type == PJRT_NamedValue_kInt64, "xla_version is not an int64");
            });
  suite.Add("load.attribute_order", Needs::kTable, "The minimum StableHLO version is not above the current one",
            kHeader, [](Env& env) {
              const PJRT_NamedValue* current = FindAttribute(env, "stablehlo_current_version");
              const PJRT_NamedValue* minimum = FindAttribute(env, "stablehlo_minimum_version");
              env.Expect(
                  current != nullptr && minimum != nullptr && current->value_size == 3 && minimum->value_size == 3,
                  "a version is missing");
              std::vector<int64_t> low(minimum->int64_array_value, minimum->int64_array_value + 3);
              std::vector<int64_t> high(current->int64_array_value, current->int64_array_value + 3);
              env.Expect(low <= high, "the minimum is above the current version");
            });
  suite.Add("load.no_device_is_an_error", Needs::kAbsent,
            "Without its device, PJRT_Client_Create fails with an error that says so", kRobust, [](Env& env) {
              Status status = env.ClientStatus();
              env.Expect(!status.ok(), "the client was created");
              env.Expect(status.message().size() >= 10, "the message is '" + std::string(status.message()) + "'");
            });
  suite.Add("load.no_device_again", Needs::kAbsent, "A failed PJRT_Client_Create may be repeated", kRobust,
            [](Env& env) {
              (void)env.ClientStatus();
              auto args = New<PJRT_Client_Create_Args>();
              env.Fails(args, {}, "there is no device");
            });
}

}  // namespace tenon::conformance
