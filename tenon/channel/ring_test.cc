#include "tenon/channel/ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace tenon::channel {
namespace {

using wire::Verb;

constexpr size_t kCapacity = 1024;

struct Ends {
  Ends() : memory(Ring::SizeBytes(kCapacity) / 8 + 64), writer(Bytes(), kCapacity), reader(Bytes(), kCapacity) {}
  char* Bytes() {
    auto* bytes = reinterpret_cast<char*>(memory.data());
    return bytes + (64 - reinterpret_cast<uintptr_t>(bytes) % 64) % 64;
  }
  std::vector<uint64_t> memory;
  Ring writer, reader;
};

TEST(Ring, FramesOfAllLengthsArriveInOrder) {
  Ends ends;
  constexpr int kFrames = 3000;
  std::thread writing([&] {
    std::mt19937 random(7);
    for (int i = 0; i < kFrames; ++i) {
      const std::string message(random() % (i % 50 == 0 ? 5000 : 100), static_cast<char>(i));
      ASSERT_TRUE(ends.writer.Write(Verb::kAnswer, static_cast<uint64_t>(i), message).ok());
    }
  });
  std::mt19937 random(7);
  Ring::Frame frame;
  for (int i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(ends.reader.Read(frame).ok());
    ASSERT_EQ(frame.number, static_cast<uint64_t>(i));
    ASSERT_EQ(frame.verb, Verb::kAnswer);
    ASSERT_EQ(frame.message, std::string(random() % (i % 50 == 0 ? 5000 : 100), static_cast<char>(i)));
  }
  writing.join();
  EXPECT_FALSE(*ends.reader.TryRead(frame));
}

// One frame at a time, with both sides going to sleep between them: a lost wake-up hangs.
TEST(Ring, NobodySleepsForEver) {
  Ends there, back;
  constexpr uint64_t kRounds = 20000;
  std::thread echo([&] {
    Ring::Frame frame;
    for (uint64_t i = 0; i < kRounds; ++i) {
      ASSERT_TRUE(there.reader.Read(frame).ok());
      ASSERT_TRUE(back.writer.Write(Verb::kAnswer, frame.number + 1, {}).ok());
    }
  });
  Ring::Frame frame;
  for (uint64_t i = 0; i < kRounds; ++i) {
    back.reader.set_spin_ns(i % 3 == 0 ? 1000 : 0);
    ASSERT_TRUE(there.writer.Write(Verb::kHello, i, {}).ok());
    ASSERT_TRUE(back.reader.Read(frame).ok());
    ASSERT_EQ(frame.number, i + 1);
  }
  echo.join();
}

// Two threads of one side read in turn, one of which only looks: whoever stops looking leaves nothing behind unseen.
TEST(Ring, LookingBesideASleeper) {
  Ends there, back;
  constexpr uint64_t kRounds = 20000;
  std::thread echo([&] {
    Ring::Frame frame;
    for (uint64_t i = 0; i < kRounds; ++i) {
      ASSERT_TRUE(there.reader.Read(frame).ok());
      // Every now and then one that does not fit into the ring.
      ASSERT_TRUE(
          back.writer.Write(Verb::kAnswer, frame.number + 1, std::string(i % 50 == 0 ? 5000 : i % 300, 'x')).ok());
    }
  });
  std::mutex reading;
  std::atomic<uint64_t> got{0};
  const auto take = [&](bool whole) {
    Ring::Frame frame;
    while (whole ? *back.reader.TryReadWhole(frame) : *back.reader.TryRead(frame)) {
      ASSERT_EQ(frame.number, got + 1);
      got = frame.number;
    }
  };
  std::thread sleeper([&] {
    while (got < kRounds && back.reader.WaitReadable().ok()) {
      std::lock_guard lock(reading);
      take(false);
    }
  });
  std::mt19937 random(7);
  for (uint64_t i = 0; i < kRounds; ++i) {
    ASSERT_TRUE(there.writer.Write(Verb::kHello, i, {}).ok());
    if (std::unique_lock lock(reading, std::try_to_lock); lock) {
      back.reader.BeginLooking();
      for (auto looks = random() % 2000; looks > 0 && got <= i; --looks) take(true);
      back.reader.EndLooking();
    }
    while (got <= i) std::this_thread::yield();
  }
  echo.join();
  back.reader.Close();
  sleeper.join();
}

TEST(Ring, TryWriteNeverWaits) {
  Ends ends;
  const std::string message(400, 'x');
  EXPECT_TRUE(ends.writer.TryWrite(Verb::kDrop, 1, message));
  EXPECT_TRUE(ends.writer.TryWrite(Verb::kDrop, 2, message));
  EXPECT_FALSE(ends.writer.TryWrite(Verb::kDrop, 3, message));
  Ring::Frame frame;
  ASSERT_TRUE(*ends.reader.TryRead(frame));
  EXPECT_TRUE(ends.writer.TryWrite(Verb::kDrop, 3, message));
}

TEST(Ring, CloseWakesBothSides) {
  Ends ends;
  std::thread reading([&] {
    Ring::Frame frame;
    EXPECT_EQ(ends.reader.Read(frame).code(), Code::kCancelled);
  });
  Ends full;
  std::thread writing(
      [&] { EXPECT_EQ(full.writer.Write(Verb::kDrop, 0, std::string(5000, 'x')).code(), Code::kCancelled); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ends.reader.Close();
  full.writer.Close();
  reading.join();
  writing.join();
}

TEST(Ring, WhatIsThereIsReadAfterClose) {
  Ends ends;
  ASSERT_TRUE(ends.writer.TryWrite(Verb::kAnswer, 5, "abc"));
  ends.reader.Close();
  Ring::Frame frame;
  ASSERT_TRUE(ends.reader.Read(frame).ok());
  EXPECT_EQ(frame.message, "abc");
  EXPECT_EQ(ends.reader.Read(frame).code(), Code::kCancelled);
}

// A peer that writes rubbish over the ring's memory is found out, whatever it is.
TEST(Ring, RubbishIsRefused) {
  std::mt19937_64 random(3);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    Ends ends;
    (void)ends.writer.TryWrite(Verb::kAnswer, 1, std::string(random() % 500, 'x'));
    uint64_t* words = reinterpret_cast<uint64_t*>(ends.Bytes());
    const size_t count = Ring::SizeBytes(kCapacity) / 8;
    for (int k = 0; k < 3; ++k) words[random() % (round % 2 == 0 ? 16 : count)] = random();
    ends.reader.Close();  // Nobody is there to wait for.
    Ring::Frame frame;
    for (int k = 0; k < 10; ++k) {
      const Status status = ends.reader.Read(frame);
      if (!status.ok()) {
        refused += status.code() == Code::kDataLoss ? 1 : 0;
        break;
      }
    }
    (void)ends.writer.TryWrite(Verb::kAnswer, 2, "y");
  }
  EXPECT_GT(refused, 100);
}

TEST(Ring, AFalseLengthAllocatesNothing) {
  Ends ends;
  wire::FrameHeader header{wire::kMaxMessageBytes + 1, 1, 0};
  ASSERT_TRUE(ends.writer.TryWrite(Verb::kAnswer, 0, "abc"));
  std::memcpy(ends.Bytes() + Ring::SizeBytes(0), &header, sizeof(header));
  Ring::Frame frame;
  EXPECT_EQ(ends.reader.Read(frame).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace tenon::channel
