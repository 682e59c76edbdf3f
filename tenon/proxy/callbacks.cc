#include "tenon/proxy/callbacks.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tenon/base/contain.h"
#include "tenon/proxy/call_threads.h"

namespace tenon::proxy {

using session::Session;

namespace {

void Answer(Session& session, uint64_t number, const Status& status, std::vector<std::string> values) {
  session.EndCall(number, {wire::FromStatus(status), std::move(values)});
}

}  // namespace

bool DeviceCallbacks::Begin() {
  std::lock_guard lock(mutex_);
  if (over_) return false;
  ++running_;
  return true;
}

void DeviceCallbacks::End() {
  {
    std::lock_guard lock(mutex_);
    if (--running_ != 0 || !over_) return;
  }
  done_->Set(outcome_);
}

void DeviceCallbacks::Finish(const Status& outcome) {
  {
    std::lock_guard lock(mutex_);
    if (over_) return;
    over_ = true;
    outcome_ = outcome;
    if (running_ != 0) return;
  }
  done_->Set(outcome);
}

Status DeviceCallbacks::Run(const std::shared_ptr<Session>& session, uint64_t number, wire::Transfer message) {
  {
    std::lock_guard lock(mutex_);
    if (over_) return DataLoss("a transfer of an execution that is over");
    if (message.sends) {
      uint64_t& sent = sent_[message.channel];
      if (message.size > message.total || sent > message.total - message.size)
        return DataLoss(fmt::format("{} bytes of {} are sent, behind {}", message.size, message.total, sent));
      sent = message.done ? 0 : sent + message.size;
    }
  }
  const Status started = RunAside([self = shared_from_this(), session, number, message = std::move(message)] {
    Status status = Cancelled("the execution is over");
    if (self->Begin()) {
      const Status contained = Contain("a callback", [&] {
        status = message.sends ? self->GiveSent(*session, message) : self->AskFor(session, number, message);
      });
      if (!contained.ok()) status = contained;
      self->End();
    }
    if (message.sends || !status.ok()) Answer(*session, number, status, {});
  });
  if (!started.ok()) Answer(*session, number, started, {});
  return OkStatus();
}

Status DeviceCallbacks::GiveSent(Session& session, const wire::Transfer& m) {
  if (!session.shares_memory()) {
    if (m.data.size() != m.size)
      return DataLoss(fmt::format("{} bytes of a part of {} that is sent", m.data.size(), m.size));
    return transfers_->Send(m.channel, m.data.data(), m.size, m.total, m.done);
  }
  Session::Bytes bytes;
  if (m.size != 0) {
    TENON_ASSIGN_OR_RETURN(bytes, session.MemoryAt(m.place, m.size));
  }
  return transfers_->Send(m.channel, bytes.data, m.size, m.total, m.done);
}

// Has the caller fill the bytes, now or later; when it has, the transfer is answered.
Status DeviceCallbacks::AskFor(const std::shared_ptr<Session>& session, uint64_t number, const wire::Transfer& m) {
  struct Bytes {
    Session::Bytes shared;
    std::string own;  // for a process elsewhere
  };
  auto bytes = std::make_shared<Bytes>();
  char* to = nullptr;
  if (!session->shares_memory()) {
    if (m.size > session->max_message_bytes()) {
      return ResourceExhausted(fmt::format("{} bytes are received; the most that crosses between machines is {}",
                                           m.size, session->max_message_bytes()));
    }
    bytes->own.resize(m.size);
    to = bytes->own.data();
  } else if (m.size != 0) {
    TENON_ASSIGN_OR_RETURN(bytes->shared, session->MemoryAt(m.place, m.size));
    to = bytes->shared.data;
  }
  transfers_->Receive(m.channel, to, m.size).OnReady([session, number, bytes](const Status& status) {
    std::vector<std::string> values;
    if (status.ok() && !session->shares_memory()) values.push_back(std::move(bytes->own));
    Answer(*session, number, status, std::move(values));
  });
  return OkStatus();
}

}  // namespace tenon::proxy
