#include "tenon/host/services.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "tenon/base/strided_copy.h"
#include "tenon/compiler/compile.h"
#include "tenon/compiler/exchange.h"
#include "tenon/ffi_host/call_site.h"
#include "tenon/host/policy.h"
#include "tenon/plugin/host_copy.h"
#include "tenon/reference/reference.h"
#include "tenon/threads/flush_denormals.h"

namespace tenon::host {
namespace {

Dims StrideBytes(const Dims& strides_elems, DType type) {
  Dims bytes = strides_elems;
  for (int64_t& s : bytes) s *= ByteWidth(type);
  return bytes;
}

bool IsRowMajor(const plan::Slot& slot) { return slot.stride_elems == RowMajorStridesElems(slot.dims); }

Shape ShapeOf(const plan::Slot& slot) { return {slot.dtype, slot.dims}; }

Result<reference::Value> ToValue(const runtime::View& view) {
  if (view.slot == nullptr) return reference::Value::Token();
  const Shape shape = ShapeOf(*view.slot);
  if (IsRowMajor(*view.slot)) return reference::Value::View(shape, view.data, nullptr);
  TENON_ASSIGN_OR_RETURN(reference::Value value, reference::Value::Allocate(shape));
  StridedCopy(value.mutable_bytes(), StrideBytes(RowMajorStridesElems(shape.dims), shape.dtype), view.data,
              StrideBytes(view.slot->stride_elems, shape.dtype), shape.dims, ByteWidth(shape.dtype));
  return value;
}

Status FromValue(const reference::Value& value, const runtime::View& view) {
  if (view.slot == nullptr) return OkStatus();
  const Shape shape = ShapeOf(*view.slot);
  if (!value.is_array() || value.shape() != shape) {
    return Internal(fmt::format("the evaluator gave {}, wanted {}", ToString(value.shape()), ToString(shape)));
  }
  StridedCopy(view.data, StrideBytes(view.slot->stride_elems, shape.dtype), value.bytes(),
              StrideBytes(RowMajorStridesElems(shape.dims), shape.dtype), shape.dims, ByteWidth(shape.dtype));
  return OkStatus();
}

/// The number of the channel that a transfer of the host names.
Result<int64_t> ChannelOf(const plan::CustomCallStep& step) {
  int64_t channel = 0;
  const char* const end = step.opaque.data() + step.opaque.size();
  const auto parsed = std::from_chars(step.opaque.data(), end, channel);
  if (parsed.ec == std::errc() && parsed.ptr == end) return channel;
  return DataLoss(fmt::format("'{}' is no channel of the host", step.opaque));
}

/// What the steps of one plan need, found once. Keys are the steps of the runtime's own copy of the plan by identity of
/// their content.
struct ServiceTable {
  using Slots = std::span<const plan::Slot>;  ///< Of the plan.
  bool host_transfers = false;
  std::unordered_map<const std::string*, std::unique_ptr<reference::Program>> programs;
  std::vector<std::pair<plan::CustomCallStep, std::unique_ptr<ffi_host::CallSite>>> sites;
  std::unordered_map<std::string, compiler::Exchange> exchanges;  ///< By their text.

  ffi_host::CallSite* FindSite(const plan::CustomCallStep& step) const {
    for (const auto& [known, site] : sites) {
      if (known == step) return site.get();
    }
    return nullptr;
  }

  Status Add(const plan::Seq& seq, Slots slots) {
    for (const plan::Step& step : seq)
      TENON_RETURN_IF_ERROR(std::visit([&](const auto& s) { return One(s, slots); }, step.is));
    return OkStatus();
  }

  template <class Other>
  Status One(const Other&, Slots) {
    return OkStatus();
  }
  Status One(const plan::WhileStep& s, Slots slots) {
    TENON_RETURN_IF_ERROR(Add(s.condition, slots));
    return Add(s.body, slots);
  }
  Status One(const plan::CaseStep& s, Slots slots) {
    for (const plan::Seq& branch : s.branches) TENON_RETURN_IF_ERROR(Add(branch, slots));
    return OkStatus();
  }
  Status One(const plan::EvaluateStep& s, Slots) {
    auto& program = programs[s.program.get()];
    if (program == nullptr) {
      TENON_ASSIGN_OR_RETURN(program, reference::Program::Load(*s.program));
    }
    return OkStatus();
  }
  Status One(const plan::CustomCallStep& s, Slots slots) {
    if (s.target == compiler::kExchangeTarget) {
      TENON_ASSIGN_OR_RETURN(exchanges[s.opaque], compiler::ParseExchange(s.opaque));
      return OkStatus();
    }
    if (IsHostTransfer(s)) {
      host_transfers = true;
      return ChannelOf(s).status();
    }
    if (FindSite(s) != nullptr) return OkStatus();
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<ffi_host::CallSite> site, ffi_host::CallSite::Create(s, slots));
    sites.emplace_back(s, std::move(site));
    return OkStatus();
  }
};

using StatesOfSites = std::unordered_map<const ffi_host::CallSite*, std::unique_ptr<ffi_host::StageStates>>;

ffi_host::Invocation InvocationOf(const ExecutionUser& execution) {
  ffi_host::Invocation invocation;
  invocation.num_threads = execution.num_threads;
  invocation.schedule = [client = execution.client](std::function<void()> task) { client->Schedule(std::move(task)); };
  invocation.run_id = execution.run_id;
  invocation.device_ordinal = execution.device_ordinal;
  invocation.find_user_data = [context = execution.context](int64_t type_id) -> void* {
    return context == nullptr ? nullptr : context->Find(type_id);
  };
  return invocation;
}

/// The bytes of `count` elements from `offset` on in a flat array.
Result<std::byte*> PartOf(const runtime::View& view, int64_t offset, int64_t count) {
  const plan::Slot* slot = view.slot;
  if (slot == nullptr || slot->dims.size() != 1 || (slot->dims[0] > 1 && slot->stride_elems[0] != 1))
    return Internal("an exchange of what is no flat array");
  if (offset < 0 || count < 0 || offset > slot->dims[0] - count)
    return Internal(fmt::format("an exchange of elements {} to {} of {}", offset, offset + count, slot->dims[0]));
  return static_cast<std::byte*>(view.data) + offset * ByteWidth(slot->dtype);
}

Status RunExchange(const compiler::Exchange& exchange, std::span<const runtime::View> operands,
                   std::span<const runtime::View> results, collectives::Launch* launch) {
  if (launch == nullptr) return Internal("an exchange outside of a program of several processes");
  if (results.size() != 1) return Internal(fmt::format("an exchange with {} results", results.size()));
  const int64_t width = ByteWidth(results[0].slot->dtype);
  std::vector<collectives::SendPart> sends;
  std::vector<collectives::ReceivePart> receives;
  const auto source = [&](const compiler::Exchange::Part& p) -> Result<std::byte*> {
    if (p.operand < 0 || static_cast<size_t>(p.operand) >= operands.size() ||
        operands[static_cast<size_t>(p.operand)].slot->dtype != results[0].slot->dtype) {
      return Internal(fmt::format("an exchange of operand {}", p.operand));
    }
    return PartOf(operands[static_cast<size_t>(p.operand)], p.from, p.count);
  };
  for (const compiler::Exchange::Part& p : exchange.sends) {
    TENON_ASSIGN_OR_RETURN(std::byte * from, source(p));
    sends.push_back({p.peer, from, static_cast<size_t>(p.count * width)});
  }
  for (const compiler::Exchange::Part& p : exchange.receives) {
    TENON_ASSIGN_OR_RETURN(std::byte * to, PartOf(results[0], p.to, p.count));
    receives.push_back({p.peer, to, static_cast<size_t>(p.count * width)});
  }
  for (const compiler::Exchange::Part& p : exchange.copies) {
    TENON_ASSIGN_OR_RETURN(std::byte * from, source(p));
    TENON_ASSIGN_OR_RETURN(std::byte * to, PartOf(results[0], p.to, p.count));
    std::memcpy(to, from, static_cast<size_t>(p.count * width));
  }
  return launch->Exchange(exchange.step, sends, receives);
}

Status RunHostTransfer(const plan::CustomCallStep& step, std::span<const runtime::View> operands,
                       std::span<const runtime::View> results, const ExecutionUser& execution) {
  const bool sends = step.target == compiler::kHostSendTarget;
  const std::span<const runtime::View> views = sends ? operands : results;
  TENON_ASSIGN_OR_RETURN(const int64_t channel, ChannelOf(step));
  if (views.empty() || views[0].slot == nullptr || !IsRowMajor(*views[0].slot))
    return Internal("a transfer of the host without a dense array");
  if (execution.transfers == nullptr) {
    return InvalidArgument(fmt::format("the program {} the host on channel {}, and the execution has no callbacks",
                                       sends ? "sends to" : "receives from", channel));
  }
  const auto bytes = static_cast<size_t>(SizeBytes(ShapeOf(*views[0].slot)));
  const threads::ScopedDefaultFloat ieee;
  if (sends) return execution.transfers->Send(channel, views[0].data, bytes, bytes, true);
  TENON_RETURN_IF_ERROR(
      execution.transfers->ReceiveAll(channel, views[0].data, bytes, policy::kUnseenInterval, [&execution] {
        return execution.in_flight->given_up().load(std::memory_order_relaxed) && execution.in_flight->Unseen();
      }));
  // The caller gave bytes.
  plugin::NormalizeSubByte(views[0].slot->dtype, views[0].data, NumElements(views[0].slot->dims));
  return OkStatus();
}

}  // namespace

bool IsHostTransfer(const plan::CustomCallStep& step) {
  return step.target == compiler::kHostSendTarget || step.target == compiler::kHostRecvTarget;
}

bool MayEnd(void* user) { return static_cast<ExecutionUser*>(user)->in_flight->Unseen(); }

Result<PlanServices> MakeServices(const plan::Plan& plan) {
  auto table = std::make_shared<ServiceTable>();
  TENON_RETURN_IF_ERROR(table->Add(plan.steps, plan.slots));
  PlanServices result;
  result.may_call_back = table->host_transfers;
  bool begins = false, served_by_caller = table->host_transfers;
  for (const auto& [step, site] : table->sites) {
    result.may_call_back |= (site->handler().traits & ffi_host::kLeafTrait) == 0;
    served_by_caller |= (site->handler().traits & ffi_host::kServedByCallerTrait) != 0;
    begins |= site->has_begin();
  }
  result.caller_waits = result.may_call_back && !served_by_caller;
  runtime::Services& services = result.services;
  services.evaluate = [table](const plan::EvaluateStep& step, std::span<const runtime::View> operands,
                              std::span<const runtime::View> results, void*) -> Status {
    std::vector<reference::Value> values;
    for (const runtime::View& v : operands) {
      TENON_ASSIGN_OR_RETURN(reference::Value value, ToValue(v));
      values.push_back(std::move(value));
    }
    const auto program = table->programs.find(step.program.get());
    if (program == table->programs.end()) return Internal("an evaluate step was not loaded");
    Result<std::vector<reference::Value>> outputs = Internal("not run");
    {
      // The evaluator flushes subnormals itself, where the semantics say so.
      const threads::ScopedDefaultFloat ieee;
      outputs = program->second->Run(values);
    }
    if (!outputs.ok()) return std::move(outputs).status().WithContext("evaluate " + step.op);
    if (outputs->size() != results.size())
      return Internal(fmt::format("evaluate {} gave {} results, wanted {}", step.op, outputs->size(), results.size()));
    for (size_t i = 0; i < results.size(); ++i) TENON_RETURN_IF_ERROR(FromValue((*outputs)[i], results[i]));
    return OkStatus();
  };
  services.custom_call = [table](const plan::CustomCallStep& step, std::span<const runtime::View> operands,
                                 std::span<const runtime::View> results, void* user) -> Status {
    if (step.target == compiler::kExchangeTarget) {
      const auto exchange = table->exchanges.find(step.opaque);
      if (exchange == table->exchanges.end()) return Internal("an exchange was not loaded");
      return RunExchange(exchange->second, operands, results, static_cast<const ExecutionUser*>(user)->launch);
    }
    const auto* execution = static_cast<const ExecutionUser*>(user);
    if (IsHostTransfer(step)) return RunHostTransfer(step, operands, results, *execution);
    ffi_host::CallSite* site = table->FindSite(step);
    if (site == nullptr) return Internal("a custom call was not instantiated");
    const auto* states = static_cast<const StatesOfSites*>(execution->call_states.get());
    return site->Call(operands, results, InvocationOf(*execution),
                      states == nullptr ? nullptr : states->at(site).get());
  };
  if (!begins) return result;
  services.begin_custom_call = [table](const plan::CustomCallStep& step, runtime::CallStage stage,
                                       std::span<const runtime::View> operands, std::span<const runtime::View> results,
                                       void* user) -> Status {
    if (IsHostTransfer(step) || step.target == compiler::kExchangeTarget) return OkStatus();  // No stages.
    ffi_host::CallSite* site = table->FindSite(step);
    if (site == nullptr) return Internal("a custom call was not instantiated");
    auto* execution = static_cast<ExecutionUser*>(user);
    if (execution->call_states == nullptr) execution->call_states = std::make_shared<StatesOfSites>();
    auto& states = (*static_cast<StatesOfSites*>(execution->call_states.get()))[site];
    if (states == nullptr) states = std::make_unique<ffi_host::StageStates>();
    return site->Begin(stage, operands, results, InvocationOf(*execution), *states);
  };
  return result;
}

}  // namespace tenon::host
