// The engine "openmpi" or "mpich", by whose mpi.h it was built: messages of the MPI that started the processes. Nothing
// of it leaves this shared object but the C table.

#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tenon/collectives/engine_support.h"

using namespace tenon::collectives::engine;  // NOLINT(google-build-using-namespace): one file, one library.

namespace {

#ifdef OPEN_MPI
constexpr const char* kName = "openmpi";
#else
constexpr const char* kName = "mpich";
#endif

/// Arrays cross in pieces of so many bytes, so many of them at a time in each direction between two members. MPI reads
/// and writes pieces alone, never the caller's memory: what a dead or silent peer leaves unfinished hurts nobody.
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kPieces = 4;
/// Who waits asks MPI again at once so many times, then sleeps ever longer.
constexpr int kAsksAtOnce = 2000;
constexpr std::chrono::microseconds kLongestSleep{200};
/// Asks between two looks whether others have given up.
constexpr int kAsksPerLook = 64;
/// What a peer sent before it left may come behind the word that it left, for so long.
constexpr Milliseconds kGrace{200};
/// How long unfinished receives may take to be cancelled.
constexpr Milliseconds kCancelTime{200};
/// How long the others may take to end as well.
constexpr Milliseconds kFinalizeTime{30000};

/// Tags: arrays, and the word that nothing more will come.
constexpr int kData = 0, kFarewell = 1;

struct Failure : std::runtime_error {
  Failure(int c, const std::string& text) : std::runtime_error(text), code(c) {}
  int code;
};

void Check(int mpi_code, const char* what) {
  if (mpi_code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(mpi_code, text, &length);
  throw Failure(kUnavailable, std::string(what) + ": " + text);
}

bool IsFinalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

/// Communicators of all channels that there were.
struct Communicators {
  std::mutex mutex;
  std::vector<MPI_Comm> all;
};
Communicators& TheCommunicators() {
  static Communicators& communicators = *new Communicators;
  return communicators;
}

/// Receives the words of farewell that everybody sends everybody: MPI complains of what is left.
void TakeFarewells(Clock::time_point until) {
  const std::lock_guard<std::mutex> lock(TheCommunicators().mutex);
  for (MPI_Comm comm : TheCommunicators().all) {
    int expected = 0;
    if (MPI_Comm_size(comm, &expected) != MPI_SUCCESS) return;
    for (--expected; expected > 0 && Clock::now() < until;) {
      int there = 0;
      MPI_Status status;
      if (MPI_Iprobe(MPI_ANY_SOURCE, kFarewell, comm, &there, &status) != MPI_SUCCESS) return;
      if (there == 0) {
        std::this_thread::sleep_for(Milliseconds(1));
        continue;
      }
      MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, kFarewell, comm, MPI_STATUS_IGNORE);
      --expected;
    }
  }
}

/// MPI ends with the process, if the engine began it. MPI_Finalize waits for all processes, which may be gone or stuck:
/// then this one ends without it, and mpirun says so.
void FinalizeAtExit() {
  static const pid_t beginner = getpid();
  std::atexit([] {
    if (getpid() != beginner || IsFinalized()) return;
    static std::atomic<bool> done{false};
    const auto until = Clock::now() + kFinalizeTime;
    std::thread([until] {
      TakeFarewells(until);
      MPI_Finalize();
      done = true;
    }).detach();
    while (!done && Clock::now() < until) std::this_thread::sleep_for(Milliseconds(1));
  });
}

/// A process that has two MPIs calls one for the other, with handles that mean nothing there.
void CheckOnlyMpi() {
#ifdef OPEN_MPI
  constexpr const char* kFiles[] = {"libmpi.so.40"};
#else
  constexpr const char* kFiles[] = {"libmpich.so", "libmpi.so.12"};
#endif
  Dl_info where{};
  if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &where) == 0 || where.dli_fname == nullptr) return;
  const std::string file = where.dli_fname;
  for (const char* own : kFiles) {
    if (file.find(own) != std::string::npos) return;
  }
  throw Failure(kFailedPrecondition, "this process has another MPI loaded: " + file);
}

void Begin() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  CheckOnlyMpi();
  if (IsFinalized()) throw Failure(kFailedPrecondition, "MPI_Finalize has been called");
  int initialized = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialized);
  if (initialized != 0) {
    Check(MPI_Query_thread(&level), "MPI_Query_thread");
  } else {
    Check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // Otherwise an error ends the process.
    FinalizeAtExit();
  }
  if (level < MPI_THREAD_MULTIPLE) {
    throw Failure(kFailedPrecondition,
                  "MPI was initialized for fewer threads than MPI_THREAD_MULTIPLE, which the engine needs");
  }
}

/// A member, as it tells the others.
struct Member {
  int rank = 0, world = 0;
  int meeting = 0;  ///< How many it has come to.

  std::string Text() const {
    return std::to_string(rank) + " " + std::to_string(world) + " " + std::to_string(meeting);
  }
  static Member Self() {
    static std::atomic<int> meetings{0};
    Member self;
    Check(MPI_Comm_rank(MPI_COMM_WORLD, &self.rank), "MPI_Comm_rank");
    Check(MPI_Comm_size(MPI_COMM_WORLD, &self.world), "MPI_Comm_size");
    self.meeting = meetings++;
    return self;
  }
  static Member Parse(const std::string& text) {
    Member m;
    if (std::sscanf(text.c_str(), "%d %d %d", &m.rank, &m.world, &m.meeting) != 3)
      throw Failure(kInternal, "a member says '" + text + "' of itself");
    return m;
  }
};

/// A piece that MPI moves.
struct Piece {
  std::vector<std::byte> bytes;
  std::byte* target = nullptr;  ///< Where received ones go.
  MPI_Request request = MPI_REQUEST_NULL;
};

/// The pieces of one direction between this member and another, in their order.
struct Lane {
  std::deque<std::unique_ptr<Piece>> under_way;
  std::vector<std::unique_ptr<Piece>> idle;

  std::unique_ptr<Piece> Take(size_t bytes) {
    std::unique_ptr<Piece> piece;
    if (idle.empty()) {
      piece = std::make_unique<Piece>();
    } else {
      piece = std::move(idle.back());
      idle.pop_back();
    }
    piece->bytes.resize(bytes);
    return piece;
  }
};

/// What one call of Exchange has to move in one direction between two members.
class Parts {
 public:
  void Add(const TenonEnginePart& part) {
    if (part.bytes != 0) parts_.push_back(part);
  }
  bool empty() const { return next_ == parts_.size(); }
  /// The next piece of it.
  std::pair<std::byte*, size_t> Next() {
    const TenonEnginePart& part = parts_[next_];
    const size_t bytes = std::min(kPieceBytes, part.bytes - offset_);
    std::byte* data = static_cast<std::byte*>(part.data) + offset_;
    offset_ += bytes;
    if (offset_ == part.bytes) {
      ++next_;
      offset_ = 0;
    }
    return {data, bytes};
  }

 private:
  std::vector<TenonEnginePart> parts_;
  size_t next_ = 0, offset_ = 0;
};

}  // namespace

/// Members have a communicator of their own, and the numbers there that they have in the clique. It is never given
/// back, since what was sent and not received may lie in it.
struct TenonEngineChannel {
  MPI_Comm comm = MPI_COMM_NULL;
  int self = 0, size = 1;
  std::map<int, Lane> outgoing, incoming;
  std::atomic<bool> given_up{false};
  std::atomic<bool> told{false};

  /// Tells the others that nothing more will come.
  void SayFarewell() {
    if (told.exchange(true) || IsFinalized()) return;
    for (int peer = 0; peer < size; ++peer) {
      if (peer == self) continue;
      static char nothing = 0;
      MPI_Request request = MPI_REQUEST_NULL;
      if (MPI_Isend(&nothing, 0, MPI_BYTE, peer, kFarewell, comm, &request) == MPI_SUCCESS) MPI_Request_free(&request);
    }
  }
  bool HasLeft(int peer) const {
    int there = 0;
    Check(MPI_Iprobe(peer, kFarewell, comm, &there, MPI_STATUS_IGNORE), "MPI_Iprobe");
    return there != 0;
  }

  ~TenonEngineChannel() {
    SayFarewell();
    if (IsFinalized()) {
      for (auto* lanes : {&outgoing, &incoming}) {
        for (auto& [peer, lane] : *lanes) Leak(lane);
      }
      return;
    }
    for (auto& [peer, lane] : incoming) {
      for (auto& piece : lane.under_way) MPI_Cancel(&piece->request);
    }
    const auto until = Clock::now() + kCancelTime;
    for (auto* lanes : {&incoming, &outgoing}) {
      for (auto& [peer, lane] : *lanes) {
        while (!lane.under_way.empty()) {
          int done = 0;
          MPI_Test(&lane.under_way.front()->request, &done, MPI_STATUS_IGNORE);
          if (done != 0)
            lane.under_way.pop_front();
          else if (Clock::now() < until)
            sched_yield();
          else
            break;
        }
        Leak(lane);
      }
    }
  }

 private:
  /// MPI may still write to what is under way.
  static void Leak(Lane& lane) {
    for (auto& piece : lane.under_way) (void)piece.release();
    lane.under_way.clear();
  }
};

namespace {

template <class Body>
int Guarded(char* error, Body body) {
  try {
    body();
    return 0;
  } catch (const Failure& e) {
    Write(error, std::string(kName) + ": " + e.what());
    return e.code;
  } catch (const std::exception& e) {
    Write(error, std::string(kName) + ": " + e.what());
  } catch (...) {
    Write(error, std::string(kName) + ": an unknown exception");
  }
  return kInternal;
}

std::vector<Member> Meet(const TenonEngineMeeting& meeting) {
  const auto deadline = Clock::now() + Milliseconds(meeting.timeout_ms);
  const std::string prefix = std::string(meeting.key) + "/" + kName + "/";
  const std::string text = Member::Self().Text();
  if (meeting.store.put(meeting.store.self, (prefix + std::to_string(meeting.self)).c_str(), text.data(),
                        text.size()) != 0) {
    throw Failure(kUnavailable, "the key-value store does not take what this process says of itself");
  }
  std::vector<Member> members;
  for (int i = 0; i < meeting.size; ++i) {
    const auto left = std::chrono::duration_cast<Milliseconds>(deadline - Clock::now());
    const std::string key = prefix + std::to_string(i);
    const std::optional<std::string> of_member = Fetch(meeting.store, key, std::max(Milliseconds(1), left));
    if (!of_member) throw Failure(kUnavailable, NotEveryProcessCame(key));
    members.push_back(Member::Parse(*of_member));
  }
  return members;
}

/// A communicator of the members, numbered as they are.
MPI_Comm CommunicatorOf(const std::vector<Member>& members) {
  std::vector<int> ranks;
  for (const Member& m : members) {
    if (m.world != members[0].world || std::count(ranks.begin(), ranks.end(), m.rank) != 0) {
      throw Failure(kFailedPrecondition, "the processes were not started together by mpirun: process " +
                                             std::to_string(&m - members.data()) + " is number " +
                                             std::to_string(m.rank) + " of " + std::to_string(m.world));
    }
    ranks.push_back(m.rank);
  }
  MPI_Group world, group;
  MPI_Comm comm = MPI_COMM_NULL;
  Check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  Check(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group), "MPI_Group_incl");
  // Cliques that meet at the same time meet under tags of their own: every tag up to 32767 is valid.
  const int tag = (members[0].rank * 31 + members[0].meeting) % 32767;
  Check(MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &comm), "MPI_Comm_create_group");
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  Check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  const std::lock_guard<std::mutex> lock(TheCommunicators().mutex);
  TheCommunicators().all.push_back(comm);
  return comm;
}

int Connect(const TenonEngineMeeting* meeting, TenonEngineChannel** channel, char* error) {
  return Guarded(error, [&] {
    Begin();
    const std::vector<Member> members = Meet(*meeting);
    auto made = std::make_unique<TenonEngineChannel>();
    made->self = meeting->self;
    made->size = meeting->size;
    made->comm = CommunicatorOf(members);
    *channel = made.release();
  });
}

/// One call of Exchange.
class Exchange {
 public:
  Exchange(TenonEngineChannel& channel, Milliseconds timeout) : channel_(channel), timeout_(timeout) {}

  void Send(const TenonEnginePart& part) { sends_[part.peer].Add(part); }
  void Receive(const TenonEnginePart& part) { receives_[part.peer].Add(part); }

  void Run() {
    auto deadline = Clock::now() + timeout_;
    std::chrono::microseconds sleep{1};
    for (int asks = 0; !Step();) {
      if (moved_) {
        moved_ = false;
        asks = 0;
        sleep = std::chrono::microseconds(1);
        deadline = Clock::now() + timeout_;
        continue;
      }
      if (++asks % kAsksPerLook == 0) LookAround(deadline);
      if (asks < kAsksAtOnce) {
        sched_yield();
      } else {
        std::this_thread::sleep_for(sleep);
        sleep = std::min(kLongestSleep, sleep * 2);
        LookAround(deadline);
      }
    }
  }

 private:
  /// Whether all is done.
  bool Step() {
    bool done = true;
    for (auto& [peer, parts] : receives_) {
      Lane& lane = channel_.incoming[peer];
      while (lane.under_way.size() < kPieces && !parts.empty()) {
        const auto [data, bytes] = parts.Next();
        std::unique_ptr<Piece> piece = lane.Take(bytes);
        piece->target = data;
        Check(MPI_Irecv(piece->bytes.data(), static_cast<int>(bytes), MPI_BYTE, peer, kData, channel_.comm,
                        &piece->request),
              "MPI_Irecv");
        lane.under_way.push_back(std::move(piece));
      }
      Finish(lane);
      done = done && lane.under_way.empty() && parts.empty();
    }
    for (auto& [peer, parts] : sends_) {
      Lane& lane = channel_.outgoing[peer];
      while (lane.under_way.size() < kPieces && !parts.empty()) {
        const auto [data, bytes] = parts.Next();
        std::unique_ptr<Piece> piece = lane.Take(bytes);
        std::memcpy(piece->bytes.data(), data, bytes);
        piece->target = nullptr;
        Check(MPI_Isend(piece->bytes.data(), static_cast<int>(bytes), MPI_BYTE, peer, kData, channel_.comm,
                        &piece->request),
              "MPI_Isend");
        lane.under_way.push_back(std::move(piece));
      }
      Finish(lane);
      done = done && lane.under_way.empty() && parts.empty();
    }
    return done;
  }

  void Finish(Lane& lane) {
    while (!lane.under_way.empty()) {
      Piece& piece = *lane.under_way.front();
      int done = 0;
      Check(MPI_Test(&piece.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0) return;
      if (piece.target != nullptr) std::memcpy(piece.target, piece.bytes.data(), piece.bytes.size());
      lane.idle.push_back(std::move(lane.under_way.front()));
      lane.under_way.pop_front();
      moved_ = true;
    }
  }

  /// Throws when there is nothing to wait for any more.
  void LookAround(Clock::time_point deadline) {
    if (channel_.given_up) throw Failure(kUnavailable, "the connections were given up");
    for (const auto& [peer, parts] : receives_) Look(peer, channel_.incoming[peer], parts, deadline);
    for (const auto& [peer, parts] : sends_) Look(peer, channel_.outgoing[peer], parts, deadline);
  }
  void Look(int peer, const Lane& lane, const Parts& parts, Clock::time_point deadline) {
    if (lane.under_way.empty() && parts.empty()) return;
    const auto now = Clock::now();
    if (channel_.HasLeft(peer)) {
      if (now < left_.try_emplace(peer, now).first->second + kGrace) return;
      throw Failure(kUnavailable, "member " + std::to_string(peer) + " has given up the connection");
    }
    if (now < deadline) return;
    throw Failure(kDeadlineExceeded,
                  "member " + std::to_string(peer) + " sent nothing for " + std::to_string(timeout_.count()) + " ms");
  }

  TenonEngineChannel& channel_;
  const Milliseconds timeout_;
  std::map<int, Parts> sends_, receives_;
  std::map<int, Clock::time_point> left_;  ///< Since when peers are known to have.
  bool moved_ = false;
};

int RunExchange(TenonEngineChannel* channel, const TenonEnginePart* sends, size_t num_sends,
                const TenonEnginePart* receives, size_t num_receives, int64_t timeout_ms, char* error) {
  const int code = Guarded(error, [&] {
    if (channel->given_up) throw Failure(kUnavailable, "the connections were given up");
    if (IsFinalized()) throw Failure(kFailedPrecondition, "MPI_Finalize has been called");
    Exchange exchange(*channel, Milliseconds(timeout_ms));
    for (size_t i = 0; i < num_receives; ++i) exchange.Receive(receives[i]);
    for (size_t i = 0; i < num_sends; ++i) exchange.Send(sends[i]);
    exchange.Run();
  });
  if (code != 0) {
    channel->given_up = true;
    channel->SayFarewell();
  }
  return code;
}

void Abort(TenonEngineChannel* channel) {
  channel->given_up = true;
  channel->SayFarewell();
}

void Destroy(TenonEngineChannel* channel) { delete channel; }

const TenonEngineTable kTable = {TENON_ENGINE_VERSION, kName, &Connect, &RunExchange, &Abort, &Destroy};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TenonEngineTable* tenon_engine_create(int32_t version) {
#ifdef OPEN_MPI
  // Its components look their functions up in the program.
  dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
#endif
  return version == TENON_ENGINE_VERSION ? &kTable : nullptr;
}
