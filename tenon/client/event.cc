#include "tenon/client/event.h"

#include "tenon/base/contain.h"
#include "tenon/client/internal/count.h"

namespace tenon::client {
namespace {

struct ReadyCallback {
  const Api* api;
  std::function<void(Status)> done;
};

// Behind it there may be the plugin's code, through which nothing may be thrown, and nobody who would take an error.
void Call(const std::function<void(Status)>& done, Status status) {
  (void)Contain("a callback of Event::OnReady", [&] { done(std::move(status)); });
}

void CallReady(PJRT_Error* error, void* user_arg) {
  const std::unique_ptr<ReadyCallback> callback(static_cast<ReadyCallback*>(user_arg));
  Call(callback->done, callback->api->TakeError(error));
}

}  // namespace

Event::Event(const Api* api, PJRT_Event* event) : api_(api), event_(event) {
  if (event_ != nullptr) internal::Count(internal::Kind::kEvent, 1);
}

Event& Event::operator=(Event&& other) noexcept {
  if (this != &other) {
    Reset();
    api_ = other.api_;
    event_ = std::exchange(other.event_, nullptr);
  }
  return *this;
}

void Event::Reset() {
  if (event_ == nullptr) return;
  auto args = MakeArgs<PJRT_Event_Destroy_Args>();
  args.event = std::exchange(event_, nullptr);
  (void)api_->Call(args);
  internal::Count(internal::Kind::kEvent, -1);
}

Result<Event> Event::Create(const Api& api) {
  auto args = MakeArgs<PJRT_Event_Create_Args>();
  TENON_RETURN_IF_ERROR(api.Call(args));
  return Event(&api, args.event);
}

Status Event::Set(const Status& status) {
  if (event_ == nullptr) return FailedPrecondition("Event::Set: this Event is empty");
  auto args = MakeArgs<PJRT_Event_Set_Args>();
  args.event = event_;
  args.error_code = static_cast<PJRT_Error_Code>(status.code());
  args.error_message = status.message().data();
  args.error_message_size = status.message().size();
  return api_->Call(args);
}

Result<bool> Event::IsReady() const {
  if (event_ == nullptr) return true;
  auto args = MakeArgs<PJRT_Event_IsReady_Args>();
  args.event = event_;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.is_ready;
}

Status Event::Await() const {
  if (event_ == nullptr) return OkStatus();
  auto args = MakeArgs<PJRT_Event_Await_Args>();
  args.event = event_;
  return api_->Call(args);
}

Status Event::Error() const {
  if (event_ == nullptr) return OkStatus();
  TENON_ASSIGN_OR_RETURN(const bool ready, IsReady());
  // Some plugins end the process when they are asked too early.
  if (!ready) return FailedPrecondition("Event::Error: the work is not done yet; call Await or OnReady");
  auto args = MakeArgs<PJRT_Event_Error_Args>();
  args.event = event_;
  return api_->Call(args);
}

Status Event::OnReady(std::function<void(Status)> done) const {
  if (event_ == nullptr) {
    Call(done, OkStatus());
    return OkStatus();
  }
  auto args = MakeArgs<PJRT_Event_OnReady_Args>();
  auto callback = std::make_unique<ReadyCallback>(api_, std::move(done));
  args.event = event_;
  args.callback = CallReady;
  args.user_arg = callback.get();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  (void)callback.release();
  return OkStatus();
}

void Event::Keep(std::shared_ptr<const void> used) const {
  if (!OnReady([used](const Status&) {}).ok()) (void)Await();
}

}  // namespace tenon::client
