#include "tenon/proxy/core.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tenon/base/drop_in_turn.h"
#include "tenon/proxy/policy.h"

namespace tenon::proxy {

Result<std::shared_ptr<Session>> Where::Start() const {
  if (!remote) return session::ProcessSession::Start(process);
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<session::Remote> server, session::Remote::Connect(*remote));
  Result<std::shared_ptr<Session>> session = session::RemoteSession::Start(server);
  if (!session.ok()) server->Close(session.status());
  return session;
}

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

std::shared_ptr<plugin::WaitHelper> Core::HelperOf(const std::shared_ptr<Session>& session) {
  if (is_remote()) return nullptr;
  // Events may outlive the session.
  class Helper final : public plugin::WaitHelper {
   public:
    explicit Helper(std::weak_ptr<Session> session) : session_(std::move(session)) {}
    void Help(const plugin::Event& event) override {
      const std::shared_ptr<Session> session = session_.lock();
      if (session == nullptr) return;
      // Whoever waits may hold what others' listeners want.
      plugin::ListenersKept kept;
      session->ReadFor([&event] { return !event.is_ready(); }, [&kept] { return kept.Take(); });
    }

   private:
    const std::weak_ptr<Session> session_;
  };
  std::lock_guard lock(mutex_);
  if (helped_ != session->generation()) {
    helper_ = std::make_shared<Helper>(session);
    helped_ = session->generation();
  }
  return helper_;
}

// At the server where the arrays are, while the session with it lasts.
Result<std::shared_ptr<Session>> Core::StartSession() {
  const std::shared_ptr<Session> session = Last();
  if (const auto* last = dynamic_cast<const session::RemoteSession*>(session.get());
      last != nullptr && last->remote()->state().ok())
    return session::RemoteSession::Start(last->remote());
  return options_.where.Start();
}

Result<std::shared_ptr<session::Remote>> Core::RemoteOf(uint64_t home) const {
  const std::shared_ptr<Session> session = Last();
  const auto* last = dynamic_cast<const session::RemoteSession*>(session.get());
  if (last == nullptr) return Unavailable("there is no session with a server");
  if (last->home() != home) return Unavailable("the array was lost with the session with its server");
  // In a forked child the threads that would answer are not there.
  if (const Status state = last->state(); state.code() == Code::kFailedPrecondition) return state;
  TENON_RETURN_IF_ERROR(last->remote()->state());
  return last->remote();
}

Result<wire::ClientText> Core::Open() {
  std::lock_guard starting(starting_);
  std::shared_ptr<Session> session = Last();
  if (session == nullptr || !session->state().ok()) {
    TENON_ASSIGN_OR_RETURN(session, StartSession());
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
  TENON_ASSIGN_OR_RETURN(session, StartSession());
  if (open_) {
    const Result<std::string> body = session->Call(options_.client);
    if (!body.ok()) {
      // One that died at once need not be ended, which would end the session with a server and cost the arrays there.
      // Of a death there what was under way is told first.
      for (int wait = 0; wait < policy::kNewsOfDeathMs && session->state().ok(); ++wait) {
        if (body.status().code() != Code::kUnavailable) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (session->state().ok()) session->End();
      return body.status().WithContext("starting the device process again");
    }
  }
  std::lock_guard lock(mutex_);
  session_ = session;
  return session;
}

Result<plugin::Ref<ArrayStorage>> ArrayStorage::Make(std::shared_ptr<Core> core, size_t size_bytes) {
  channel::Arena::Block block;
  if (!core->is_remote()) {
    TENON_ASSIGN_OR_RETURN(block, core->arena().Allocate(size_bytes));
  }
  const uint64_t number = core->NextNumber();
  return plugin::MakeRef<ArrayStorage>(std::move(core), std::move(block), size_bytes, number);
}

// At a server the number is what stands for the address.
ArrayStorage::ArrayStorage(std::shared_ptr<Core> core, channel::Arena::Block block, size_t size_bytes, uint64_t number)
    : Storage(block.piece == nullptr ? reinterpret_cast<void*>(number) : block.data(), size_bytes),  // NOLINT
      core_(std::move(core)),
      block_(std::move(block)),
      number_(number) {
  if (core_->is_remote()) core_->CountRemote(static_cast<int64_t>(size_bytes));
}

plugin::Ref<ArrayStorage> ArrayStorage::HolderOf(std::span<const plugin::Ref<ArrayStorage>> arrays,
                                                 const wire::Place& at) {
  for (const plugin::Ref<ArrayStorage>& array : arrays) {
    if (array->has(at)) return array;
  }
  std::unordered_set<const ArrayStorage*> seen;
  std::vector<std::span<const plugin::Ref<ArrayStorage>>> lists{arrays};
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const plugin::Ref<ArrayStorage>& array : lists[i]) {
      if (i != 0 && array->has(at)) return array;
      if (!array->shares() || !seen.insert(array.get()).second) continue;
      if (seen.size() > policy::kMaxSharing) return nullptr;
      lists.emplace_back(array->shared_.data(), array->shared_.size());
    }
  }
  return nullptr;
}

ArrayStorage::~ArrayStorage() {
  if (shares()) {
    DropInTurn(std::vector<plugin::Ref<ArrayStorage>>(std::make_move_iterator(shared_.begin()),
                                                      std::make_move_iterator(shared_.end())));
  }
  if (const uint64_t known = home(); known != 0) {
    if (const std::shared_ptr<Session> session = core_->Last(); session != nullptr && session->home() == known)
      session->DropLater(number_, size_bytes());
  }
  if (core_->is_remote()) {
    core_->CountRemote(-static_cast<int64_t>(size_bytes()));
    return;
  }
  core_->arena().Free(std::move(block_));
  const std::vector<uint32_t> gone = core_->arena().TakeGone();
  if (gone.empty()) return;
  if (const std::shared_ptr<Session> session = core_->Last()) {
    for (const uint32_t piece : gone) session->Forget(piece);
  }
}

}  // namespace tenon::proxy
