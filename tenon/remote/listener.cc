#include "tenon/remote/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <utility>
#include <vector>

#include "tenon/base/contain.h"
#include "tenon/base/network.h"

namespace tenon::remote {

using channel::NowMs;
using wire::Verb;

namespace {

// What a stranger may send before it is known.
constexpr uint32_t kMaxAttachBytes = 1024;
constexpr size_t kSecretBytes = 32;
constexpr int kAcceptMs = 200;
constexpr std::chrono::seconds kStop{5};  // for sessions to end
constexpr size_t kMaxRemembered = 4096;   // addresses with failures

// What a client says of itself, on one line of a log.
std::string Printable(std::string text) {
  for (char& c : text) c = c >= 0x20 && c < 0x7f ? c : '.';
  return text;
}

// Who counts as one: an address, of IPv6 all that share the first half, which is what one is usually given.
std::string HostOf(const std::string& peer) {
  std::string host = peer.substr(0, peer.rfind(':'));
  if (host.size() < 2 || host.front() != '[') return host;
  host = host.substr(1, host.rfind(']') - 1);
  unsigned char bytes[sizeof(in6_addr)];
  if (::inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), bytes) != 1) return host;
  std::memset(bytes + sizeof(bytes) / 2, 0, sizeof(bytes) / 2);
  char text[INET6_ADDRSTRLEN];
  return ::inet_ntop(AF_INET6, bytes, text, sizeof(text)) == nullptr ? host : std::string(text) + "/64";
}

}  // namespace

struct Listener::State : std::enable_shared_from_this<Listener::State> {
  ListenOptions options;
  std::shared_ptr<channel::Tls> tls;

  std::mutex mutex;
  std::condition_variable left;  // a session or a stranger
  struct Entry {
    std::string secret;
    std::shared_ptr<Front> front;
  };
  std::map<uint64_t, Entry> sessions;
  struct Failures {
    int count = 0;
    int64_t since_ms = 0;
  };
  std::map<std::string, Failures> failures;
  int strangers = 0;
  std::map<std::string, int> strangers_of;  // by host

  std::mutex logging;  // after `mutex`
  bool quiet = false;
  void Log(const std::string& line) {
    std::lock_guard lock(logging);
    if (!quiet && options.log) options.log(line);
  }
  void Silence() {
    std::lock_guard lock(logging);
    quiet = true;
  }

  // Whether this address may try at all.
  bool MayTry(const std::string& peer) {
    std::lock_guard lock(mutex);
    const auto it = failures.find(HostOf(peer));
    if (it == failures.end()) return true;
    if (NowMs() - it->second.since_ms > options.failures_ms) {
      failures.erase(it);
      return true;
    }
    return it->second.count < options.max_failures;
  }
  void NoteFailure(const std::string& peer) {
    std::lock_guard lock(mutex);
    if (failures.size() >= kMaxRemembered) {
      // Those whose time is over; else the one that has been out for longest.
      auto oldest = failures.begin();
      for (auto it = failures.begin(); it != failures.end(); ++it) {
        if (it->second.since_ms < oldest->second.since_ms) oldest = it;
      }
      failures.erase(oldest);
    }
    Failures& f = failures[HostOf(peer)];
    if (f.count++ == 0) f.since_ms = NowMs();
  }

  // A place among the strangers, if there is one. `why`: else.
  bool TakePlace(const std::string& peer, std::string* why) {
    std::lock_guard lock(mutex);
    if (strangers >= options.max_strangers) {
      *why = fmt::format("{} others have not shown yet who they are", strangers);
      return false;
    }
    int& of = strangers_of[HostOf(peer)];
    if (of >= options.max_strangers_per_host) {
      *why = fmt::format("{} others of that address have not shown yet who they are", of);
      return false;
    }
    ++of;
    ++strangers;
    return true;
  }
  void LeavePlace(const std::string& peer) {
    std::lock_guard lock(mutex);
    --strangers;
    if (const auto it = strangers_of.find(HostOf(peer)); it != strangers_of.end() && --it->second <= 0)
      strangers_of.erase(it);
    left.notify_all();
  }

  void Receive(channel::Fd socket, const std::string& peer) {
    const struct Leave {
      State& state;
      const std::string& peer;
      ~Leave() {
        (void)Contain("leaving", [this] { state.LeavePlace(peer); });
      }  // Whatever is thrown.
    } leave{*this, peer};
    bool shown = false;
    const Status status = Contain("a connection", [&] { return Admit(std::move(socket), peer, &shown); });
    if (!status.ok()) {
      // Those who have shown who they are fail as friends, and a connection that is cut says nothing of its other end.
      if (!shown && status.code() != Code::kUnavailable) NoteFailure(peer);
      Log(fmt::format("{}: refused: {}", peer, status.ToString()));
    }
  }

  // `shown`: whether it is known who came.
  Status Admit(channel::Fd socket, const std::string& peer, bool* shown) {
    const int64_t deadline = NowMs() + options.stranger_ms;
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<channel::SecureStream> stream,
                           tls->Wrap(std::move(socket), {}, peer, deadline));
    channel::Ring::Frame frame;
    TENON_RETURN_IF_ERROR(channel::ReadFrame(*stream, kMaxAttachBytes, frame, deadline));
    if (frame.verb != Verb::kAttach)
      return DataLoss(fmt::format("the first message is {}", wire::Dump(frame.verb, frame.message)));
    TENON_ASSIGN_OR_RETURN(const wire::Attach attach, wire::Decode<wire::Attach>(frame.message));
    wire::Attached attached;
    attached.build = TENON_BUILD_NAME;
    attached.grace_s = static_cast<uint32_t>(options.limits.grace_ms / 1000);
    attached.max_message_bytes = options.limits.max_message_bytes;
    Status status = Identify(*stream, attach);
    *shown = status.ok();
    if (status.ok()) status = Check(attach);
    std::shared_ptr<Front> front;
    if (status.ok()) {
      attached.protocol = std::min(attach.newest, wire::kNewestProtocol);
      Result<std::shared_ptr<Front>> found = FindSession(attach, stream->peer(), attached);
      status = found.status();
      if (found.ok()) front = std::move(*found);
    }
    if (status.ok() && !tls->credentials().token.empty()) {
      TENON_ASSIGN_OR_RETURN(attached.proof, stream->Prove(tls->credentials().token, /*as_server=*/true));
    }
    const auto answer = [&](channel::Stream& to, uint64_t received) {
      attached.received = received;
      attached.error = wire::FromStatus(status);
      return channel::WriteFully(to, channel::EncodeFrame(Verb::kAttached, 0, wire::Encode(attached)), deadline);
    };
    if (!status.ok()) {
      (void)answer(*stream, 0);
      return status;
    }
    return front->Attach(static_cast<wire::Lane>(attach.lane), std::move(stream), attach.received, answer);
  }

  Status Identify(channel::SecureStream& stream, const wire::Attach& attach) {
    if (attach.magic != wire::kAttachMagic)
      return DataLoss(fmt::format("the first message begins with {:x}, wanted {:x}", attach.magic, wire::kAttachMagic));
    if (const std::string& token = tls->credentials().token; !token.empty()) {
      TENON_ASSIGN_OR_RETURN(const std::string wanted, stream.Prove(token, /*as_server=*/false));
      if (!EqualInConstantTime(wanted, attach.proof))
        return Unauthenticated(attach.proof.empty() ? "no token, and this server wants one" : "the token is wrong");
    }
    return OkStatus();
  }

  static Status Check(const wire::Attach& attach) {
    if (attach.oldest > wire::kNewestProtocol || attach.newest < wire::kOldestProtocol) {
      return FailedPrecondition(fmt::format("the client ({}) speaks protocols {} to {}, this server ({}) {} to {}",
                                            Printable(attach.build), attach.oldest, attach.newest, TENON_BUILD_NAME,
                                            wire::kOldestProtocol, wire::kNewestProtocol));
    }
    if (attach.lane >= wire::kLanes) return DataLoss(fmt::format("a connection of kind {}", attach.lane));
    return OkStatus();
  }

  // The session that the message names, or a new one.
  Result<std::shared_ptr<Front>> FindSession(const wire::Attach& attach, const std::string& peer,
                                             wire::Attached& attached) {
    if (attach.session != 0) {
      std::lock_guard lock(mutex);
      const auto it = sessions.find(attach.session);
      if (it == sessions.end() || it->second.front == nullptr || !EqualInConstantTime(it->second.secret, attach.secret))
        return NotFound("there is no such session any more");
      attached.session = attach.session;
      return it->second.front;
    }
    TENON_ASSIGN_OR_RETURN(std::string random, tls->RandomBytes(sizeof(uint64_t) + kSecretBytes));
    uint64_t number = 0;
    std::memcpy(&number, random.data(), sizeof(number));
    number |= 1;
    attached.session = number;
    attached.secret = random.substr(sizeof(number));
    {
      std::lock_guard lock(mutex);
      if (sessions.size() >= static_cast<size_t>(options.max_sessions)) {
        return ResourceExhausted(fmt::format("there are {} sessions, and no more than {} are served", sessions.size(),
                                             options.max_sessions));
      }
      sessions[number] = {attached.secret, nullptr};  // The place is taken.
    }
    Front::Options front;
    front.plugin = options.plugin;
    front.limits = options.limits;
    front.log = [weak = weak_from_this(), peer](const std::string& line) {
      if (const std::shared_ptr<State> self = weak.lock()) self->Log(peer + ": " + line);
    };
    front.on_end = [weak = weak_from_this(), number, peer](const std::string& why) {
      const std::shared_ptr<State> self = weak.lock();
      if (self == nullptr) return;
      Entry entry;  // Goes outside the lock.
      std::lock_guard ending(self->mutex);
      if (const auto it = self->sessions.find(number); it != self->sessions.end()) {
        entry = std::move(it->second);
        self->sessions.erase(it);
      }
      self->Log(fmt::format("{}: the session is over: {}", peer, why));
      self->left.notify_all();
    };
    std::shared_ptr<Front> made;
    const Status started = Contain("a session", [&]() -> Status {
      TENON_ASSIGN_OR_RETURN(made, Front::Start(std::move(front)));
      return OkStatus();
    });
    {
      std::lock_guard lock(mutex);
      if (!started.ok())
        sessions.erase(number);  // The place is free again.
      else if (const auto it = sessions.find(number); it != sessions.end())
        it->second.front = made;
    }
    if (!started.ok()) return started;
    Log(fmt::format("{}: a session ({})", peer, Printable(attach.build)));
    return made;
  }

  void EndOld() {
    if (options.limits.session_s == 0) return;
    for (const std::shared_ptr<Front>& front : Fronts()) {
      if (NowMs() - front->started_ms() > options.limits.session_s * 1000)
        front->Close(ResourceExhausted(fmt::format("its {} s are over", options.limits.session_s)));
    }
  }
  std::vector<std::shared_ptr<Front>> Fronts() {
    std::vector<std::shared_ptr<Front>> fronts;
    std::lock_guard lock(mutex);
    for (const auto& [number, entry] : sessions) {
      if (entry.front != nullptr) fronts.push_back(entry.front);
    }
    return fronts;
  }
};

Listener::Listener(channel::Fd socket, int port, std::shared_ptr<State> state)
    : socket_(std::move(socket)), port_(port), state_(std::move(state)) {}
Listener::~Listener() { state_->Silence(); }

Result<std::unique_ptr<Listener>> Listener::Start(ListenOptions options) {
  auto state = std::make_shared<State>();
  TENON_ASSIGN_OR_RETURN(state->tls, channel::Tls::Make(options.credentials, /*is_server=*/true));
  TENON_ASSIGN_OR_RETURN(const channel::Address address, channel::ParseAddress(options.address));
  state->options = std::move(options);
  int port = 0;
  TENON_ASSIGN_OR_RETURN(channel::Fd socket, channel::Listen(address, &port));
  return std::unique_ptr<Listener>(new Listener(std::move(socket), port, std::move(state)));
}

// Lets the next stranger in, if one comes soon. Fails when nobody can come any more.
Status Listener::TakeNext() {
  state_->EndOld();
  std::string peer;
  TENON_ASSIGN_OR_RETURN(channel::Fd accepted,
                         channel::Accept(socket_.get(), kAcceptMs, state_->options.limits.silence_ms, &peer));
  if (!accepted) return OkStatus();
  if (!state_->MayTry(peer)) return OkStatus();  // Closed without a word.
  if (std::string why; !state_->TakePlace(peer, &why)) {
    state_->Log(fmt::format("{}: refused: {}", peer, why));
    return OkStatus();
  }
  const Status started = Contain("a connection", [&] {
    auto socket = std::make_shared<channel::Fd>(std::move(accepted));
    return session::StartThread([state = state_, socket, peer] { state->Receive(std::move(*socket), peer); });
  });
  if (!started.ok()) state_->LeavePlace(peer);
  return OkStatus();
}

Status Listener::Run() {
  Status status;
  while (!stopped_.load(std::memory_order_relaxed) && status.ok()) {
    // What goes wrong for want of memory costs one connection.
    (void)Contain("a connection", [&] { status = TakeNext(); });
  }
  for (const std::shared_ptr<Front>& front : state_->Fronts()) front->Close(Cancelled("the server is stopped"));
  std::unique_lock lock(state_->mutex);
  state_->left.wait_for(lock, kStop, [this] { return state_->sessions.empty() && state_->strangers == 0; });
  return status;
}

}  // namespace tenon::remote
