#include "tenon/proxy/handlers.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tenon/base/contain.h"
#include "tenon/ffi_host/call_site.h"
#include "tenon/ffi_host/registry.h"
#include "tenon/plan/plan.h"
#include "tenon/plugin/ffi_types.h"
#include "tenon/plugin/memory.h"
#include "tenon/proxy/call_threads.h"
#include "tenon/proxy/policy.h"
#include "tenon/runtime/services.h"

namespace tenon::proxy {

using session::PendingExecution;
using session::Session;

namespace {

// All handlers of this process, and who is to hear of them. Leaked: handlers are for good.
struct Registry {
  std::mutex mutex;
  std::vector<wire::RegisterHandler> handlers;  // the number is the index
  std::vector<std::weak_ptr<Session>> sessions;
  // What a handler made of its attributes when it was first called with them. Programs go without a word to it, and a
  // device process may call with any attributes: when there are too many, all go, and are made again where they are
  // called for.
  using Sites = std::map<std::pair<uint32_t, std::string>, std::shared_ptr<ffi_host::CallSite>>;
  Sites sites;
  size_t site_bytes = 0;  // of their attributes
};
Registry& TheRegistry() {
  static Registry& registry = *[] {
    ffi_host::InstallTypeRegistry({&plugin::RegisterFfiType, &plugin::FfiTypeDeleter});
    return new Registry;
  }();
  return registry;
}

Result<plan::Attribute> ToAttribute(const wire::HandlerAttribute& from) {
  plan::Attribute to;
  to.name = from.name;
  to.bytes = from.bytes;
  if (from.dtype >= kNumDTypes) return DataLoss("an attribute of an unknown element type");
  to.dtype = static_cast<DType>(from.dtype);
  switch (from.kind) {
    case XLA_FFI_AttrType_STRING:
      to.kind = plan::Attribute::Kind::kString;
      break;
    case XLA_FFI_AttrType_SCALAR:
      to.kind = plan::Attribute::Kind::kScalar;
      if (to.bytes.size() < static_cast<size_t>(ByteWidth(to.dtype)))
        return DataLoss("a scalar attribute without a value");
      break;
    case XLA_FFI_AttrType_ARRAY:
      to.kind = plan::Attribute::Kind::kArray;
      break;
    case XLA_FFI_AttrType_DICTIONARY:
      to.kind = plan::Attribute::Kind::kDictionary;
      for (const wire::HandlerAttribute& member : from.members) {
        TENON_ASSIGN_OR_RETURN(plan::Attribute one, ToAttribute(member));
        to.members.push_back(std::move(one));
      }
      break;
    default:
      return DataLoss(fmt::format("an attribute of kind {}", from.kind));
  }
  return to;
}

Result<std::shared_ptr<ffi_host::CallSite>> FindSite(const wire::CallHandler& call) {
  std::string bytes;
  wire::Encoder(bytes).Put(call.attributes);
  const std::pair<uint32_t, std::string> key(call.number, std::move(bytes));
  Registry& registry = TheRegistry();
  std::string target;
  {
    std::lock_guard lock(registry.mutex);
    if (const auto it = registry.sites.find(key); it != registry.sites.end()) return it->second;
    if (call.number >= registry.handlers.size()) return DataLoss(fmt::format("there is no handler {}", call.number));
    target = registry.handlers[call.number].target;
  }
  plan::CustomCallStep step;
  step.target = target;
  step.api_version = 4;
  for (const wire::HandlerAttribute& attribute : call.attributes) {
    TENON_ASSIGN_OR_RETURN(plan::Attribute one, ToAttribute(attribute));
    step.attributes.push_back(std::move(one));
  }
  TENON_ASSIGN_OR_RETURN(std::unique_ptr<ffi_host::CallSite> site, ffi_host::CallSite::Create(step));
  Registry::Sites gone;  // Outside the lock: what they hold is the handlers'.
  std::lock_guard lock(registry.mutex);
  if (registry.sites.size() >= policy::kMaxCallSites ||
      registry.site_bytes + key.second.size() > policy::kMaxCallSiteBytes) {
    gone.swap(registry.sites);
    registry.site_bytes = 0;
  }
  const auto [it, added] = registry.sites.emplace(key, std::move(site));
  if (added) registry.site_bytes += key.second.size();
  return it->second;
}

// Operands or results, where the device process put them.
struct Views {
  std::deque<plan::Slot> slots;
  std::vector<runtime::View> views;
  std::vector<std::shared_ptr<channel::Piece>> pieces;
  std::vector<plugin::Ref<plugin::Storage>> copies;

  // What arrays by value may take, of which a server says how large they are.
  uint64_t left = 0;

  // `value`: the bytes, where the device process is at a server; null: they are in shared memory.
  Status Add(Session& session, const wire::Operand& operand, const std::string* value, bool is_result) {
    const DType dtype = operand.array.dtype < kNumDTypes ? static_cast<DType>(operand.array.dtype) : DType::kInvalid;
    if (dtype == DType::kToken) {
      views.push_back({});
      return OkStatus();
    }
    Shape shape{dtype, Dims(operand.array.dims.begin(), operand.array.dims.end())};
    TENON_ASSIGN_OR_RETURN(const int64_t size, CheckedSizeBytes(shape));
    if (dtype == DType::kInvalid || static_cast<uint64_t>(size) != operand.size)
      return DataLoss("an array of a handler's call whose size is not that of its shape");
    plan::Slot& slot = slots.emplace_back();
    slot.dtype = dtype;
    slot.stride_elems = RowMajorStridesElems({shape.dims.data(), shape.rank()});
    slot.dims = shape.dims;
    alignas(64) static char nothing[64];
    char* data = nothing;
    if (value != nullptr) {
      if (!is_result && value->size() != operand.size)
        return DataLoss(fmt::format("an array of a handler's call of {} bytes, wanted {}", value->size(), size));
      if (operand.size > left) {
        return ResourceExhausted(
            fmt::format("an array of {} bytes of a handler's call, for which a message has {} left", size, left));
      }
      left -= operand.size;
      TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Storage> copy, plugin::AllocateHostStorage(operand.size));
      data = static_cast<char*>(copy->data());
      if (is_result)
        std::memset(data, 0, operand.size);
      else
        std::memcpy(data, value->data(), operand.size);
      copies.push_back(std::move(copy));
    } else if (size != 0) {
      TENON_ASSIGN_OR_RETURN(Session::Bytes bytes, session.MemoryAt(operand.place, operand.size));
      data = bytes.data;
      pieces.push_back(std::move(bytes.piece));
    }
    views.push_back({data, &slot});
    return OkStatus();
  }
};

Status Call(Session& session, const wire::CallHandler& call, PendingExecution* execution,
            std::vector<std::string>& results_out) {
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<ffi_host::CallSite> site, FindSite(call));
  const bool by_value = !session.shares_memory();  // Its arrays are at a server.
  if (by_value && call.values.size() != call.operands.size())
    return DataLoss(fmt::format("{} values for {} operands", call.values.size(), call.operands.size()));
  if (call.operands.size() + call.results.size() > policy::kMaxHandlerArrays) {
    return ResourceExhausted(fmt::format("a handler's call with {} arrays, at most {} are taken",
                                         call.operands.size() + call.results.size(), policy::kMaxHandlerArrays));
  }
  Views operands, results;
  operands.left = results.left = session.max_message_bytes();
  for (size_t i = 0; i < call.operands.size(); ++i)
    TENON_RETURN_IF_ERROR(operands.Add(session, call.operands[i], by_value ? &call.values[i] : nullptr, false));
  static const std::string& nothing = *new std::string;
  for (const wire::Operand& o : call.results)
    TENON_RETURN_IF_ERROR(results.Add(session, o, by_value ? &nothing : nullptr, true));
  ffi_host::Invocation invocation;
  if (execution != nullptr)
    invocation.find_user_data = [execution](int64_t type_id) { return execution->UserData(type_id); };
  invocation.run_id = call.run_id;
  invocation.device_ordinal = call.device_ordinal;
  ffi_host::StageStates states;
  if (site->has_begin()) {
    for (const runtime::CallStage stage : {runtime::CallStage::kPrepare, runtime::CallStage::kInitialize})
      TENON_RETURN_IF_ERROR(site->Begin(stage, operands.views, results.views, invocation, states));
  }
  TENON_RETURN_IF_ERROR(site->Call(operands.views, results.views, invocation, &states));
  for (size_t i = 0; by_value && i < call.results.size(); ++i) {
    const auto* data = static_cast<const char*>(results.views[i].data);
    results_out.emplace_back(data == nullptr ? std::string() : std::string(data, call.results[i].size));
  }
  return OkStatus();
}

}  // namespace

CallSites CountCallSites() {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  return {registry.sites.size(), registry.site_bytes};
}

Status RegisterHandler(const plugin::FfiHandlerRegistration& registration) {
  XLA_FFI_Handler_Bundle bundle = {};
  if ((registration.traits & ffi_host::kBundleTrait) != 0)
    bundle = *static_cast<const XLA_FFI_Handler_Bundle*>(registration.handler);
  else
    bundle.execute = reinterpret_cast<XLA_FFI_Handler*>(registration.handler);
  // Neither how it is registered nor that it keeps to itself is true of the stub.
  const uint32_t traits = registration.traits & ~(ffi_host::kBundleTrait | ffi_host::kLeafTrait);
  Registry& registry = TheRegistry();
  TENON_RETURN_IF_ERROR(ffi_host::RegisterHandler(registration.target_name, bundle, traits));
  std::lock_guard lock(registry.mutex);
  for (const wire::RegisterHandler& known : registry.handlers) {
    if (known.target == registration.target_name && known.platform == registration.platform_name) return OkStatus();
  }
  if (std::cmp_greater_equal(registry.handlers.size(), wire::kMaxHandlers)) {
    return ResourceExhausted(fmt::format("handler '{}': a device process is told of {} handlers at most",
                                         registration.target_name, wire::kMaxHandlers));
  }
  const auto number = static_cast<uint32_t>(registry.handlers.size());
  registry.handlers.push_back({number, std::string(registration.target_name), std::string(registration.platform_name),
                               traits | ffi_host::kServedByCallerTrait});
  const std::string message = wire::Encode(registry.handlers.back());
  for (const std::weak_ptr<Session>& weak : registry.sessions) {
    if (const std::shared_ptr<Session> session = weak.lock()) session->Post(wire::Verb::kRegisterHandler, 0, message);
  }
  return OkStatus();
}

namespace {

class Host final : public session::HandlerHost {
 public:
  void Tell(const std::shared_ptr<Session>& session) override {
    Registry& registry = TheRegistry();
    std::lock_guard lock(registry.mutex);
    std::erase_if(registry.sessions, [](const std::weak_ptr<Session>& s) { return s.expired(); });
    registry.sessions.push_back(session);
    for (const wire::RegisterHandler& handler : registry.handlers)
      session->Post(wire::Verb::kRegisterHandler, 0, wire::Encode(handler));
  }

  void Run(std::shared_ptr<Session> session, uint64_t number, wire::CallHandler call,
           std::shared_ptr<PendingExecution> execution) override {
    const Status started = RunAside([session, number, call = std::move(call), execution = std::move(execution)] {
      wire::HandlerDone done;
      Status status;
      const Status contained =
          Contain("a handler", [&] { status = Call(*session, call, execution.get(), done.values); });
      if (status.ok()) status = contained;
      End(*session, number, status, std::move(done));
    });
    if (!started.ok()) End(*session, number, started, {});
  }

 private:
  static void End(Session& session, uint64_t number, const Status& status, wire::HandlerDone done) {
    done.error = wire::FromStatus(status);
    session.EndCall(number, done);
  }
};

}  // namespace

std::shared_ptr<session::HandlerHost> Handlers() {
  static const auto& host = *new std::shared_ptr<session::HandlerHost>(std::make_shared<Host>());
  return host;
}

}  // namespace tenon::proxy
