#include "tenon/collectives/group.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tenon/collectives/load.h"
#include "tenon/collectives/local.h"
#include "tenon/collectives/shm.h"

namespace tenon::collectives {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

/// A store that processes share: one file per key, complete once it has its name.
class FileStore final : public Store {
 public:
  explicit FileStore(std::string folder) : folder_(std::move(folder)) {}
  Status Put(std::string_view key, std::string_view value) override {
    const std::string name = NameOf(key), draft = name + "." + std::to_string(getpid());
    std::ofstream(draft, std::ios::binary) << value;
    const bool made = link(draft.c_str(), name.c_str()) == 0;
    unlink(draft.c_str());
    return made ? OkStatus() : AlreadyExists(std::string(key));
  }
  Result<std::string> Get(std::string_view key, Milliseconds timeout) override {
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (true) {
      Result<std::string> got = TryGet(key);
      if (got.ok() || std::chrono::steady_clock::now() >= until)
        return got.ok() ? std::move(got) : DeadlineExceeded(std::string(key));
      std::this_thread::sleep_for(Milliseconds(1));
    }
  }
  Result<std::string> TryGet(std::string_view key) override {
    std::ifstream file(NameOf(key), std::ios::binary);
    if (!file) return NotFound(std::string(key));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  std::string NameOf(std::string_view key) const {
    std::string name = folder_ + "/";
    for (const char c : key) name += c == '/' ? '_' : c;
    return name;
  }
  std::string folder_;
};

Group::Setup SetupOf(int members, int self, Store* store, Milliseconds timeout, const std::string& secret = "s") {
  Group::Setup setup;
  for (int i = 0; i < members; ++i) {
    setup.meeting.nodes.push_back(i);
    setup.names.push_back("process " + std::to_string(i));
  }
  setup.meeting.self = self;
  setup.meeting.key = "job";
  setup.meeting.store = store;
  setup.meeting.timeout = timeout;
  setup.meeting.address = "127.0.0.1";
  setup.secret = secret;
  return setup;
}

std::vector<std::byte> Pattern(int from, int to, size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(from * 31 + to * 7 + i * 13 + i / 251);
  return out;
}

/// Everybody sends everybody `bytes` in two parts; OK when what arrived is what was sent.
Status SendAround(Group& group, const Tag& tag, size_t bytes) {
  std::vector<std::vector<std::byte>> out, in;
  std::vector<SendPart> sends;
  std::vector<ReceivePart> receives;
  for (int peer = 0; peer < group.size(); ++peer) {
    out.push_back(Pattern(group.self(), peer, bytes));
    in.emplace_back(bytes);
  }
  const size_t half = bytes / 3;
  for (int peer = 0; peer < group.size(); ++peer) {
    if (peer == group.self()) continue;
    const auto k = static_cast<size_t>(peer);
    sends.push_back({peer, out[k].data(), half});
    sends.push_back({peer, out[k].data() + half, bytes - half});
    receives.push_back({peer, in[k].data(), half});
    receives.push_back({peer, in[k].data() + half, bytes - half});
  }
  TENON_RETURN_IF_ERROR(group.Exchange(tag, sends, receives));
  for (int peer = 0; peer < group.size(); ++peer) {
    if (peer != group.self() && in[static_cast<size_t>(peer)] != Pattern(peer, group.self(), bytes))
      return DataLoss("wrong bytes of " + std::to_string(peer));
  }
  return OkStatus();
}

Tag TagOf(const std::string& name, uint64_t launch) {
  Tag tag;
  tag.name = name;
  tag.launch = launch;
  tag.program.low = std::hash<std::string>()(name);
  return tag;
}

constexpr size_t kSizes[] = {0, 1, 4, 1000, 4095, 4096, 100'003, size_t{3} << 20};

Status AllSizes(Group& group) {
  uint64_t launch = 0;
  for (const size_t bytes : kSizes) {
    if (Status s = SendAround(group, TagOf("sizes", ++launch), bytes); !s.ok())
      return s.WithContext(std::to_string(bytes) + " bytes");
  }
  return OkStatus();
}

/// `work` in a thread per member; their outcomes.
std::vector<Status> InThreads(int members, const std::function<Status(int self, Store*)>& work) {
  std::vector<Status> outcomes(static_cast<size_t>(members));
  const std::unique_ptr<Store> store = MakeLocalStore();
  std::vector<std::thread> threads;
  for (int i = 0; i < members; ++i)
    threads.emplace_back([&, i] { outcomes[static_cast<size_t>(i)] = work(i, store.get()); });
  for (std::thread& t : threads) t.join();
  return outcomes;
}

struct EngineCase {
  const char* name;
  std::function<Result<std::unique_ptr<Engine>>()> make;
  bool between_processes;
};

class Engines : public ::testing::TestWithParam<EngineCase> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Engine>> engine = GetParam().make();
    if (!engine.ok() && engine.status().code() == Code::kNotFound) GTEST_SKIP() << engine.status().ToString();
    ASSERT_TRUE(engine.ok()) << engine.status().ToString();
    engine_ = *std::move(engine);
  }
  std::unique_ptr<Engine> engine_;
};

/// Exchange `step` of a run, of a byte each way, with `peer` alone.
Status Swap(Launch& launch, uint32_t step, int peer) {
  const auto out = static_cast<std::byte>(step);
  std::byte in{};
  const SendPart send{peer, &out, 1};
  const ReceivePart receive{peer, &in, 1};
  TENON_RETURN_IF_ERROR(launch.Exchange(step, {&send, 1}, {&receive, 1}));
  return in == out ? OkStatus() : DataLoss("another exchange's byte");
}

TEST_P(Engines, MoveAllSizesBetweenAnyNumber) {
  for (const int members : {1, 2, 3, 5}) {
    for (const Status& s : InThreads(members, [&](int self, Store* store) -> Status {
           TENON_ASSIGN_OR_RETURN(const std::unique_ptr<Group> group,
                                  Group::Create(*engine_, SetupOf(members, self, store, Milliseconds(20'000))));
           return AllSizes(*group);
         })) {
      EXPECT_TRUE(s.ok()) << members << " members: " << s.ToString();
    }
  }
}

// Rounds of two exchanges between members 0 and 1, of which member 2 knows nothing, and one of each with it.
TEST_P(Engines, ExchangesMayLeaveMembersOut) {
  for (const Status& s : InThreads(3, [&](int self, Store* store) -> Status {
         TENON_ASSIGN_OR_RETURN(const std::unique_ptr<Group> group,
                                Group::Create(*engine_, SetupOf(3, self, store, Milliseconds(20'000))));
         Launch launch{group.get(), TagOf("f", 1)};
         for (int round = 0; round < 3; ++round) {
           if (self < 2) {
             TENON_RETURN_IF_ERROR(Swap(launch, 0, 1 - self));
             TENON_RETURN_IF_ERROR(Swap(launch, 1, 1 - self));
           }
           if (self != 1) TENON_RETURN_IF_ERROR(Swap(launch, 2, 2 - self));
           if (self != 0) TENON_RETURN_IF_ERROR(Swap(launch, 3, 3 - self));
         }
         return OkStatus();
       })) {
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
}

// A loop's exchange looks the same in every round.
TEST_P(Engines, SameExchangesOfDifferentRoundsAreTold) {
  const std::vector<Status> outcomes = InThreads(2, [&](int self, Store* store) -> Status {
    TENON_ASSIGN_OR_RETURN(const std::unique_ptr<Group> group,
                           Group::Create(*engine_, SetupOf(2, self, store, Milliseconds(20'000))));
    Launch launch{group.get(), TagOf("f", 1)};
    TENON_RETURN_IF_ERROR(Swap(launch, 0, 1 - self));
    if (self == 1) launch.tag.met.clear();
    return Swap(launch, 0, 1 - self);
  });
  for (const Status& s : outcomes) EXPECT_FALSE(s.ok());
}

TEST_P(Engines, AnotherOrderIsAnErrorThatNamesBothPrograms) {
  for (const size_t bytes : {size_t{8}, size_t{1} << 20}) {
    const std::vector<Status> outcomes = InThreads(2, [&](int self, Store* store) -> Status {
      TENON_ASSIGN_OR_RETURN(const std::unique_ptr<Group> group,
                             Group::Create(*engine_, SetupOf(2, self, store, Milliseconds(20'000))));
      Status first = SendAround(*group, TagOf(self == 0 ? "f" : "g", 1), bytes);
      const Status second = SendAround(*group, TagOf(self == 0 ? "g" : "f", 2), bytes);
      return second.ok() ? Internal("the group went on after an error") : first;
    });
    for (const Status& s : outcomes) {
      EXPECT_THAT(s.code(), AnyOf(Eq(Code::kInvalidArgument), Eq(Code::kUnavailable))) << s.ToString();
      EXPECT_THAT(std::string(s.message()), HasSubstr("'f'"));
      EXPECT_THAT(std::string(s.message()), HasSubstr("'g'"));
    }
  }
}

TEST_P(Engines, AnotherSizeIsAnError) {
  const std::vector<Status> outcomes = InThreads(2, [&](int self, Store* store) -> Status {
    TENON_ASSIGN_OR_RETURN(const std::unique_ptr<Group> group,
                           Group::Create(*engine_, SetupOf(2, self, store, Milliseconds(20'000))));
    return SendAround(*group, TagOf("f", 1), self == 0 ? 300'000 : 400'000);
  });
  for (const Status& s : outcomes) EXPECT_THAT(std::string(s.message()), HasSubstr("300000 bytes")) << s.ToString();
}

TEST_P(Engines, StrangersAreRefused) {
  const std::vector<Status> outcomes = InThreads(2, [&](int self, Store* store) -> Status {
    return Group::Create(*engine_, SetupOf(2, self, store, Milliseconds(20'000), self == 0 ? "s" : "t")).status();
  });
  EXPECT_EQ(outcomes[0].code(), Code::kPermissionDenied) << outcomes[0].ToString();
}

TEST_P(Engines, ASilentPeerIsAnErrorInTime) {
  const std::vector<Status> outcomes = InThreads(2, [&](int self, Store* store) -> Status {
    TENON_ASSIGN_OR_RETURN(const std::unique_ptr<Group> group,
                           Group::Create(*engine_, SetupOf(2, self, store, Milliseconds(700))));
    if (self == 1) {
      std::this_thread::sleep_for(Milliseconds(1500));
      return OkStatus();
    }
    const auto start = std::chrono::steady_clock::now();
    Status s = SendAround(*group, TagOf("f", 1), 100);
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited < Milliseconds(700)) return Internal("too early: " + s.ToString());
    return waited > Milliseconds(1400) ? Internal("too late") : s;
  });
  EXPECT_EQ(outcomes[0].code(), Code::kDeadlineExceeded) << outcomes[0].ToString();
}

TEST_P(Engines, WhoFailsTellsTheOthersWhy) {
  const std::vector<Status> outcomes = InThreads(3, [&](int self, Store* store) -> Status {
    TENON_ASSIGN_OR_RETURN(const std::unique_ptr<Group> group,
                           Group::Create(*engine_, SetupOf(3, self, store, Milliseconds(20'000))));
    if (self == 1) {
      std::this_thread::sleep_for(Milliseconds(100));
      group->Fail(InvalidArgument("the argument was poisoned"));
      return OkStatus();
    }
    return SendAround(*group, TagOf("f", 1), 100);
  });
  for (const int i : {0, 2}) {
    EXPECT_FALSE(outcomes[static_cast<size_t>(i)].ok());
    EXPECT_THAT(outcomes[static_cast<size_t>(i)].ToString(), HasSubstr("the argument was poisoned"));
  }
}

// A member that has sent what the others wait for need not wait until they have read it.
TEST_P(Engines, WhoHasSentEverythingMayLeave) {
  for (int round = 0; round < 100; ++round) {
    const std::vector<Status> outcomes = InThreads(2, [&](int self, Store* store) -> Status {
      TENON_ASSIGN_OR_RETURN(const std::unique_ptr<Group> group,
                             Group::Create(*engine_, SetupOf(2, self, store, Milliseconds(20'000))));
      const std::vector<std::byte> out = Pattern(1, 0, 3000);
      const SendPart send{0, out.data(), out.size()};
      if (self == 1) return group->Exchange(TagOf("f", 1), {&send, 1}, {});
      std::vector<std::byte> in(out.size());
      const ReceivePart receive{1, in.data(), in.size()};
      TENON_RETURN_IF_ERROR(group->Exchange(TagOf("f", 1), {}, {&receive, 1}));
      return in == out ? OkStatus() : DataLoss("wrong bytes");
    });
    for (const Status& s : outcomes) ASSERT_TRUE(s.ok()) << "round " << round << ": " << s.ToString();
  }
}

// Rounds in which one of three processes is killed at a random moment while data move.
TEST_P(Engines, AKilledPeerIsAnErrorOnAllOthersSoon) {
  if (!GetParam().between_processes) GTEST_SKIP() << "members are threads";
  const char* asked = std::getenv("TENON_KILL_ROUNDS");
  const int rounds = asked == nullptr ? 5 : std::atoi(asked);
  std::mt19937 random(7);
  for (int round = 0; round < rounds; ++round) {
    char folder[] = "/tmp/tenon_group_XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    std::vector<pid_t> members;
    for (int self = 0; self < 3; ++self) {
      const pid_t pid = fork();
      ASSERT_GE(pid, 0);
      if (pid == 0) {
        FileStore store(folder);
        Result<std::unique_ptr<Engine>> engine = GetParam().make();
        if (!engine.ok()) _exit(2);
        Result<std::unique_ptr<Group>> group = Group::Create(**engine, SetupOf(3, self, &store, Milliseconds(30'000)));
        if (!group.ok()) _exit(3);
        static_cast<void>(store.Put("ready" + std::to_string(self), "1").ok());
        for (uint64_t launch = 1;; ++launch) {
          const Status s = SendAround(**group, TagOf("f", launch), launch % 2 == 0 ? 100 : 200'000);
          if (s.ok()) continue;
          _exit(s.code() == Code::kUnavailable ? 0 : 4);
        }
      }
      members.push_back(pid);
    }
    FileStore store(folder);
    for (int self = 0; self < 3; ++self)
      EXPECT_TRUE(store.Get("ready" + std::to_string(self), Milliseconds(20'000)).ok());
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    const size_t victim = random() % 3;
    kill(members[victim], SIGKILL);
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < members.size(); ++i) {
      int state = 0;
      waitpid(members[i], &state, 0);
      if (i == victim) continue;
      EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << "round " << round << ", state " << state;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, Milliseconds(5000));
    std::filesystem::remove_all(folder);
  }
}

// Run by mpirun, in three processes, which meet in a folder named after it and its beginning. Members of a clique are
// numbered otherwise than MPI's processes.
class MpiRun : public ::testing::Test {
 protected:
  static std::string Folder() {
    std::ifstream file("/proc/" + std::to_string(getppid()) + "/stat");
    std::string text;
    std::getline(file, text, ')');  // The program's name may hold blanks.
    for (int field = 0; field < 20; ++field) file >> text;
    return "/tmp/tenon_mpi_" + std::to_string(getppid()) + "_" + text;
  }
  // Member 0 goes last.
  static void TearDownTestSuite() {
    if (!std::filesystem::exists(Folder())) return;
    FileStore store(Folder());
    if (self_ != 0) {
      EXPECT_TRUE(store.Put("ended" + std::to_string(self_), "").ok());
      return;
    }
    for (const char* key : {"ended1", "ended2"}) EXPECT_TRUE(store.Get(key, Milliseconds(30'000)).ok());
    std::filesystem::remove_all(Folder());
  }
  void SetUp() override {
    const char* mpi = std::getenv("TENON_TEST_MPI");
    if (mpi == nullptr) GTEST_SKIP() << "not run by mpirun";
    ASSERT_EQ(MpiOfThisProcess().value(), mpi);
    self_ = (std::atoi(std::getenv(std::string_view(mpi) == "openmpi" ? "OMPI_COMM_WORLD_RANK" : "PMI_RANK")) + 1) % 3;
    std::filesystem::create_directories(Folder());
    store_ = std::make_unique<FileStore>(Folder());
    engine_ = LoadEngine(mpi).value();
  }
  // Nobody leaves before all have seen what they are to see.
  void TearDown() override {
    if (store_ == nullptr) return;
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    EXPECT_TRUE(store_->Put(test + std::to_string(self_), "").ok());
    for (const char* member : {"0", "1", "2"}) EXPECT_TRUE(store_->Get(test + member, Milliseconds(30'000)).ok());
  }
  std::unique_ptr<Group> Meet(const std::string& key, int members, int self, int timeout_ms = 20'000) {
    Group::Setup setup = SetupOf(members, self, store_.get(), Milliseconds(timeout_ms));
    setup.meeting.key = key;
    Result<std::unique_ptr<Group>> group = Group::Create(*engine_, std::move(setup));
    EXPECT_TRUE(group.ok()) << group.status().ToString();
    return group.ok() ? *std::move(group) : nullptr;
  }

  static inline int self_ = 0;
  std::unique_ptr<FileStore> store_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(MpiRun, MovesAllSizes) {
  const std::unique_ptr<Group> all = Meet("sizes", 3, self_);
  ASSERT_NE(all, nullptr);
  for (int round = 0; round < 20; ++round) {
    const Status moved = AllSizes(*all);
    ASSERT_TRUE(moved.ok()) << "member " << self_ << ": " << moved.ToString();
  }
  // Two of them, while the third one is elsewhere.
  if (self_ == 1) return;
  const std::unique_ptr<Group> pair = Meet("pair", 2, self_ / 2);
  ASSERT_NE(pair, nullptr);
  const Status moved = AllSizes(*pair);
  EXPECT_TRUE(moved.ok()) << moved.ToString();
}

TEST_F(MpiRun, WhoHasSentEverythingMayLeave) {
  for (int round = 0; round < 30; ++round) {
    const std::unique_ptr<Group> group = Meet("leave" + std::to_string(round), 3, self_);
    ASSERT_NE(group, nullptr);
    const std::vector<std::byte> out = Pattern(1, 0, 3000);
    std::vector<std::byte> in(out.size());
    const SendPart sends[] = {{0, out.data(), out.size()}, {2, out.data(), out.size()}};
    const ReceivePart receive{1, in.data(), in.size()};
    const Status moved =
        self_ == 1 ? group->Exchange(TagOf("f", 1), sends, {}) : group->Exchange(TagOf("f", 1), {}, {&receive, 1});
    ASSERT_TRUE(moved.ok()) << "round " << round << ", member " << self_ << ": " << moved.ToString();
    ASSERT_TRUE(self_ == 1 || in == out);
  }
}

TEST_F(MpiRun, AnotherOrderIsAnErrorThatNamesBothPrograms) {
  const std::unique_ptr<Group> group = Meet("order", 3, self_);
  ASSERT_NE(group, nullptr);
  const Status failed = SendAround(*group, TagOf(self_ == 0 ? "f" : "g", 1), 1 << 20);
  EXPECT_THAT(std::string(failed.message()), HasSubstr("'f'"));
  EXPECT_THAT(std::string(failed.message()), HasSubstr("'g'"));
  EXPECT_FALSE(SendAround(*group, TagOf("f", 2), 8).ok());
}

TEST_F(MpiRun, ASilentPeerIsAnErrorInTime) {
  const std::unique_ptr<Group> group = Meet("silence", 3, self_, 700);
  ASSERT_NE(group, nullptr);
  if (self_ == 1) {
    std::this_thread::sleep_for(Milliseconds(2000));
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  const Status failed = SendAround(*group, TagOf("f", 1), 100);
  EXPECT_THAT(failed.ToString(), HasSubstr("DEADLINE_EXCEEDED"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, Milliseconds(1900));
}

TEST_F(MpiRun, WhoFailsTellsTheOthersWhy) {
  const std::unique_ptr<Group> group = Meet("failure", 3, self_);
  ASSERT_NE(group, nullptr);
  if (self_ == 1) {
    std::this_thread::sleep_for(Milliseconds(100));
    group->Fail(InvalidArgument("the argument was poisoned"));
    return;
  }
  const Status failed = SendAround(*group, TagOf("f", 1), 5 << 20);
  EXPECT_THAT(failed.ToString(), HasSubstr("the argument was poisoned"));
}

INSTANTIATE_TEST_SUITE_P(
    , Engines,
    ::testing::Values(EngineCase{"local", [] { return Result<std::unique_ptr<Engine>>(MakeLocalEngine()); }, false},
                      EngineCase{"shm", [] { return Result<std::unique_ptr<Engine>>(MakeShmEngine()); }, true},
                      EngineCase{"gloo", [] { return LoadEngine("gloo"); }, true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenon::collectives
