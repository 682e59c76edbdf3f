#pragma once

/// Threads that compile, upload, execute and download on a client until they are told to stop, whatever dies meanwhile.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/proxy/testing/isolated.h"

namespace tenon::proxy::testing {

class Load {
 public:
  /// What deaths leave alone: memory of this process, arrays at a server that lives on, nothing.
  enum Stays { kMemory, kArrays, kNothing };
  Load(const client::Client& client, Stays stays) : client_(client), stays_(stays) {
    for (unsigned i = 0; i < 3; ++i) threads_.emplace_back([this, i] { Work(i + 1); });
  }
  ~Load() { Stop(); }

  /// Waits until another ten chains of executions have run; false when they do not.
  bool StillWorks() {
    const int64_t before = ran;
    for (int wait = 0; wait < 6000 && ran < before + 10; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return ran >= before + 10;
  }
  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void Report(int rounds) const {
    std::printf("%d rounds: %ld chains ran, %ld were lost\n", rounds, static_cast<long>(ran), static_cast<long>(lost));
  }

  /// Chains of executions that ran, and that were lost to a death; and what must not be: other errors than those of a
  /// death, other numbers, arrays that went.
  std::atomic<int64_t> ran{0}, lost{0}, wrong{0};

 private:
  void Expect(bool right, const Status& got) {
    if (right) return;
    std::fprintf(stderr, "wrong: %s\n", got.ToString().c_str());
    ++wrong;
  }
  // Whether this is how a death is told.
  static bool IsDeath(const Status& status) {
    const std::string text(status.message());
    const auto has = [&](const char* word) { return text.find(word) != text.npos; };
    return status.code() == Code::kUnavailable && (has("device process") || has("session") || has("connect"));
  }

  // An array that crosses in pieces, both ways.
  void ReadBack(float value) {
    const std::vector<float> values(100000, value);
    const Result<client::Buffer> large = Floats(client_, values);
    const auto back = large.ok() ? large->ToHost<float>() : large.status();
    if (back.ok())
      Expect(*back == values, Internal("other numbers"));
    else
      Expect(stays_ != kMemory && IsDeath(back.status()), back.status());
  }

  void Work(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<client::Buffer, float>> kept;
    while (!stop_) {
      const char* const names[] = {"increment", "increment", "echo"};
      const bool adds = random() % 3 != 0;
      Result<client::LoadedExecutable> program = Compile(client_, adds ? names[random() % 2] : names[2]);
      if (!program.ok()) {
        Expect(IsDeath(program.status()), program.status());
        ++lost;
        continue;
      }
      if (random() % 8 == 0) ReadBack(static_cast<float>(random() % 100));
      float value = static_cast<float>(random() % 100);
      Result<client::Buffer> x = Floats(client_, {value, value, value, value});
      if (!x.ok()) {
        Expect(stays_ != kMemory && IsDeath(x.status()), x.status());
        ++lost;
        continue;
      }
      for (int i = 0; i < 20; ++i) {
        client::ExecuteOptions options;
        if (random() % 2 == 0) options.donate = client::Donate::All();
        Result<std::vector<client::Buffer>> out = program->Execute({&*x}, options);
        if (!out.ok()) {
          Expect(IsDeath(out.status()), out.status());
          ++lost;
          break;
        }
        value += adds ? 1 : 0;
        *x = std::move((*out)[0]);
      }
      const Status status = x->Await();
      if (!status.ok()) {
        // An array that was given away to an execution that was then refused is deleted.
        Expect(IsDeath(status) || status.code() == Code::kInvalidArgument, status);
        ++lost;
        continue;
      }
      ++ran;
      kept.emplace_back(std::move(*x), value);
      if (kept.size() > 50) kept.erase(kept.begin());
      // What was ready stays as it was.
      const size_t which = random() % kept.size();
      const auto data = kept[which].first.ToHost<float>();
      if (!data.ok()) {
        Expect(stays_ == kNothing && IsDeath(data.status()), data.status());
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      for (const float f : *data) Expect(f == kept[which].second, Internal("another number"));
    }
  }

  const client::Client& client_;
  const Stays stays_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

/// Bytes of arrays that a client still has, once nothing is under way: the fake plugin says that it has 123 itself.
inline int64_t ArrayBytes(const client::Client& client) {
  int64_t bytes = -1;
  for (int wait = 0; wait < 1000 && bytes != 0; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const Result<std::vector<client::Device>> devices = client.Devices();
    if (!devices.ok()) continue;
    const Result<client::MemoryStats> stats = devices->front().GetMemoryStats();
    if (stats.ok()) bytes = stats->bytes_in_use - 123;
  }
  return bytes;
}

/// TENON_KILL_ROUNDS, how often something is killed, else `otherwise`.
inline int KillRounds(int otherwise) {
  const char* asked = std::getenv("TENON_KILL_ROUNDS");
  return asked == nullptr ? otherwise : std::atoi(asked);
}

}  // namespace tenon::proxy::testing
