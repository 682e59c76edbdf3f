#include "tenon/collectives/mailbox.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

namespace tenon::collectives {
namespace {

using ::testing::HasSubstr;

/// Mailboxes of so many processes, all in this one.
std::vector<std::unique_ptr<Mailbox>> Open(int count, Milliseconds timeout = Milliseconds(20'000),
                                           const std::string& last_secret = "secret",
                                           const std::string& host = "127.0.0.1") {
  std::vector<std::unique_ptr<Mailbox>> boxes;
  std::vector<Mailbox::Peer> peers;
  for (int i = 0; i < count; ++i) {
    boxes.push_back(*Mailbox::Open(host));
    peers.push_back({host, boxes.back()->port(), "process " + std::to_string(i)});
  }
  for (int i = 0; i < count; ++i)
    boxes[static_cast<size_t>(i)]->Begin({i, i + 1 == count ? last_secret : "secret", peers, timeout});
  return boxes;
}

struct Outcome {
  std::promise<Status> promise;
  std::future<Status> future = promise.get_future();
  Mailbox::Done Done() {
    return [this](const Status& s) { promise.set_value(s); };
  }
  Status Get() { return future.get(); }
};

std::vector<std::byte> Bytes(size_t n, int seed) {
  std::vector<std::byte> bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 251 + static_cast<size_t>(seed));
  return bytes;
}

TEST(Mailbox, EitherSideMayComeFirst) {
  const auto boxes = Open(2);
  for (const size_t size : {size_t{0}, size_t{5}, size_t{8} << 20}) {
    for (const bool post_first : {true, false}) {
      const std::vector<std::byte> sent = Bytes(size, 1);
      std::vector<std::byte> got(size);
      Outcome posted, fetched;
      const auto post = [&] { boxes[0]->Post(1, 7, OkStatus(), sent.data(), size, posted.Done()); };
      const auto fetch = [&] { boxes[1]->Fetch(0, 7, got.data(), size, fetched.Done()); };
      post_first ? post() : fetch();
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      post_first ? fetch() : post();
      EXPECT_TRUE(fetched.Get().ok());
      EXPECT_TRUE(posted.Get().ok());
      EXPECT_EQ(got, sent);
    }
  }
  EXPECT_EQ(boxes[0]->pending() + boxes[1]->pending(), 0);
}

TEST(Mailbox, HostsMayHaveAddressesOfVersion6) {
  if (!Mailbox::Open("::1").ok()) GTEST_SKIP() << "this machine has no address of version 6";
  const auto boxes = Open(2, Milliseconds(20'000), "secret", "::1");
  const std::vector<std::byte> sent = Bytes(1000, 1);
  std::vector<std::byte> got(sent.size());
  Outcome posted, fetched;
  boxes[0]->Post(1, 7, OkStatus(), sent.data(), sent.size(), posted.Done());
  boxes[1]->Fetch(0, 7, got.data(), got.size(), fetched.Done());
  EXPECT_TRUE(fetched.Get().ok());
  EXPECT_TRUE(posted.Get().ok());
  EXPECT_EQ(got, sent);
}

// Far more than there are threads anywhere, in orders that do not agree.
TEST(Mailbox, ManyAtOnceInAnyOrder) {
  constexpr int kProcesses = 3, kKeys = 200;
  const auto boxes = Open(kProcesses);
  std::vector<std::vector<std::byte>> sent, got;
  std::vector<std::unique_ptr<Outcome>> outcomes;
  const auto for_pairs = [&](const auto& f) {
    for (int from = 0; from < kProcesses; ++from) {
      for (int to = 0; to < kProcesses; ++to) {
        for (int key = 0; from != to && key < kKeys; ++key) f(from, to, key);
      }
    }
  };
  for_pairs([&](int from, int to, int key) {
    sent.push_back(Bytes(1000 + static_cast<size_t>(key), from * 7 + to * 3 + key));
    got.emplace_back(sent.back().size());
  });
  size_t i = 0;
  for_pairs([&](int from, int to, int key) {
    outcomes.push_back(std::make_unique<Outcome>());
    boxes[static_cast<size_t>(from)]->Post(to, key, OkStatus(), sent[i].data(), sent[i].size(),
                                           outcomes.back()->Done());
    ++i;
  });
  for_pairs([&](int from, int to, int key) {
    --i;  // Backwards, and so the keys.
    const int last_from = kProcesses - 1 - from, last_to = kProcesses - 1 - to, last_key = kKeys - 1 - key;
    outcomes.push_back(std::make_unique<Outcome>());
    boxes[static_cast<size_t>(last_to)]->Fetch(last_from, last_key, got[i].data(), got[i].size(),
                                               outcomes.back()->Done());
  });
  for (const auto& outcome : outcomes) {
    const Status s = outcome->Get();
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
  EXPECT_EQ(got, sent);
}

TEST(Mailbox, ErrorsTravelAndSizesAreCompared) {
  const auto boxes = Open(2);
  std::vector<std::byte> sent = Bytes(10, 1), got(10);
  {
    Outcome posted, fetched;
    boxes[0]->Post(1, 1, Aborted("on purpose"), nullptr, 0, posted.Done());
    boxes[1]->Fetch(0, 1, got.data(), 10, fetched.Done());
    EXPECT_EQ(posted.Get().code(), Code::kAborted);
    const Status s = fetched.Get();
    EXPECT_EQ(s.code(), Code::kAborted);
    EXPECT_EQ(s.message(), "process 0: on purpose");
  }
  {
    Outcome posted, fetched;
    boxes[0]->Post(1, 2, OkStatus(), sent.data(), 10, posted.Done());
    boxes[1]->Fetch(0, 2, got.data(), 4, fetched.Done());
    for (const Status& s : {posted.Get(), fetched.Get()}) {
      EXPECT_EQ(s.code(), Code::kInvalidArgument);
      EXPECT_THAT(std::string(s.message()), HasSubstr("process 1 receives 4 bytes under key 2, process 0 sends 10"));
    }
  }
  {
    Outcome first, second, fetched;
    boxes[0]->Post(1, 3, OkStatus(), sent.data(), 10, first.Done());
    boxes[0]->Post(1, 3, OkStatus(), sent.data(), 10, second.Done());
    EXPECT_EQ(second.Get().code(), Code::kAlreadyExists);
    boxes[1]->Fetch(0, 3, got.data(), 10, fetched.Done());
    EXPECT_TRUE(fetched.Get().ok());
    EXPECT_TRUE(first.Get().ok());
  }
  Outcome self;
  boxes[0]->Post(0, 3, OkStatus(), sent.data(), 10, self.Done());
  EXPECT_EQ(self.Get().code(), Code::kInvalidArgument);
}

TEST(Mailbox, StrangersAreLetGoOf) {
  const auto boxes = Open(2, Milliseconds(20'000), "another secret");
  std::vector<std::byte> sent = Bytes(10, 1), got(10);
  Outcome posted, fetched;
  boxes[0]->Post(1, 1, OkStatus(), sent.data(), 10, posted.Done());
  boxes[1]->Fetch(0, 1, got.data(), 10, fetched.Done());
  EXPECT_EQ(fetched.Get().code(), Code::kUnavailable);
  EXPECT_EQ(got, std::vector<std::byte>(10));
  // One who says something else, and many who say nothing.
  std::vector<int> sockets;
  for (int i = 0; i < 100; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(boxes[0]->port());
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
    sockets.push_back(fd);
  }
  const std::string words(64, 'x');
  ASSERT_EQ(send(sockets[0], words.data(), words.size(), MSG_NOSIGNAL), 64);
  char byte;
  EXPECT_LE(recv(sockets[0], &byte, 1, 0), 0);
  for (const int fd : sockets) close(fd);
  boxes[0]->Leave(Unavailable("left"));
  EXPECT_EQ(posted.Get().code(), Code::kUnavailable);
}

TEST(Mailbox, NobodyWaitsForWhoDoesNotCome) {
  auto boxes = Open(3, Milliseconds(200));
  std::vector<std::byte> bytes = Bytes(10, 1);
  Outcome posted, fetched;
  boxes[0]->Post(1, 1, OkStatus(), bytes.data(), 10, posted.Done());
  boxes[0]->Fetch(1, 2, bytes.data(), 10, fetched.Done());
  for (Outcome* o : {&posted, &fetched}) {
    const Status s = o->Get();
    EXPECT_TRUE(s.code() == Code::kDeadlineExceeded || s.code() == Code::kUnavailable) << s.ToString();
    EXPECT_THAT(std::string(s.message()), HasSubstr("process 1"));
  }
  // One that is gone, before and after it is known.
  boxes[2] = nullptr;
  Outcome gone, lost;
  boxes[0]->Fetch(2, 1, bytes.data(), 10, gone.Done());
  EXPECT_EQ(gone.Get().code(), Code::kUnavailable);
  boxes[0]->Lost(2, Unavailable("process 2 is gone"));
  boxes[0]->Fetch(2, 1, bytes.data(), 10, lost.Done());
  EXPECT_EQ(lost.Get().message(), "process 2 is gone");
}

TEST(Mailbox, ItsEndIsTheEndOfAll) {
  auto boxes = Open(2);
  std::vector<std::byte> bytes = Bytes(10, 1);
  Outcome posted, fetched, other;
  boxes[0]->Post(1, 1, OkStatus(), bytes.data(), 10, posted.Done());
  boxes[0]->Fetch(1, 2, bytes.data(), 10, fetched.Done());
  boxes[1]->Fetch(0, 3, bytes.data(), 10, other.Done());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  boxes[0] = nullptr;
  EXPECT_EQ(posted.Get().code(), Code::kCancelled);
  EXPECT_EQ(fetched.Get().code(), Code::kCancelled);
  EXPECT_EQ(other.Get().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace tenon::collectives
