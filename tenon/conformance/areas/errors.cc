// Errors: codes, texts, freeing, payloads, tables of functions.
#include <string>
#include <thread>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

// An error that every plugin can make: a format of programs that nobody has.
PJRT_Error* MakeError(Env& env) {
  PJRT_Program program = NewProgram("nothing", "no such format");
  auto args = New<PJRT_Client_Compile_Args>();
  args.client = env.client();
  args.program = &program;
  args.compile_options = Env::kOneDevice.data();
  args.compile_options_size = Env::kOneDevice.size();
  PJRT_Error* error = env.Raw(args);
  env.Expect(error != nullptr, "a program of no known format was compiled");
  return error;
}

std::string Message(Env& env, PJRT_Error* error) {
  auto args = New<PJRT_Error_Message_Args>();
  args.error = error;
  env.api()->PJRT_Error_Message(&args);
  env.Expect(args.message_size == 0 || args.message != nullptr, "the message is NULL");
  return std::string(args.message, args.message_size);
}

void Free(Env& env, PJRT_Error* error) {
  auto args = New<PJRT_Error_Destroy_Args>();
  args.error = error;
  env.api()->PJRT_Error_Destroy(&args);
}

}  // namespace

void AddErrorTests(Suite& suite) {
  suite.Add("errors.destroy_null", Needs::kTable, "PJRT_Error_Destroy of NULL does nothing", kReference,
            [](Env& env) { Free(env, nullptr); });
  suite.Add("errors.message", Needs::kClient, "An error has a text that is not empty", kHeader, [](Env& env) {
    PJRT_Error* error = MakeError(env);
    std::string message = Message(env, error);
    Free(env, error);
    env.Expect(!message.empty(), "the text is empty");
  });
  suite.Add("errors.message_twice", Needs::kClient,
            "The text of an error stays where it is until the error is destroyed", kHeader, [](Env& env) {
              PJRT_Error* error = MakeError(env);
              std::string first = Message(env, error), second = Message(env, error);
              Free(env, error);
              env.Expect(first == second, "the second text differs");
            });
  suite.Add("errors.code", Needs::kClient, "An unknown program format gives INVALID_ARGUMENT", kReference,
            [](Env& env) {
              Status status = env.Take(MakeError(env));
              env.Expect(status.code() == Code::kInvalidArgument, "got " + status.ToString());
            });
  suite.Add("errors.names_the_culprit", Needs::kClient, "The text names the format that was not known",
            "upstream's CompileInvalidProgramFormat test", [](Env& env) {
              Status status = env.Take(MakeError(env));
              env.Expect(status.message().find("no such format") != std::string_view::npos, "got " + status.ToString());
            });
  suite.Add("errors.fresh_objects", Needs::kClient, "Each failing call makes an error of its own", kHeader,
            [](Env& env) {
              PJRT_Error* first = MakeError(env);
              PJRT_Error* second = MakeError(env);
              env.Expect(first != second, "two calls returned the same error");
              Free(env, first);
              env.Expect(!Message(env, second).empty(), "the second error went with the first");
              Free(env, second);
            });
  suite.Add("errors.free_on_another_thread", Needs::kClient, "An error may be destroyed on another thread", kHeader,
            [](Env& env) {
              PJRT_Error* error = MakeError(env);
              std::thread([&] { Free(env, error); }).join();
            });
  suite.Add("errors.after_client", Needs::kClient, "An error outlives the client that it came from", kRobust,
            [](Env& env) {
              Client client = env.NewClient();
              auto args = New<PJRT_Client_LookupDevice_Args>();
              args.client = client;
              args.id = -7;
              PJRT_Error* error = env.Raw(args);
              env.Expect(error != nullptr, "device -7 was found");
              client.Reset();
              std::string message = Message(env, error);
              Free(env, error);
              env.Expect(!message.empty(), "the text is empty");
            });
  suite.Add("errors.payload_visitor", Needs::kClient, "PJRT_Error_ForEachPayload succeeds on an error without payloads",
            kHeader, [](Env& env) {
              PJRT_Error* error = MakeError(env);
              int calls = 0;
              auto args = New<PJRT_Error_ForEachPayload_Args>();
              args.error = error;
              args.user_arg = &calls;
              args.visitor = [](const char*, size_t, const char*, size_t, void* user) { ++*static_cast<int*>(user); };
              if (!env.Supports<PJRT_Error_ForEachPayload_Args>()) Free(env, error);
              Status status = env.Try(args);
              Free(env, error);
              env.Expect(status.ok(), status.ToString());
            });
  suite.Add("errors.payload_null_visitor", Needs::kClient,
            "PJRT_Error_ForEachPayload without a visitor gives INVALID_ARGUMENT", kReference, [](Env& env) {
              if (!env.Supports<PJRT_Error_ForEachPayload_Args>()) env.Unsupported("not in the table");
              PJRT_Error* error = MakeError(env);
              auto args = New<PJRT_Error_ForEachPayload_Args>();
              args.error = error;
              Status status = env.Try(args);
              Free(env, error);
              env.Expect(status.code() == Code::kInvalidArgument, "got " + status.ToString());
            });
  suite.Add("errors.vtable", Needs::kClient, "From 0.110 on an error begins with a filled table of functions", kHeader,
            [](Env& env) {
              if (env.minor() < 110) env.Unsupported("the plugin is older than 0.110");
              PJRT_Error* error = MakeError(env);
              const PJRT_Error_FunctionTable* table = error->vtable;
              env.Expect(table != nullptr, "the first word is NULL");
              env.Expect(table->struct_size >= PJRT_Error_FunctionTable_STRUCT_SIZE,
                         "struct_size of the table is too small");
              env.Expect(table->destroy != nullptr && table->message != nullptr && table->get_code != nullptr &&
                             table->for_each_payload != nullptr,
                         "a function is NULL");
              const char* text = nullptr;
              size_t size = 0;
              table->message(error, &text, &size);
              std::string through_table(text, size);
              std::string direct = Message(env, error);
              PJRT_Error_Code code = table->get_code(error);
              table->destroy(error);
              env.Expect(through_table == direct, "the table gives another text");
              env.Equal(code, PJRT_Error_Code_INVALID_ARGUMENT, "code");
            });
  suite.Add("errors.vtable_payloads", Needs::kClient, "The error's own for_each_payload visits what the error carries",
            kHeader, [](Env& env) {
              if (env.minor() < 110) env.Unsupported("the plugin is older than 0.110");
              PJRT_Error* error = MakeError(env);
              int calls = 0;
              error->vtable->for_each_payload(
                  error, [](const char*, size_t, const char*, size_t, void* user) { ++*static_cast<int*>(user); },
                  &calls);
              error->vtable->destroy(error);
              env.Equal(calls, 0, "payloads");
            });
}

}  // namespace tenon::conformance
