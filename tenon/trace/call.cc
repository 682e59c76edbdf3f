#include "tenon/trace/call.h"

#include <array>
#include <cstring>

#include "tenon/base/dtype.h"
#include "tenon/trace/capture.h"
#include "tenon/trace/error.h"
#include "tenon/trace/objects.h"
#include "tenon/trace/recorder.h"
#include "tenon/trace/session.h"

namespace tenon::trace {
namespace {

template <class T>
T Load(const void* args, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(args) + offset, sizeof(T));
  return value;
}

std::string HandleText(const HandleInfo& info) {
  return std::string(KindName(info.kind)) + "#" + std::to_string(info.serial);
}

// The arguments of one call as far as they were looked at before it.
struct Arguments {
  static constexpr size_t kMostHandles = 8;

  char* args = nullptr;
  size_t valid = 0;  // bytes that both sides know
  struct Handle {
    uint8_t field;
    HandleInfo info;
  };
  std::array<Handle, kMostHandles> handles;
  size_t num_handles = 0;
  bool changes_bytes = false;

  bool Has(const Field& field) const { return field.offset + field.size <= valid; }
  const HandleInfo* Find(HandleKind kind) const {
    for (size_t i = 0; i < num_handles; ++i) {
      if (handles[i].info.kind == kind) return &handles[i].info;
    }
    return nullptr;
  }
};

// Why a call is not forwarded.
struct Refusal {
  bool refused = false;
  std::string why;
};

bool Shielded(const Session& session) { return Options().shield && !session.unseen_creators; }

void CheckStructSize(int id, const Function& function, size_t size) {
  if (function.sizes.empty()) return;
  for (const uint16_t known : function.sizes) {
    if (size == known) return;
  }
  // Newer callers have longer structs.
  constexpr size_t kPlausible = 4096;
  if (size > function.struct_size && size <= kPlausible) return;
  ReportMisuse(Misuse::kWrongStructSize, id,
               std::string(function.args_name) + ".struct_size is " + std::to_string(size) +
                   "; callers of 0.117 set it to " + std::to_string(function.struct_size));
}

// Looks at the handles among the inputs and tells of misuse.
void Inspect(const Session& session, int id, const Function& function, Arguments& arguments, Refusal& refusal) {
  bool first = true;
  for (size_t i = 0; i < function.fields.size(); ++i) {
    const Field& field = function.fields[i];
    if (field.direction != Direction::kIn || !arguments.Has(field)) continue;
    if (field.size != sizeof(void*) || field.type == FieldType::kSigned || field.type == FieldType::kUnsigned ||
        field.type == FieldType::kOpaque) {
      continue;
    }
    void* pointer = Load<void*>(arguments.args, field.offset);
    if (pointer == nullptr) {
      bool wrong = field.required;
      if (field.count_offset != 0 && field.count_offset + sizeof(size_t) <= arguments.valid &&
          id != k_PJRT_Buffer_ToHostBuffer) {
        wrong |= Load<size_t>(arguments.args, field.count_offset) != 0;
      }
      if (wrong) {
        ReportMisuse(Misuse::kNullArgument, id, std::string(field.name) + " is NULL");
        if (Options().shield) refusal = {true, std::string(field.name) + " is NULL"};
      }
      first = false;
      continue;
    }
    if (field.type != FieldType::kHandle || field.kind > HandleKind::kLast) {
      first = false;
      continue;
    }
    Handles& handles = Handles::Get();
    HandleInfo info;
    const bool gives_back = first && function.effect != Effect::kNone;
    if (id == k_PJRT_Client_FulfillAliasBuffer && field.kind == HandleKind::kAliasPromise) {
      info = handles.Destroyed(pointer, field.kind);
    } else if (!gives_back || refusal.refused) {
      info = handles.Find(pointer, field.kind);
    } else if (function.effect == Effect::kDestroys) {
      // Before the call: as soon as the plugin has freed it, another thread may get the same address.
      info = handles.Destroyed(pointer, field.kind);
    } else {
      info = handles.Deleted(pointer, field.kind);
    }
    arguments.changes_bytes |= gives_back && field.kind == HandleKind::kBuffer;
    first = false;
    if (arguments.num_handles < Arguments::kMostHandles) {
      arguments.handles[arguments.num_handles++] = {static_cast<uint8_t>(i), info};
    }
    if (info.state == HandleInfo::kDestroyed) {
      const bool twice = gives_back && function.effect == Effect::kDestroys;
      const std::string what =
          std::string(field.name) + " is " + HandleText(info) +
          (Shielded(session) ? ", which was destroyed before" : ", which seems to have been destroyed before");
      ReportMisuse(twice ? Misuse::kDoubleDestroy : Misuse::kUseAfterDestroy, id, what);
      if (Shielded(session)) refusal = {true, what};
    } else if (info.state == HandleInfo::kDeleted && function.reads_data) {
      ReportMisuse(Misuse::kUseAfterDelete, id,
                   std::string(field.name) + " is " + HandleText(info) + ", which was deleted");
    }
  }
  if (id == k_PJRT_Event_Error && !refusal.refused && arguments.num_handles == 1 && !arguments.handles[0].info.ready &&
      Has(session, &PJRT_Api::PJRT_Event_IsReady)) {
    auto* event = Load<PJRT_Event*>(arguments.args, offsetof(PJRT_Event_Error_Args, event));
    if (!AskReady(session, event)) {
      const std::string what =
          HandleText(arguments.handles[0].info) + " has not fired; wait for it before its error is read";
      ReportMisuse(Misuse::kErrorBeforeReady, id, what);
      if (Shielded(session)) refusal = {true, what};
    }
  }
}

// The arguments of an execution, which lie in arrays of arrays.
void InspectExecution(const Session& session, const Arguments& arguments, RecordBuilder* record, Refusal& refusal) {
  if (arguments.valid < offsetof(PJRT_LoadedExecutable_Execute_Args, device_complete_events)) return;
  const auto* args = reinterpret_cast<const PJRT_LoadedExecutable_Execute_Args*>(arguments.args);
  if (args->argument_lists == nullptr || args->num_args == 0) return;
  constexpr size_t kMostRecorded = 16;
  size_t recorded = 0;
  for (size_t d = 0; d < args->num_devices; ++d) {
    if (args->argument_lists[d] == nullptr) continue;
    for (size_t i = 0; i < args->num_args; ++i) {
      if (record != nullptr && recorded >= kMostRecorded) return;
      const HandleInfo info = Handles::Get().Find(args->argument_lists[d][i], HandleKind::kBuffer);
      if (record != nullptr) {
        record->Handle(kArguments, info, Role::kUsed);
        ++recorded;
        continue;
      }
      if (info.state != HandleInfo::kDestroyed && info.state != HandleInfo::kDeleted) continue;
      const bool destroyed = info.state == HandleInfo::kDestroyed;
      const std::string what = "argument " + std::to_string(i) + " of device " + std::to_string(d) + " is " +
                               HandleText(info) + ", which was " + (destroyed ? "destroyed" : "deleted");
      ReportMisuse(destroyed ? Misuse::kUseAfterDestroy : Misuse::kUseAfterDelete, k_PJRT_LoadedExecutable_Execute,
                   what);
      if (destroyed && Shielded(session)) refusal = {true, what};
    }
  }
}

// Bytes of a buffer that a call made: by the shape among its arguments, or those of the buffer it copies.
uint64_t BytesMade(const Session& session, const Function& function, const Arguments& arguments, PJRT_Buffer* buffer) {
  int64_t elements = 1, width = -1;
  bool shape = false;
  for (const Field& field : function.fields) {
    if (field.direction != Direction::kIn || !arguments.Has(field)) continue;
    if (field.type == FieldType::kElementType) {
      width = DTypeBits(static_cast<DType>(Load<uint32_t>(arguments.args, field.offset)));
    } else if (field.type == FieldType::kInts && std::string_view(field.name).ends_with("dims") &&
               field.count_offset + sizeof(size_t) <= arguments.valid) {
      shape = true;
      const auto* dims = Load<const int64_t*>(arguments.args, field.offset);
      const auto rank = Load<size_t>(arguments.args, field.count_offset);
      for (size_t i = 0; i < rank; ++i) {
        if (__builtin_mul_overflow(elements, dims[i], &elements)) elements = 0;
      }
    }
  }
  if (shape && width >= 0) return static_cast<uint64_t>((elements * width + 7) / 8);
  if (const HandleInfo* source = arguments.Find(HandleKind::kBuffer)) return source->bytes;
  return AskBytes(session, buffer);
}

std::string NamedValuesText(const PJRT_NamedValue* values, size_t count) {
  std::string text;
  for (size_t i = 0; i < count && text.size() < 200; ++i) {
    const PJRT_NamedValue& value = values[i];
    if (i != 0) text += ", ";
    if (value.name != nullptr) text.append(value.name, value.name_size);
    text += '=';
    switch (NumberOf(value.type)) {
      case PJRT_NamedValue_kString:
        if (value.string_value != nullptr) text.append(value.string_value, value.value_size);
        break;
      case PJRT_NamedValue_kInt64:
        text += std::to_string(value.int64_value);
        break;
      case PJRT_NamedValue_kInt64List:
        text += "[" + std::to_string(value.value_size) + " integers]";
        break;
      case PJRT_NamedValue_kFloat:
        text += std::to_string(value.float_value);
        break;
      case PJRT_NamedValue_kBool:
        text += Load<uint8_t>(reinterpret_cast<const char*>(&value.bool_value), 0) != 0 ? "true" : "false";
        break;
      default:
        text += '?';
    }
  }
  return text;
}

// What pointers lead to, while it is there.
void AddPointees(RecordBuilder& record, const Function& function, const Arguments& arguments, bool failed) {
  for (size_t i = 0; i < function.fields.size(); ++i) {
    const Field& field = function.fields[i];
    if (!arguments.Has(field) || (failed && field.direction == Direction::kOut)) continue;
    const auto index = static_cast<uint8_t>(i);
    if (field.type == FieldType::kProgram) {
      const auto* program = Load<const PJRT_Program*>(arguments.args, field.offset);
      if (program == nullptr || program->struct_size < PJRT_Program_STRUCT_SIZE) continue;
      std::string text = program->format != nullptr ? std::string(program->format, program->format_size) : "";
      text += ", " + std::to_string(program->code_size) + " bytes";
      record.Text(ItemType::kText, index, text, 100);
      continue;
    }
    if (field.count_offset == 0 || field.count_offset + sizeof(size_t) > arguments.valid) continue;
    const auto* data = Load<const char*>(arguments.args, field.offset);
    const auto count = Load<size_t>(arguments.args, field.count_offset);
    if (data == nullptr) continue;
    if (field.type == FieldType::kText) {
      const std::string_view name = field.name;
      // Messages in binary form: a few bytes tell them apart.
      const bool binary = name.find("serialized") != name.npos || name.find("options") != name.npos ||
                          name.find("fingerprint") != name.npos;
      record.Text(ItemType::kText, index, {data, count}, binary ? 16 : 100);
    } else if (field.type == FieldType::kInts) {
      constexpr size_t kMost = 8;
      record.Item(ItemType::kInts, index, data, 8 * std::min(count, kMost), count);
    } else if (field.type == FieldType::kNamedValues && field.direction == Direction::kIn) {
      record.Text(ItemType::kText, index, NamedValuesText(reinterpret_cast<const PJRT_NamedValue*>(data), count), 200);
    }
  }
}

// Registers what a successful call made, and has events followed.
void AddCreated(const Session& session, int id, const Function& function, Arguments& arguments, uint64_t now,
                RecordBuilder& record) {
  if (id == k_PJRT_Buffer_ToHostBuffer && arguments.valid >= offsetof(PJRT_Buffer_ToHostBuffer_Args, dst_size) &&
      Load<void*>(arguments.args, offsetof(PJRT_Buffer_ToHostBuffer_Args, dst)) == nullptr) {
    return;  // Asked for the size: no event.
  }
  for (size_t i = 0; i < function.fields.size(); ++i) {
    const Field& field = function.fields[i];
    if (field.direction != Direction::kOut || field.type != FieldType::kHandle || field.kind > HandleKind::kLast ||
        field.count_offset != 0 || !arguments.Has(field)) {
      continue;
    }
    void* pointer = Load<void*>(arguments.args, field.offset);
    if (pointer == nullptr || function.borrowed_output) continue;
    const bool buffer = field.kind == HandleKind::kBuffer;
    const uint64_t bytes = buffer ? BytesMade(session, function, arguments, static_cast<PJRT_Buffer*>(pointer)) : 0;
    const HandleInfo info = Handles::Get().Created(pointer, field.kind, id, now, bytes);
    record.Handle(static_cast<uint8_t>(i), info, Role::kCreated);
    arguments.changes_bytes |= buffer;
    if (field.kind == HandleKind::kEvent && id != k_PJRT_Event_Create) {
      FollowEvent(session, static_cast<PJRT_Event*>(pointer), info);
    }
  }
}

// The same for the arrays that an execution fills.
void AddExecution(const Session& session, Arguments& arguments, uint64_t now, RecordBuilder& record) {
  Refusal unused;
  InspectExecution(session, arguments, &record, unused);
  if (arguments.valid < offsetof(PJRT_LoadedExecutable_Execute_Args, execute_device)) return;
  const auto* args = reinterpret_cast<const PJRT_LoadedExecutable_Execute_Args*>(arguments.args);
  const HandleInfo* executable = arguments.Find(HandleKind::kLoadedExecutable);
  const uint32_t serial = executable != nullptr ? executable->serial : 0;
  const int num_outputs = NumOutputs(session, args->executable, serial);
  for (size_t d = 0; d < args->num_devices; ++d) {
    if (args->output_lists != nullptr && args->output_lists[d] != nullptr) {
      for (int i = 0; i < num_outputs; ++i) {
        PJRT_Buffer* buffer = args->output_lists[d][i];
        const uint64_t bytes = OutputBytes(session, serial, i, buffer);
        const HandleInfo info =
            Handles::Get().Created(buffer, HandleKind::kBuffer, k_PJRT_LoadedExecutable_Execute, now, bytes);
        record.Handle(kOutputs, info, Role::kCreated);
        arguments.changes_bytes = true;
      }
    }
    if (args->device_complete_events != nullptr && args->device_complete_events[d] != nullptr) {
      PJRT_Event* event = args->device_complete_events[d];
      const HandleInfo info =
          Handles::Get().Created(event, HandleKind::kEvent, k_PJRT_LoadedExecutable_Execute, now, 0);
      record.Handle(kEvents, info, Role::kCreated);
      FollowEvent(session, event, info);
    }
  }
}

bool IsErrorFunction(int id) {
  return id == k_PJRT_Error_Destroy || id == k_PJRT_Error_Message || id == k_PJRT_Error_GetCode ||
         id == k_PJRT_Error_ForEachPayload;
}

PJRT_Error* CallFailing(const Session& session, int id, void* args) {
  if (IsErrorFunction(id)) return CallErrorFunction(nullptr, id, args);
  // Frameworks end the process when this one fails; Plugin_Initialize tells them why.
  if (id == k_PJRT_Plugin_Attributes) {
    auto* attributes = static_cast<PJRT_Plugin_Attributes_Args*>(args);
    attributes->attributes = nullptr;
    attributes->num_attributes = 0;
    return nullptr;
  }
  return MakeError(PJRT_Error_Code_UNAVAILABLE, session.failure, id);
}

}  // namespace

PJRT_Error* Call(int table, int id, void* args) {
  const Session& session = SessionOf(table);
  if (session.inner == nullptr) return CallFailing(session, id, args);
  const Function& function = FunctionOf(id);
  void* target = session.functions[id];
  const bool recording_now = Recording();
  if (args == nullptr) {
    ReportMisuse(Misuse::kNullArgument, id, "args is NULL");
    if (!recording_now || !Options().shield || id >= FirstUnknown()) return function.invoke(target, args);
    if (!function.returns_error || id == k_PJRT_Error_Destroy || id == k_PJRT_Error_Message) return nullptr;
    return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, std::string(function.name) + ": args is NULL", id);
  }
  if (!recording_now)
    return IsErrorFunction(id) ? CallErrorFunction(session.inner, id, args) : function.invoke(target, args);

  Arguments arguments;
  arguments.args = static_cast<char*>(args);
  Refusal refusal;
  const bool error_function = IsErrorFunction(id);
  if (id < FirstUnknown()) {
    const auto size = Load<size_t>(args, 0);
    arguments.valid = std::min<size_t>(size, function.struct_size);
    CheckStructSize(id, function, size);
    if (error_function) {
      void* handle = static_cast<PJRT_Error_Destroy_Args*>(args)->error;
      arguments.handles[arguments.num_handles++] = {0, Handles::Get().Find(handle, HandleKind::kError)};
    } else {
      Inspect(session, id, function, arguments, refusal);
    }
    if (id == k_PJRT_LoadedExecutable_Execute && !refusal.refused) {
      InspectExecution(session, arguments, nullptr, refusal);
    }
  }

  const uint64_t begin = Now();
  PJRT_Error* error;
  if (refusal.refused) {
    error = !function.returns_error
                ? nullptr
                : MakeError(PJRT_Error_Code_INVALID_ARGUMENT, std::string(function.name) + ": " + refusal.why, id);
  } else if (error_function) {
    error = CallErrorFunction(session.inner, id, args);
  } else if (id == k_PJRT_Event_OnReady && arguments.valid == PJRT_Event_OnReady_Args_STRUCT_SIZE) {
    error = ForwardOnReady(session, target, static_cast<PJRT_Event_OnReady_Args*>(args));
  } else {
    error = function.invoke(target, args);
  }
  const uint64_t end = Now();

  // What an unknown entry returns is not known either.
  if (id < FirstUnknown() && !refusal.refused && !error_function) error = WrapError(session.inner, error, id);
  RecordBuilder record(RecordType::kCall, id, begin, end - begin);
  if (id < FirstUnknown()) {
    record.head().code = static_cast<uint8_t>(CodeOf(error));
    record.Raw(args, arguments.valid, function.struct_size);
    for (size_t i = 0; i < arguments.num_handles; ++i) {
      const Arguments::Handle& handle = arguments.handles[i];
      if (handle.info.serial == 0) continue;
      Role role = Role::kUsed;
      if (handle.field == 0 && !refusal.refused) {
        if (function.effect == Effect::kDestroys) role = Role::kDestroyed;
        if (function.effect == Effect::kDeletes || function.effect == Effect::kConsumes) role = Role::kDeleted;
      }
      record.Handle(handle.field, handle.info, role);
    }
    AddPointees(record, function, arguments, error != nullptr);
    if (error == nullptr) {
      AddCreated(session, id, function, arguments, end, record);
      if (id == k_PJRT_LoadedExecutable_Execute) AddExecution(session, arguments, end, record);
      if (!Options().capture.empty() && id < kNumTableFunctions) {
        Capture(session, id, args, arguments.valid,
                arguments.num_handles > 0 ? arguments.handles[0].info : HandleInfo{}, end - begin);
      }
    } else {
      record.Text(ItemType::kMessage, 0xff, MessageOf(error), 300);
    }
    if (arguments.changes_bytes) {
      const int64_t bytes = std::max<int64_t>(Handles::Get().live_bytes(), 0);
      record.Item(ItemType::kLiveBytes, 0xff, &bytes, sizeof(bytes), 1);
    }
  }
  Submit(record);
  return error;
}

}  // namespace tenon::trace
