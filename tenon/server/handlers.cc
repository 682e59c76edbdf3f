// The host's handlers for custom calls: the plugin gets a stub for each, which has the host run it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/base/primitive_type.h"
#include "tenon/base/sub_byte.h"
#include "tenon/client/ffi.h"
#include "tenon/server/server.h"

namespace tenon::server {

using wire::Encode;
using wire::Verb;

namespace {

// A call into the plugin that lasts so long beside a call of the host seems to wait for it.
constexpr std::chrono::milliseconds kSeemsToWait{20};

Server* the_server = nullptr;

XLA_FFI_Error* ToError(const XLA_FFI_Api& api, const Status& status) {
  if (status.ok()) return nullptr;
  const std::string message(status.message());
  XLA_FFI_Error_Create_Args args{XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, message.c_str(),
                                 static_cast<XLA_FFI_Error_Code>(status.code())};
  return api.XLA_FFI_Error_Create(&args);
}

Result<wire::HandlerAttribute> ToAttribute(XLA_FFI_AttrType type, const void* value);

Result<std::vector<wire::HandlerAttribute>> ToAttributes(const XLA_FFI_Attrs& attrs) {
  std::vector<wire::HandlerAttribute> list;
  for (int64_t i = 0; i < attrs.size; ++i) {
    TENON_ASSIGN_OR_RETURN(wire::HandlerAttribute one, ToAttribute(attrs.types[i], attrs.attrs[i]));
    one.name.assign(attrs.names[i]->ptr, attrs.names[i]->len);
    list.push_back(std::move(one));
  }
  return list;
}

Result<wire::HandlerAttribute> ToAttribute(XLA_FFI_AttrType type, const void* value) {
  wire::HandlerAttribute attribute;
  attribute.kind = static_cast<uint8_t>(type);
  const auto elements = [&](XLA_FFI_DataType ffi, const void* data, size_t count) {
    const DType dtype = DTypeFromPrimitiveType(ffi);
    attribute.dtype = static_cast<uint8_t>(dtype);
    attribute.bytes.assign(static_cast<const char*>(data), count * static_cast<size_t>(ByteWidth(dtype)));
  };
  switch (type) {
    case XLA_FFI_AttrType_STRING: {
      const auto* text = static_cast<const XLA_FFI_ByteSpan*>(value);
      attribute.bytes.assign(text->ptr, text->len);
      return attribute;
    }
    case XLA_FFI_AttrType_SCALAR: {
      const auto* scalar = static_cast<const XLA_FFI_Scalar*>(value);
      elements(scalar->dtype, scalar->value, 1);
      return attribute;
    }
    case XLA_FFI_AttrType_ARRAY: {
      const auto* array = static_cast<const XLA_FFI_Array*>(value);
      elements(array->dtype, array->data, array->size);
      return attribute;
    }
    case XLA_FFI_AttrType_DICTIONARY: {
      TENON_ASSIGN_OR_RETURN(attribute.members, ToAttributes(*static_cast<const XLA_FFI_Attrs*>(value)));
      return attribute;
    }
  }
  return Unimplemented(fmt::format("an attribute of kind {}", static_cast<int>(type)));
}

}  // namespace

// Blocks of ours that a call uses.
struct Server::Shared {
  explicit Shared(Server& s) : server(s) {}
  ~Shared() {
    for (channel::Arena::Block& block : blocks) server.arena_.Free(std::move(block));
    if (!blocks.empty()) server.DropOwnPieces();
  }
  Server& server;
  std::vector<channel::Arena::Block> blocks;
  char* copy = nullptr;  // the block of the last Share or Lend, null: none
};

// What the arena gave back to the system the host need not keep either.
void Server::DropOwnPieces() {
  for (const uint32_t piece : arena_.TakeGone()) {
    {
      std::lock_guard lock(calls_mutex_);
      own_pieces_.erase(piece);
    }
    if (protocol_ >= wire::kBothDropPieces) Reply(Verb::kDropPiece, 0, Encode(wire::DropPiece{piece}));
  }
}

Result<wire::Place> Server::Share(const void* data, uint64_t size_bytes, Shared& keep) {
  keep.copy = nullptr;
  if (size_bytes == 0) return wire::Place{};
  if (const std::optional<wire::Place> place = pieces_.Locate(data, size_bytes)) return *place;
  return Lend(size_bytes, keep);
}

Result<wire::Place> Server::Lend(uint64_t size_bytes, Shared& keep) {
  keep.copy = nullptr;
  if (size_bytes == 0) return wire::Place{};
  TENON_ASSIGN_OR_RETURN(channel::Arena::Block block, arena_.Allocate(size_bytes));
  const wire::Place place{block.piece->number, block.offset};
  {
    std::lock_guard lock(calls_mutex_);
    if (own_pieces_.insert(block.piece->number).second)
      TENON_RETURN_IF_ERROR(channel::SendPiece(control_.get(), block.piece->number, block.piece->memory));
  }
  keep.copy = block.data();
  keep.blocks.push_back(std::move(block));
  return place;
}

template <int kIndex>
XLA_FFI_Error* Server::Stub(XLA_FFI_CallFrame* frame) {
  return RunStub(kIndex, frame);
}

struct Server::Stubs {
  template <int... kIndex>
  static constexpr std::array<XLA_FFI_Handler*, sizeof...(kIndex)> Make(std::integer_sequence<int, kIndex...>) {
    return {&Server::Stub<kIndex>...};
  }
  static XLA_FFI_Handler* At(size_t index) {
    static constexpr std::array<XLA_FFI_Handler*, wire::kMaxHandlers> kAll =
        Make(std::make_integer_sequence<int, wire::kMaxHandlers>());
    return kAll[index];
  }
};

XLA_FFI_Error* Server::RunStub(size_t index, XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
    auto* metadata = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    // Of an older plugin its own: it takes no handler of a later version, and nothing is used here that it lacks.
    metadata->api_version.minor_version =
        frame->api == nullptr ? XLA_FFI_API_MINOR : std::min(XLA_FFI_API_MINOR, frame->api->api_version.minor_version);
    metadata->traits = 0;
    return nullptr;
  }
  return ToError(*frame->api, the_server->CallHost(index, *frame));
}

void Server::RegisterHandler(const wire::RegisterHandler& m) {
  if (!plugin_) return;
  the_server = this;
  size_t index;
  {
    std::lock_guard lock(calls_mutex_);
    index = handlers_.size();
    if (std::cmp_greater_equal(index, wire::kMaxHandlers)) return;  // A host that knows the limit sends no more.
    handlers_.push_back(m.number);
  }
  // A plugin that refuses it says so again when a program calls it.
  (void)client::RegisterFfiHandler(*plugin_, m.target, m.platform, reinterpret_cast<void*>(Stubs::At(index)), m.traits);
  if (execution_type_ == 0) {
    const Result<int64_t> id = client::RegisterFfiType(*plugin_, "tenon.isolated.execution");
    if (id.ok()) execution_type_ = *id;
  }
}

Status Server::CallHost(size_t index, const XLA_FFI_CallFrame& frame) {
  if (frame.stage != XLA_FFI_ExecutionStage_EXECUTE) return OkStatus();
  wire::CallHandler message;
  XLA_FFI_TypeId type{execution_type_};
  const auto succeeds = [&](XLA_FFI_Error* error) {
    if (error == nullptr) return true;
    XLA_FFI_Error_Destroy_Args destroy{XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, error};
    frame.api->XLA_FFI_Error_Destroy(&destroy);
    return false;
  };
  XLA_FFI_InvokeContext_Get_Args get{XLA_FFI_InvokeContext_Get_Args_STRUCT_SIZE, nullptr, frame.ctx, &type, nullptr};
  if (succeeds(frame.api->XLA_FFI_InvokeContext_Get(&get))) message.execution = reinterpret_cast<uint64_t>(get.data);
  // An older plugin's table ends earlier.
  const auto has = [&](size_t size_bytes) { return frame.api->struct_size >= size_bytes; };
  XLA_FFI_RunId_Get_Args run{XLA_FFI_RunId_Get_Args_STRUCT_SIZE, nullptr, frame.ctx, 0};
  if (has(XLA_FFI_STRUCT_SIZE(XLA_FFI_Api, XLA_FFI_RunId_Get)) && succeeds(frame.api->XLA_FFI_RunId_Get(&run)))
    message.run_id = run.run_id;
  XLA_FFI_DeviceOrdinal_Get_Args ordinal{XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE, nullptr, frame.ctx, 0};
  if (has(XLA_FFI_STRUCT_SIZE(XLA_FFI_Api, XLA_FFI_DeviceOrdinal_Get)) &&
      succeeds(frame.api->XLA_FFI_DeviceOrdinal_Get(&ordinal)))
    message.device_ordinal = ordinal.device_ordinal;

  Shared keep(*this);
  struct CopyBack {
    void* to;
    const char* from;
    size_t size;
    DType packed;  // kInvalid: bytes as they are.
  };
  std::vector<CopyBack> back;
  const auto add = [&](const XLA_FFI_Buffer& buffer, bool result, std::vector<wire::Operand>& list) -> Status {
    wire::Operand operand;
    const DType dtype = DTypeFromPrimitiveType(buffer.dtype);
    operand.array.dtype = static_cast<uint8_t>(dtype);
    operand.array.dims = wire::Numbers(buffer.dims, buffer.dims + buffer.rank);
    if (dtype != DType::kToken) {
      const bool packed = IsSubByte(dtype);
      if (DTypeBits(dtype) < 8 && dtype != DType::kPred && !packed)
        return Unimplemented(fmt::format("a handler of the host with arrays of {}", DTypeName(dtype)));
      TENON_ASSIGN_OR_RETURN(const int64_t size,
                             CheckedSizeBytes({dtype, Dims(buffer.dims, buffer.dims + buffer.rank)}));
      operand.size = static_cast<uint64_t>(size);
      if (packed) {
        TENON_ASSIGN_OR_RETURN(operand.place, Lend(operand.size, keep));
      } else {
        TENON_ASSIGN_OR_RETURN(operand.place, Share(buffer.data, operand.size, keep));
      }
      if (keep.copy != nullptr) {
        // Results, too: an operand may share their memory.
        if (packed)
          Unpack(dtype, buffer.data, operand.size, keep.copy);
        else
          std::memcpy(keep.copy, buffer.data, operand.size);
        if (result) back.push_back({buffer.data, keep.copy, operand.size, packed ? dtype : DType::kInvalid});
      }
    }
    list.push_back(std::move(operand));
    return OkStatus();
  };
  for (int64_t i = 0; i < frame.args.size; ++i) {
    if (frame.args.types[i] != XLA_FFI_ArgType_BUFFER) return Unimplemented("an operand of a handler that is no array");
    TENON_RETURN_IF_ERROR(add(*static_cast<XLA_FFI_Buffer*>(frame.args.args[i]), false, message.operands));
  }
  for (int64_t i = 0; i < frame.rets.size; ++i) {
    if (frame.rets.types[i] != XLA_FFI_RetType_BUFFER) return Unimplemented("a result of a handler that is no array");
    TENON_RETURN_IF_ERROR(add(*static_cast<XLA_FFI_Buffer*>(frame.rets.rets[i]), true, message.results));
  }
  TENON_ASSIGN_OR_RETURN(message.attributes, ToAttributes(frame.attrs));
  {
    std::lock_guard lock(calls_mutex_);
    message.number = handlers_[index];
  }
  TENON_RETURN_IF_ERROR(AskHost(message));
  for (const CopyBack& copy : back) {
    if (copy.packed != DType::kInvalid)
      Pack(copy.packed, copy.from, copy.size, copy.to);
    else
      std::memcpy(copy.to, copy.from, copy.size);
  }
  return OkStatus();
}

template <class Message>
Status Server::AskHost(const Message& message) {
  HostCall call;
  uint64_t number;
  {
    std::lock_guard lock(calls_mutex_);
    number = next_call_++;
    calls_.emplace(number, &call);
  }
  Reply(Message::kVerb, number, Encode(message));
  // Which call into the plugin may be waiting for this one: the own thread's, else whichever lasts as long.
  uint64_t waits = call_into_plugin_;
  for (;;) {
    {
      std::lock_guard lock(turn_mutex_);
      if (beginning_now_ == waits) beginning_now_ = 0;
      waits = beginning_now_;
      const bool wanted = !reading_ || (beginning_now_ == 0 && !read_.empty());
      const Status status = wanted ? CallReader() : OkStatus();
      if (!status.ok() && call_into_plugin_ != 0 && !reading_ && idle_readers_ == 0) {
        // This thread is who would read the answer, and the host may be at work on what is ours.
        std::fprintf(stderr, "tenon-device-server: %s\n", status.ToString().c_str());
        std::fflush(nullptr);
        ::_exit(2);
      }
    }
    std::unique_lock lock(calls_mutex_);
    if (call.answered.wait_for(lock, kSeemsToWait, [&] { return call.done; })) return call.status;
  }
}

// What the program sends, which lies at `data`.
Status Server::SendToHost(wire::Transfer message, const void* data) {
  Shared keep(*this);
  TENON_ASSIGN_OR_RETURN(message.place, Share(data, message.size, keep));
  if (keep.copy != nullptr) std::memcpy(keep.copy, data, message.size);
  return AskHost(message);
}

// Fills the stream on a thread of its own: the host may take its time. A stream that goes without its bytes fails the
// execution.
void Server::ReceiveFromHost(wire::Transfer message, client::CopyToDeviceStream stream) {
  auto shared = std::make_shared<client::CopyToDeviceStream>(std::move(stream));
  (void)Contain("a transfer", [&] {
    std::thread([this, message, shared = std::move(shared)]() mutable {
      const Result<int64_t> total = shared->TotalBytes();
      if (!total.ok() || *total < 0) return;
      Shared keep(*this);
      message.size = message.total = static_cast<uint64_t>(*total);
      const Result<wire::Place> place = Lend(message.size, keep);
      if (!place.ok()) return;
      message.place = *place;
      if (!AskHost(message).ok()) return;
      (void)shared->AddChunk(std::as_bytes(std::span(keep.copy, message.size)));
    }).detach();
  });
}

void Server::FinishHostCall(uint64_t number, const wire::HandlerDone& m) {
  std::lock_guard lock(calls_mutex_);
  const auto it = calls_.find(number);
  if (it == calls_.end()) return;
  HostCall& call = *it->second;
  calls_.erase(it);
  call.status = wire::ToStatus(m.error);
  call.done = true;
  call.answered.notify_all();  // Under the lock: the call goes with its thread.
}

}  // namespace tenon::server
