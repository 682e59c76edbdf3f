#include "tenon/collectives/mailbox.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/base/fork.h"
#include "tenon/base/network.h"

namespace tenon::collectives {
namespace {

using Clock = std::chrono::steady_clock;

/// A stranger who says nothing is let go of after so long, and so many may be there at once; more wait.
constexpr Milliseconds kGreeting{5'000};
constexpr std::ptrdiff_t kMostStrangers = 64;
/// Connections that fetch at once, of the thousand or so descriptors that a process has; more wait.
constexpr size_t kMostVisits = 256;
/// How often it is looked for what takes too long.
constexpr Milliseconds kLook{100};
constexpr uint32_t kMostText = 1 << 16;  ///< Of an error.

// What who fetches says, and what it hears; then the text, or the bytes. structural: another format gets another magic.
constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'M', 'B', '1'};
struct Request {
  char magic[8];
  char secret[32];
  int64_t key;
  uint64_t size;
  int32_t from;
  int32_t unused;
};
struct Reply {
  int32_t code;
  uint32_t text_size;
};
static_assert(sizeof(Request) == 64 && sizeof(Reply) == 8);

std::array<char, 32> Padded(const std::string& secret) {
  std::array<char, 32> padded{};
  std::memcpy(padded.data(), secret.data(), std::min(secret.size(), padded.size()));
  return padded;
}

/// Bytes that are read or written as the connection takes them.
struct Piece {
  std::byte* data = nullptr;
  size_t size = 0, at = 0;
  bool over() const { return at == size; }
};
template <class T>
Piece PieceOf(T& value) {
  return {reinterpret_cast<std::byte*>(&value), sizeof(value), 0};
}

enum class Moved { kAll, kSome, kNothing, kEnd };

/// Moves what is left of the piece by `some_of`(its place, its size), recv or send.
template <class F>
Moved Move(Piece& piece, const F& some_of) {
  bool some = false;
  while (!piece.over()) {
    const ssize_t n = some_of(piece.data + piece.at, piece.size - piece.at);
    if (n > 0) {
      piece.at += static_cast<size_t>(n);
      some = true;
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return some ? Moved::kSome : Moved::kNothing;
    } else {
      return Moved::kEnd;
    }
  }
  return Moved::kAll;
}

void SendAtOnce(int socket) {
  const int one = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

Moved Read(int fd, Piece& piece) {
  return Move(piece, [fd](std::byte* data, size_t size) { return recv(fd, data, size, 0); });
}

Moved Write(int fd, Piece& piece) {
  return Move(piece, [fd](const std::byte* data, size_t size) { return send(fd, data, size, MSG_NOSIGNAL); });
}

}  // namespace

/// The thread behind a mailbox, which moves all bytes.
class Mailbox::Loop : public std::enable_shared_from_this<Loop> {
 public:
  Loop(Fd listener, Setup setup)
      : setup_(std::move(setup)),
        secret_(Padded(setup_.secret)),
        listener_(std::move(listener)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        owner_pid_(getpid()),
        lost_(setup_.peers.size()) {}

  /// Waits for the thread; not where it runs, or in a forked child, where it does not.
  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    Wake();
    if (!thread_.joinable()) return;
    if (getpid() != owner_pid_ || thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  int64_t pending() {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(offers_.size()) + under_way_;
  }

  void Post(int peer, int64_t key, const Status& status, const std::byte* data, size_t size, Done done) {
    Offer offer{status, data, size, std::move(done), Clock::now() + setup_.timeout, false};
    Status refused = Add(peer, [&] {
      const auto [at, fresh] = offers_.try_emplace({peer, key}, std::move(offer));
      if (fresh) return OkStatus();
      return AlreadyExists(fmt::format("something is offered to {} under key {} already", NameOf(peer), key));
    });
    if (!refused.ok()) offer.done(refused);
  }

  void Fetch(int peer, int64_t key, std::byte* to, size_t size, Done done) {
    auto visit = std::make_unique<Visit>();
    visit->peer = peer;
    visit->key = key;
    visit->bytes = {to, size, 0};
    visit->done = std::move(done);
    Status refused = Add(peer, [&] {
      fetches_.push_back(std::move(visit));
      ++under_way_;
      return OkStatus();
    });
    if (!refused.ok()) visit->done(refused);
  }

  void Lost(int peer, const Status& why) {
    const std::lock_guard lock(mutex_);
    for (size_t p = 0; p < lost_.size(); ++p) {
      if ((peer < 0 || static_cast<size_t>(peer) == p) && lost_[p].ok()) lost_[p] = why;
    }
    has_lost_ = true;
    Wake();
  }

 private:
  struct Offer {
    Status status;
    const std::byte* data;
    size_t size;
    Done done;
    Clock::time_point until;
    bool taken;  ///< Somebody is fetching it.
  };
  using Name = std::pair<int, int64_t>;  // Of an offer: for whom, and its key.

  /// Who fetches from here.
  struct Guest {
    Fd socket;
    Request request;
    Piece reading = PieceOf(request);
    bool greeted = false;
    std::optional<Name> offer;  ///< What it is given; else it waits for it.
    Reply reply{};
    std::string text;
    Piece head, body;
    Clock::time_point until;
  };
  /// What is fetched from others.
  struct Visit {
    int peer = 0;
    int64_t key = 0;
    Fd socket;
    bool connecting = false;
    Request request{};
    Reply reply{};
    std::string text;
    Piece asking, head, words, bytes;
    Done done;
    Clock::time_point until;
  };

  const std::string& NameOf(int peer) const { return setup_.peers[static_cast<size_t>(peer)].name; }

  /// Under the lock, unless the process is gone or unknown; starts the thread when it is not there.
  template <class F>
  Status Add(int peer, const F& add) {
    const std::lock_guard lock(mutex_);
    if (peer < 0 || static_cast<size_t>(peer) >= setup_.peers.size() || peer == setup_.self)
      return InvalidArgument(
          fmt::format("process {} is none that arrays can be sent to from process {}", peer, setup_.self));
    if (const Status& lost = lost_[static_cast<size_t>(peer)]; !lost.ok()) return lost;
    if (!wake_) return Unavailable("no descriptor for transfers between processes");
    if (!thread_.joinable()) TENON_RETURN_IF_ERROR(Start());
    TENON_RETURN_IF_ERROR(add());
    Wake();
    return OkStatus();
  }

  // Signals are the host's business, and its threads'.
  Status Start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    Status status;
    try {
      thread_ = std::thread([self = shared_from_this()] { self->Run(); });
    } catch (const std::exception& e) {
      status = ResourceExhausted(fmt::format("no thread for transfers between processes: {}", e.what()));
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return status;
  }

  void Wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(wake_.get(), &one, sizeof(one));
  }

  void Run() {
    pthread_setname_np(pthread_self(), "tenon-mail");
    bool goes_on = true;
    while (goes_on) {
      const Status round = Contain("transfers between processes", [&] { goes_on = Round(); });
      // Without memory for a round nothing can be moved: what is under way ends, in rounds that want less of it.
      if (round.ok()) continue;
      Lost(-1, round);
      std::this_thread::sleep_for(kLook);
    }
    const Status gone = Cancelled("the client has been given up");
    EndOffers([&](const Name&, const Offer&) { return gone; });
    while (TakeFetch()) {
    }
    EndVisits([&](const Visit&) { return gone; });
    guests_.clear();
  }

  /// False at the end.
  bool Round() {
    while (visits_.size() < kMostVisits && TakeFetch()) {
      Visit& visit = *visits_.back();
      visit.until = Clock::now() + setup_.timeout;
      if (const Status s = Connect(visit); !s.ok())
        EndVisits([&](const Visit& v) { return &v == &visit ? s : OkStatus(); });
    }
    GiveToWaiting();
    EndOverdue();
    Poll();
    const std::lock_guard lock(mutex_);
    return !stop_;
  }

  /// Makes the next fetch the last visit, if there is one; whatever fails then, it ends with the visits.
  bool TakeFetch() {
    const std::lock_guard lock(mutex_);
    if (fetches_.empty()) return false;
    visits_.splice(visits_.end(), fetches_, fetches_.begin());
    return true;
  }

  /// How long nothing needs to be looked for, in milliseconds; -1: until somebody comes.
  int Patience() {
    const std::lock_guard lock(mutex_);
    const bool idle = offers_.empty() && fetches_.empty() && visits_.empty() && guests_.empty();
    return idle && Clock::now() >= accepts_from_ ? -1 : static_cast<int>(kLook.count());
  }

  /// The visit behind the one that ends.
  std::list<std::unique_ptr<Visit>>::iterator EndVisit(std::list<std::unique_ptr<Visit>>::iterator it,
                                                       const Status& status) {
    const std::unique_ptr<Visit> visit = std::move(*it);
    it = visits_.erase(it);
    {
      const std::lock_guard lock(mutex_);
      --under_way_;
    }
    Tell(visit->done, status);
    return it;
  }

  static void Tell(const Done& done, const Status& status) {
    (void)Contain("a transfer's end", [&] { done(status); });
  }

  // Ends the offers for which `ends` has an error.
  template <class F>
  void EndOffers(const F& ends) {
    std::vector<std::pair<Done, Status>> tell;
    {
      const std::lock_guard lock(mutex_);
      for (auto it = offers_.begin(); it != offers_.end();) {
        Status why = ends(it->first, it->second);
        if (why.ok()) {
          ++it;
          continue;
        }
        tell.emplace_back(std::move(it->second.done), std::move(why));
        it = offers_.erase(it);
      }
    }
    for (const auto& [done, why] : tell) Tell(done, why);
  }

  /// Ends what is under way with lost processes, and what takes too long.
  void EndOverdue() {
    const auto now = Clock::now();
    std::vector<Status> lost;
    {
      const std::lock_guard lock(mutex_);
      if (!has_lost_ && now < look_at_) return;
      has_lost_ = false;
      lost = lost_;
    }
    look_at_ = now + kLook;
    const auto why = [&](int peer, bool late) {
      const Status& gone = lost[static_cast<size_t>(peer)];
      return !gone.ok() ? gone : late ? Silent(peer) : OkStatus();
    };
    guests_.remove_if([&](const Guest& g) {
      return (now > g.until && !g.offer) || (g.greeted && !lost[static_cast<size_t>(g.request.from)].ok());
    });
    // Of those who take what they are given too slowly.
    for (auto it = guests_.begin(); it != guests_.end();) {
      auto next = std::next(it);
      if (now > it->until) EndGuest(it, Silent(it->request.from));
      it = next;
    }
    EndOffers([&](const Name& name, const Offer& o) { return why(name.first, !o.taken && now > o.until); });
    EndVisits([&](const Visit& v) { return why(v.peer, now > v.until); });
  }

  Status Silent(int peer) const {
    return DeadlineExceeded(fmt::format("{} was silent for {} ms", NameOf(peer), setup_.timeout.count()));
  }

  template <class F>
  void EndVisits(const F& ends) {
    for (auto it = visits_.begin(); it != visits_.end();) {
      const Status why = ends(**it);
      it = why.ok() ? std::next(it) : EndVisit(it, why);
    }
  }

  // --- Fetching.

  Status Connect(Visit& v) {
    const Peer& peer = setup_.peers[static_cast<size_t>(v.peer)];
    if (peer.port == 0) return Unavailable(fmt::format("{} has no port for transfers between processes", peer.name));
    const Result<Addresses> found = Resolve(peer.host, std::to_string(peer.port), /*passive=*/false);
    if (!found.ok()) return found.status().WithContext(fmt::format("{} at '{}'", peer.name, peer.host));
    int error = 0;
    for (const addrinfo* at = found->get(); at != nullptr; at = at->ai_next) {
      v.socket = Fd(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      error = v.socket && connect(v.socket.get(), at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
      if (error == 0 || error == EINPROGRESS) break;
    }
    if (error != 0 && error != EINPROGRESS)
      return Unavailable(fmt::format("{} at {}:{}: {}", peer.name, peer.host, peer.port, std::strerror(error)));
    SendAtOnce(v.socket.get());
    v.connecting = true;
    std::memcpy(v.request.magic, kMagic, sizeof(kMagic));
    std::memcpy(v.request.secret, secret_.data(), secret_.size());
    v.request.key = v.key;
    v.request.size = v.bytes.size;
    v.request.from = setup_.self;
    v.asking = PieceOf(v.request);
    v.head = PieceOf(v.reply);
    return OkStatus();
  }

  /// What the visit ends with; nothing while it goes on.
  std::optional<Status> Go(Visit& v) {
    if (v.connecting) {
      int error = 0;
      socklen_t size = sizeof(error);
      getsockopt(v.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) return Unavailable(fmt::format("{}: {}", NameOf(v.peer), std::strerror(error)));
      v.connecting = false;
    }
    const auto step = [&](Moved moved) {
      if (moved != Moved::kNothing) v.until = Clock::now() + setup_.timeout;
      return moved;
    };
    const auto gone = [&] { return Unavailable(fmt::format("{} closed the connection", NameOf(v.peer))); };
    if (!v.asking.over()) {
      if (step(Write(v.socket.get(), v.asking)) == Moved::kEnd) return gone();
      if (!v.asking.over()) return std::nullopt;
    }
    if (!v.head.over()) {
      if (step(Read(v.socket.get(), v.head)) == Moved::kEnd) return gone();
      if (!v.head.over()) return std::nullopt;
      if (v.reply.text_size > kMostText || v.reply.code < 0 || v.reply.code > static_cast<int>(Code::kUnauthenticated))
        return DataLoss(fmt::format("{} answered in another way than Tenon does", NameOf(v.peer)));
      v.text.resize(v.reply.text_size);
      v.words = {reinterpret_cast<std::byte*>(v.text.data()), v.text.size(), 0};
    }
    if (!v.words.over()) {
      if (step(Read(v.socket.get(), v.words)) == Moved::kEnd) return gone();
      if (!v.words.over()) return std::nullopt;
    }
    if (v.reply.code != 0) return Status(static_cast<Code>(v.reply.code), v.text).WithContext(NameOf(v.peer));
    if (step(Read(v.socket.get(), v.bytes)) == Moved::kEnd && !v.bytes.over()) return gone();
    if (!v.bytes.over()) return std::nullopt;
    return OkStatus();
  }

  // --- Being fetched from.

  bool HasRoom() const {
    return Clock::now() >= accepts_from_ &&
           std::count_if(guests_.begin(), guests_.end(), [](const Guest& g) { return !g.greeted; }) < kMostStrangers;
  }

  void Accept() {
    while (HasRoom()) {
      Fd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) accepts_from_ = Clock::now() + kLook;
        return;
      }
      SendAtOnce(socket.get());
      Guest& guest = guests_.emplace_back();
      guest.socket = std::move(socket);
      guest.until = Clock::now() + kGreeting;
    }
  }

  /// False when the guest is to be let go of.
  bool Listen(Guest& g) {
    if (g.greeted) {
      // It has nothing more to say: this is its end.
      char byte;
      return recv(g.socket.get(), &byte, 1, MSG_PEEK) < 0 && (errno == EAGAIN || errno == EINTR);
    }
    if (Read(g.socket.get(), g.reading) == Moved::kEnd) return false;
    if (!g.reading.over()) return true;
    const Request& r = g.request;
    if (std::memcmp(r.magic, kMagic, sizeof(kMagic)) != 0 ||
        !EqualInConstantTime({r.secret, sizeof(r.secret)}, {secret_.data(), secret_.size()}))
      return false;
    if (r.from < 0 || static_cast<size_t>(r.from) >= setup_.peers.size()) return false;
    g.greeted = true;
    g.until = Clock::now() + setup_.timeout;
    return true;
  }

  /// Whoever waits for what is there now gets it.
  void GiveToWaiting() {
    const std::lock_guard lock(mutex_);
    for (Guest& g : guests_) {
      if (!g.greeted || g.offer) continue;
      const auto at = offers_.find({g.request.from, g.request.key});
      if (at == offers_.end() || at->second.taken) continue;
      Offer& offer = at->second;
      offer.taken = true;
      g.offer = at->first;
      g.until = Clock::now() + setup_.timeout;
      Status status = offer.status;
      if (status.ok() && offer.size != g.request.size) {
        status = InvalidArgument(fmt::format("process {} receives {} bytes under key {}, process {} sends {}",
                                             g.request.from, g.request.size, g.request.key, setup_.self, offer.size));
        offer.status = status;
      }
      g.text = std::string(status.message()).substr(0, kMostText);
      g.reply = {static_cast<int32_t>(status.code()), static_cast<uint32_t>(g.text.size())};
      const auto* head = reinterpret_cast<const char*>(&g.reply);
      g.text.insert(0, head, sizeof(g.reply));
      g.head = {reinterpret_cast<std::byte*>(g.text.data()), g.text.size(), 0};
      if (status.ok()) g.body = {const_cast<std::byte*>(offer.data), offer.size, 0};
    }
  }

  /// What the guest's offer ends with; nothing while it goes on.
  std::optional<Status> Give(Guest& g) {
    for (Piece* piece : {&g.head, &g.body}) {
      const Moved moved = Write(g.socket.get(), *piece);
      if (moved == Moved::kEnd) return Unavailable(fmt::format("{} closed the connection", NameOf(g.request.from)));
      if (moved != Moved::kNothing) g.until = Clock::now() + setup_.timeout;
      if (!piece->over()) return std::nullopt;
    }
    const std::lock_guard lock(mutex_);
    return offers_.at(*g.offer).status;
  }

  void EndGuest(std::list<Guest>::iterator it, const Status& status) {
    Done done;
    if (it->offer) {
      const std::lock_guard lock(mutex_);
      const auto at = offers_.find(*it->offer);
      done = std::move(at->second.done);
      offers_.erase(at);
    }
    guests_.erase(it);
    if (done) Tell(done, status);
  }

  void Poll() {
    std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0},
                               {listener_.get(), static_cast<short>(HasRoom() ? POLLIN : 0), 0}};
    for (const auto& v : visits_) {
      const bool writes = v->connecting || !v->asking.over();
      fds.push_back({v->socket.get(), static_cast<short>(writes ? POLLOUT : POLLIN), 0});
    }
    for (const Guest& g : guests_) fds.push_back({g.socket.get(), static_cast<short>(g.offer ? POLLOUT : POLLIN), 0});
    if (poll(fds.data(), fds.size(), Patience()) <= 0) return;
    uint64_t ignored;
    while (read(wake_.get(), &ignored, sizeof(ignored)) > 0) {
    }
    size_t i = 2;
    for (auto it = visits_.begin(); it != visits_.end(); ++i) {
      const std::optional<Status> end = fds[i].revents == 0 ? std::nullopt : Go(**it);
      it = end ? EndVisit(it, *end) : std::next(it);
    }
    for (auto it = guests_.begin(); it != guests_.end(); ++i) {
      const auto at = it++;
      if (fds[i].revents == 0) continue;
      if (!at->offer) {
        if (!Listen(*at)) guests_.erase(at);
      } else if (const std::optional<Status> end = Give(*at)) {
        EndGuest(at, *end);
      }
    }
    if (fds[1].revents != 0) Accept();
  }

  const Setup setup_;
  const std::array<char, 32> secret_;
  const Fd listener_, wake_;
  const pid_t owner_pid_;

  ForkSafeMutex mutex_;  ///< Of what follows, up to the thread's own.
  std::map<Name, Offer> offers_;
  std::list<std::unique_ptr<Visit>> fetches_;  ///< Not begun.
  int64_t under_way_ = 0;                      ///< Fetches.
  std::vector<Status> lost_;
  bool has_lost_ = false;  ///< Since it was looked last.
  bool stop_ = false;
  std::thread thread_;

  Clock::time_point look_at_;       ///< For what takes too long.
  Clock::time_point accepts_from_;  ///< Where there was no descriptor for who came.
  std::list<Guest> guests_;
  std::list<std::unique_ptr<Visit>> visits_;
};

Result<std::unique_ptr<Mailbox>> Mailbox::Open(const std::string& address) {
  const Result<Addresses> found = Resolve(address.empty() ? "0.0.0.0" : address, "0", /*passive=*/true);
  if (!found.ok()) return found.status().WithContext(fmt::format("this host's address '{}'", address));
  const addrinfo& at = **found;
  Fd listener(socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  if (!listener || bind(listener.get(), at.ai_addr, at.ai_addrlen) != 0 || listen(listener.get(), SOMAXCONN) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    return Unavailable(fmt::format("no port for transfers between processes: {}", std::strerror(errno)));
  }
  return std::unique_ptr<Mailbox>(new Mailbox(std::move(listener), PortOf(own)));
}

Mailbox::~Mailbox() {
  if (loop_ != nullptr) loop_->Stop();
}

void Mailbox::Begin(Setup setup) { loop_ = std::make_shared<Loop>(std::move(listener_), std::move(setup)); }

int64_t Mailbox::pending() const { return loop_ == nullptr ? 0 : loop_->pending(); }

void Mailbox::Post(int peer, int64_t key, const Status& status, const std::byte* data, size_t size, Done done) {
  loop_->Post(peer, key, status, data, size, std::move(done));
}
void Mailbox::Fetch(int peer, int64_t key, std::byte* to, size_t size, Done done) {
  loop_->Fetch(peer, key, to, size, std::move(done));
}
void Mailbox::Lost(int peer, const Status& why) {
  if (loop_ != nullptr) loop_->Lost(peer, why);
}
void Mailbox::Leave(const Status& why) {
  if (loop_ != nullptr) loop_->Lost(-1, why);
}

}  // namespace tenon::collectives
