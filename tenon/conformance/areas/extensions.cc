// Extensions: layouts, shardings, memory descriptions, FFI, profiler. A plugin needs none of them; those that it has
// must work.
#include <string>
#include <vector>

#include "tenon/abi/pjrt_ffi.h"
#include "tenon/abi/pjrt_layouts.h"
#include "tenon/abi/pjrt_memory_descriptions.h"
#include "tenon/abi/pjrt_profiler.h"
#include "tenon/abi/pjrt_shardings.h"
#include "tenon/conformance/areas/extension_calls.h"
#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

const PJRT_Layouts_Extension& Layouts(Env& env) {
  return Find<PJRT_Layouts_Extension>(env, PJRT_Extension_Type_Layouts, "layouts");
}

std::string LayoutText(Env& env, PJRT_Layouts_MemoryLayout* layout) {
  const PJRT_Layouts_Extension& e = Layouts(env);
  auto args = NewArgs<PJRT_Layouts_MemoryLayout_Serialize_Args>(PJRT_Layouts_MemoryLayout_Serialize_Args_STRUCT_SIZE);
  args.layout = layout;
  Check(env, Get(env, e, &PJRT_Layouts_Extension::PJRT_Layouts_MemoryLayout_Serialize, "MemoryLayout_Serialize")(&args),
        "MemoryLayout_Serialize");
  std::string text(args.serialized_bytes, args.serialized_bytes_size);
  env.Expect(args.serialized_layout_deleter != nullptr, "no deleter");
  args.serialized_layout_deleter(args.serialized_layout);
  return text;
}

void DestroyLayout(Env& env, PJRT_Layouts_MemoryLayout* layout) {
  auto args = NewArgs<PJRT_Layouts_MemoryLayout_Destroy_Args>(PJRT_Layouts_MemoryLayout_Destroy_Args_STRUCT_SIZE);
  args.layout = layout;
  Check(env, Layouts(env).PJRT_Layouts_MemoryLayout_Destroy(&args), "MemoryLayout_Destroy");
}

// "{1,0}" begins a text of a layout of two dimensions whose last one is fastest; tiles and memory spaces may follow.
void ExpectBegins(Env& env, const std::string& text, std::string_view begin) {
  env.Expect(text.rfind(begin.substr(0, begin.size() - 1), 0) == 0,
             "the layout is '" + text + "', wanted " + std::string(begin));
}

}  // namespace

void AddExtensionTests(Suite& suite) {
  suite.Add("extensions.no_duplicates", Needs::kTable, "Each type of extension appears once", kClients, [](Env& env) {
    for (const PJRT_Extension_Base* a = env.api()->extension_start; a != nullptr; a = a->next) {
      for (const PJRT_Extension_Base* b = a->next; b != nullptr; b = b->next)
        env.Expect(TypeOf(*a) != TypeOf(*b), "type " + std::to_string(TypeOf(*a)) + " appears twice");
    }
  });
  suite.Add("extensions.layouts_size", Needs::kTable,
            "From 0.93 on the layouts extension reaches GetParameterLayouts, which JAX calls", kClients, [](Env& env) {
              const PJRT_Layouts_Extension& e = Layouts(env);
              if (env.minor() >= 93)
                env.Expect(e.base.struct_size >= PJRT_Layouts_Extension_STRUCT_SIZE,
                           "its struct_size is " + std::to_string(e.base.struct_size));
              env.Expect(e.base.struct_size >= 56, "its struct_size is " + std::to_string(e.base.struct_size));
            });
  suite.Add("extensions.layouts_buffer", Needs::kClient, "The layouts extension gives a buffer's layout as text",
            kHeader, [](Env& env) {
              std::vector<float> values(6);
              Buffer buffer = env.Upload<float>(values, {2, 3});
              auto args = NewArgs<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args>(
                  PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args_STRUCT_SIZE);
              args.buffer = buffer;
              Check(env,
                    Get(env, Layouts(env), &PJRT_Layouts_Extension::PJRT_Layouts_PJRT_Buffer_MemoryLayout,
                        "Buffer_MemoryLayout")(&args),
                    "Buffer_MemoryLayout");
              ExpectBegins(env, LayoutText(env, args.layout), "{1,0}");
              DestroyLayout(env, args.layout);
            });
  suite.Add("extensions.layouts_buffer_column", Needs::kClient, "The layout of a column-major buffer says so", kHeader,
            [](Env& env) {
              std::vector<float> values(6);
              std::vector<int64_t> order;
              PJRT_Buffer_MemoryLayout layout = ColumnMajor(2, &order);
              Buffer buffer = env.Upload<float>(values, {2, 3}, {.layout = &layout});
              auto args = NewArgs<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args>(
                  PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args_STRUCT_SIZE);
              args.buffer = buffer;
              Check(env,
                    Get(env, Layouts(env), &PJRT_Layouts_Extension::PJRT_Layouts_PJRT_Buffer_MemoryLayout,
                        "Buffer_MemoryLayout")(&args),
                    "Buffer_MemoryLayout");
              ExpectBegins(env, LayoutText(env, args.layout), "{0,1}");
              DestroyLayout(env, args.layout);
            });
  suite.Add("extensions.layouts_client_default", Needs::kClient, "The client's default layout of a matrix is row-major",
            kHeader, [](Env& env) {
              const int64_t dims[] = {2, 3};
              auto args = NewArgs<PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args>(
                  PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args_STRUCT_SIZE);
              args.client = env.client();
              args.type = PJRT_Buffer_Type_F32;
              args.dims = dims;
              args.num_dims = 2;
              Check(env,
                    Get(env, Layouts(env), &PJRT_Layouts_Extension::PJRT_Layouts_PJRT_Client_GetDefaultLayout,
                        "Client_GetDefaultLayout")(&args),
                    "Client_GetDefaultLayout");
              ExpectBegins(env, LayoutText(env, args.layout), "{1,0}");
              DestroyLayout(env, args.layout);
            });
  suite.Add("extensions.layouts_topology_default", Needs::kTopology,
            "A topology's default layout of a matrix has both dimensions", kHeader, [](Env& env) {
              Topology owned;
              const int64_t dims[] = {8, 128};
              auto args = NewArgs<PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args>(
                  PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args_STRUCT_SIZE);
              args.topology_description = env.AnyTopology(&owned);
              args.type = PJRT_Buffer_Type_F32;
              args.dims = dims;
              args.num_dims = 2;
              Check(env,
                    Get(env, Layouts(env), &PJRT_Layouts_Extension::PJRT_Layouts_PJRT_Topology_GetDefaultLayout,
                        "Topology_GetDefaultLayout")(&args),
                    "Topology_GetDefaultLayout");
              ExpectBegins(env, LayoutText(env, args.layout), "{1,0}");
              DestroyLayout(env, args.layout);
            });
  suite.Add("extensions.layouts_executable", Needs::kClient,
            "Output and parameter layouts of an executable are one per value", kHeader, [](Env& env) {
              Loaded loaded = env.Compile(kPairProgram);
              Executable executable = env.GetExecutable(loaded);
              auto outputs = NewArgs<PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args>(
                  PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args_STRUCT_SIZE);
              outputs.executable = executable;
              Check(env,
                    Get(env, Layouts(env), &PJRT_Layouts_Extension::PJRT_Layouts_PJRT_Executable_GetOutputLayouts,
                        "GetOutputLayouts")(&outputs),
                    "GetOutputLayouts");
              env.Equal(outputs.num_outputs, 2, "outputs");
              for (size_t i = 0; i < 2; ++i) ExpectBegins(env, LayoutText(env, outputs.layouts[i]), "{0}");
              auto parameters = NewArgs<PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args>(
                  PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args_STRUCT_SIZE);
              parameters.executable = executable;
              Check(env,
                    Get(env, Layouts(env), &PJRT_Layouts_Extension::PJRT_Layouts_PJRT_Executable_GetParameterLayouts,
                        "GetParameterLayouts")(&parameters),
                    "GetParameterLayouts");
              env.Equal(parameters.num_parameters, 2, "parameters");
              for (size_t i = 0; i < 2; ++i) ExpectBegins(env, LayoutText(env, parameters.layouts[i]), "{0}");
            });
  suite.Add("extensions.shardings", Needs::kClient, "Shardings are one per value, or none when not known", kHeader,
            [](Env& env) {
              const auto& e = Find<PJRT_Shardings_Extension>(env, PJRT_Extension_Type_Shardings, "shardings");
              Loaded loaded = env.Compile(kPairProgram);
              Executable executable = env.GetExecutable(loaded);
              auto outputs = NewArgs<PJRT_Shardings_PJRT_Executable_OutputShardings_Args>(
                  PJRT_Shardings_PJRT_Executable_OutputShardings_Args_STRUCT_SIZE);
              outputs.executable = executable;
              Check(env,
                    Get(env, e, &PJRT_Shardings_Extension::PJRT_Shardings_PJRT_Executable_OutputShardings,
                        "OutputShardings")(&outputs),
                    "OutputShardings");
              env.Expect(outputs.shardings == nullptr || outputs.num_outputs == 2, "neither none nor two");
              auto parameters = NewArgs<PJRT_Shardings_PJRT_Executable_ParameterShardings_Args>(
                  PJRT_Shardings_PJRT_Executable_ParameterShardings_Args_STRUCT_SIZE);
              parameters.executable = executable;
              Check(env,
                    Get(env, e, &PJRT_Shardings_Extension::PJRT_Shardings_PJRT_Executable_ParameterShardings,
                        "ParameterShardings")(&parameters),
                    "ParameterShardings");
              env.Expect(parameters.shardings == nullptr || parameters.num_parameters == 2, "neither none nor two");
            });
  suite.Add("extensions.memory_descriptions", Needs::kTopology,
            "Descriptions of a topology's devices name memories; the default is one of them",
            "upstream's MemoryDescriptions test", [](Env& env) {
              const auto& e = Find<PJRT_MemoryDescriptions_Extension>(env, PJRT_Extension_Type_MemoryDescriptions,
                                                                      "memory descriptions");
              Topology owned;
              auto devices = New<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
              devices.topology = env.AnyTopology(&owned);
              env.Ok(devices);
              auto args = NewArgs<PJRT_DeviceDescription_MemoryDescriptions_Args>(
                  PJRT_DeviceDescription_MemoryDescriptions_Args_STRUCT_SIZE);
              args.device_description = devices.descriptions[0];
              Check(env, e.PJRT_DeviceDescription_MemoryDescriptions(&args), "MemoryDescriptions");
              env.Expect(args.num_memory_descriptions > 0, "there are none");
              env.Expect(args.default_memory_index == static_cast<size_t>(-1) ||
                             args.default_memory_index < args.num_memory_descriptions,
                         "the default is not among them");
              for (size_t i = 0; i < args.num_memory_descriptions; ++i) {
                auto kind = NewArgs<PJRT_MemoryDescription_Kind_Args>(PJRT_MemoryDescription_Kind_Args_STRUCT_SIZE);
                kind.memory_description = args.memory_descriptions[i];
                Check(env, e.PJRT_MemoryDescription_Kind(&kind), "MemoryDescription_Kind");
                env.Expect(kind.kind_size > 0, "a kind is empty");
              }
            });
  suite.Add("extensions.ffi_types", Needs::kTable, "The FFI extension gives a type one id, however often it is asked",
            kHeader, [](Env& env) {
              const auto& e = Find<PJRT_FFI_Extension>(env, PJRT_Extension_Type_FFI, "FFI");
              auto first = NewArgs<PJRT_FFI_Type_Register_Args>(PJRT_FFI_Type_Register_Args_STRUCT_SIZE);
              static PJRT_FFI_Type_Info info;
              std::memset(static_cast<void*>(&info), 0, sizeof(info));
              first.type_info = &info;
              first.type_name = "conformance.type";
              first.type_name_size = 16;
              auto second = first;
              Check(env, Get(env, e, &PJRT_FFI_Extension::type_register, "type_register")(&first), "type_register");
              env.Expect(first.type_id != 0, "the id is 0");
              second.type_id = first.type_id;
              Check(env, e.type_register(&second), "type_register");
              env.Equal(second.type_id, first.type_id, "id");
            });
  suite.Add("extensions.ffi_user_data", Needs::kClient, "User data of a context is freed with it", kHeader,
            [](Env& env) {
              const auto& e = Find<PJRT_FFI_Extension>(env, PJRT_Extension_Type_FFI, "FFI");
              static int freed;
              freed = 0;
              static PJRT_FFI_Type_Info info;
              std::memset(static_cast<void*>(&info), 0, sizeof(info));
              info.deleter = [](void* data) { ++*static_cast<int*>(data); };
              auto type = NewArgs<PJRT_FFI_Type_Register_Args>(PJRT_FFI_Type_Register_Args_STRUCT_SIZE);
              type.type_name = "conformance.user_data";
              type.type_name_size = 21;
              type.type_info = &info;
              Check(env, Get(env, e, &PJRT_FFI_Extension::type_register, "type_register")(&type), "type_register");
              auto create = New<PJRT_ExecuteContext_Create_Args>();
              env.Ok(create);
              Handle<PJRT_ExecuteContext> context(env, create.context);
              auto add = NewArgs<PJRT_FFI_UserData_Add_Args>(PJRT_FFI_UserData_Add_Args_STRUCT_SIZE);
              add.context = context;
              add.user_data.type_id = type.type_id;
              add.user_data.data = &freed;
              Check(env, Get(env, e, &PJRT_FFI_Extension::user_data_add, "user_data_add")(&add), "user_data_add");
              env.Equal(freed, 0, "deletions while the context lives");
              context.Reset();
              env.Equal(freed, 1, "deletions after the context went");
            });
  suite.Add(
      "extensions.profiler", Needs::kTable, "The profiler makes, starts, stops and gives data in two calls", kHeader,
      [](Env& env) {
        const auto& e = Find<PJRT_Profiler_Extension>(env, PJRT_Extension_Type_Profiler, "profiler");
        const PLUGIN_Profiler_Api* profiler = e.profiler_api;
        env.Expect(profiler != nullptr, "profiler_api is NULL");
        auto take = [&](PLUGIN_Profiler_Error* error, const char* what) {
          if (error == nullptr) return;
          auto message = NewArgs<PLUGIN_Profiler_Error_Message_Args>(PLUGIN_Profiler_Error_Message_Args_STRUCT_SIZE);
          message.error = error;
          profiler->error_message(&message);
          std::string text(message.message, message.message_size);
          auto destroy = NewArgs<PLUGIN_Profiler_Error_Destroy_Args>(PLUGIN_Profiler_Error_Destroy_Args_STRUCT_SIZE);
          destroy.error = error;
          profiler->error_destroy(&destroy);
          env.Fail(std::string(what) + " failed: " + text);
        };
        auto create = NewArgs<PLUGIN_Profiler_Create_Args>(PLUGIN_Profiler_Create_Args_STRUCT_SIZE);
        take(profiler->create(&create), "create");
        auto start = NewArgs<PLUGIN_Profiler_Start_Args>(PLUGIN_Profiler_Start_Args_STRUCT_SIZE);
        start.profiler = create.profiler;
        take(profiler->start(&start), "start");
        auto stop = NewArgs<PLUGIN_Profiler_Stop_Args>(PLUGIN_Profiler_Stop_Args_STRUCT_SIZE);
        stop.profiler = create.profiler;
        take(profiler->stop(&stop), "stop");
        auto collect = NewArgs<PLUGIN_Profiler_CollectData_Args>(PLUGIN_Profiler_CollectData_Args_STRUCT_SIZE);
        collect.profiler = create.profiler;
        take(profiler->collect_data(&collect), "collect_data");
        std::vector<uint8_t> data(collect.buffer_size_in_bytes + 1);
        collect.buffer = data.data();
        take(profiler->collect_data(&collect), "collect_data");
        auto destroy = NewArgs<PLUGIN_Profiler_Destroy_Args>(PLUGIN_Profiler_Destroy_Args_STRUCT_SIZE);
        destroy.profiler = create.profiler;
        take(profiler->destroy(&destroy), "destroy");
      });
  suite.Add("extensions.unknown_args_extension", Needs::kClient,
            "An unknown extension that hangs on arguments is ignored", kHeader, [](Env& env) {
              PJRT_Extension_Base unknown = {sizeof(PJRT_Extension_Base), PJRT_Extension_Type_Unknown, nullptr};
              Loaded loaded = env.Compile(kAddOneProgram);
              auto args = New<PJRT_LoadedExecutable_IsDeleted_Args>();
              args.extension_start = &unknown;
              args.executable = loaded;
              env.Ok(args);
              PJRT_ExecuteOptions options = NewExecuteOptions();
              options.extension_start = &unknown;
              Buffer a = env.Four();
              env.ExpectValues(env.Execute(loaded, {a}, &options)[0], {2, 3, 4, 5});
            });
}

}  // namespace tenon::conformance
