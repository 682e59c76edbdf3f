#include "tenon/proxy/core.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace tenon::proxy {

Core::Core(Options options, std::shared_ptr<Session> session)
    : options_(std::move(options)),
      arena_(/*first_piece=*/1, static_cast<uint64_t>(options_.memory_limit_bytes)),
      session_(std::move(session)) {}

Core::~Core() {
  if (session_ != nullptr) session_->End();
}

std::shared_ptr<Session> Core::Last() const {
  std::lock_guard lock(mutex_);
  return session_;
}

Result<wire::ClientText> Core::Open() {
  std::lock_guard starting(starting_);
  std::shared_ptr<Session> session = Last();
  if (session == nullptr || !session->state().ok()) {
    TENON_ASSIGN_OR_RETURN(session, Session::Start(options_.session));
    std::lock_guard lock(mutex_);
    session_ = session;
  }
  TENON_ASSIGN_OR_RETURN(const std::string body, session->Call(options_.client));
  TENON_ASSIGN_OR_RETURN(wire::ClientText text, wire::Decode<wire::ClientText>(body));
  open_ = true;
  return text;
}

Result<std::shared_ptr<Session>> Core::Live() {
  std::shared_ptr<Session> session = Last();
  if (session != nullptr) {
    const Status state = session->state();
    if (state.ok()) return session;
    if (state.code() != Code::kUnavailable) return state;
    return StartAgain(state);
  }
  return StartAgain(OkStatus());
}

Result<std::shared_ptr<Session>> Core::StartAgain(const Status& death) {
  if (!death.ok() && options_.restart == Restart::kNever) return death;
  std::lock_guard starting(starting_);
  std::shared_ptr<Session> session = Last();
  if (session != nullptr && session->state().ok()) return session;  // Somebody else did it.
  TENON_ASSIGN_OR_RETURN(session, Session::Start(options_.session));
  if (open_) {
    const Result<std::string> body = session->Call(options_.client);
    if (!body.ok()) {
      session->End();
      return body.status().WithContext("starting the device process again");
    }
  }
  std::lock_guard lock(mutex_);
  session_ = session;
  return session;
}

Result<plugin::Ref<ArrayStorage>> ArrayStorage::Make(std::shared_ptr<Core> core, size_t size_bytes) {
  TENON_ASSIGN_OR_RETURN(channel::Arena::Block block, core->arena().Allocate(size_bytes));
  return plugin::MakeRef<ArrayStorage>(std::move(core), std::move(block), size_bytes);
}

ArrayStorage::ArrayStorage(std::shared_ptr<Core> core, channel::Arena::Block block, size_t size_bytes)
    : Storage(block.data(), size_bytes),
      core_(std::move(core)),
      block_(std::move(block)),
      number_(core_->NextNumber()) {}

ArrayStorage::~ArrayStorage() {
  if (const uint64_t generation = known_to_.load(std::memory_order_acquire); generation != 0) {
    if (const std::shared_ptr<Session> session = core_->Last();
        session != nullptr && session->generation() == generation)
      session->DropLater(number_, size_bytes());
  }
  core_->arena().Free(std::move(block_));
  const std::vector<uint32_t> gone = core_->arena().TakeGone();
  if (gone.empty()) return;
  if (const std::shared_ptr<Session> session = core_->Last()) {
    for (const uint32_t piece : gone) session->Forget(piece);
  }
}

}  // namespace tenon::proxy
