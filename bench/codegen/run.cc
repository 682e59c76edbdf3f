#include "bench/codegen/run.h"

#include <fmt/format.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include "tenon/kir/builder.h"

namespace tenon::bench {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 29;
constexpr unsigned kSeconds = 20;

struct Memory {
  uint8_t* begin = nullptr;
  uint8_t* origin = nullptr;
  int64_t size = 0;
};

int64_t BytesOf(const kir::Buffer& buffer, const int64_t* params, int64_t* origin) {
  int64_t low = 0;
  int64_t high = 0;
  for (size_t i = 0; i < buffer.extent.size(); ++i) {
    const int64_t extent = buffer.extent[i].Value(params);
    if (extent <= 0) return 0;
    const int64_t reach = (extent - 1) * buffer.stride[i].Value(params);
    (reach < 0 ? low : high) += reach;
  }
  *origin = -low * ByteWidth(buffer.type);
  return (high - low + 1) * ByteWidth(buffer.type);
}

/// Plain numbers near one, small integers: nothing that makes arithmetic slow by its value.
void Fill(const kir::Buffer& buffer, Memory& m, uint64_t seed) {
  std::mt19937_64 random(seed);
  const DType type = IsComplex(buffer.type) ? RealPartOf(buffer.type) : buffer.type;
  const int64_t width = ByteWidth(type);
  for (int64_t i = 0; i < m.size / width; ++i) {
    const uint64_t r = random();
    uint64_t bits = 0;
    if (type == DType::kPred) {
      bits = r >> 8 & 1;
    } else if (IsFloat(type)) {
      bits = kir::LiteralBits(type, 0.25 + static_cast<double>(r >> 40) * 0x1p-24);
    } else {
      bits = kir::LiteralBits(type, static_cast<int64_t>(r >> 8 & (DTypeBits(type) >= 32 ? 63 : 7)));
    }
    std::memcpy(m.begin + i * width, &bits, static_cast<size_t>(width));
  }
}

bool IsNan(DType type, const uint8_t* p) {
  uint64_t bits = 0;
  std::memcpy(&bits, p, static_cast<size_t>(ByteWidth(type)));
  return IsFloat(type) && std::isnan(kir::LiteralValue(type, bits));
}

struct Answer {
  double ns[2] = {0, 0};
  int same = 1;
  int too_large = 0;
};

class Runner {
 public:
  Runner(const kir::Kernel& kernel, const std::vector<int64_t>& params) : k_(kernel), params_(params) {
    params_.resize(std::max<size_t>(params_.size(), std::max<size_t>(kernel.num_params, 1)));
    total_ = kir::SplitTotal(kernel, params_.data());
    grain_ = std::max<int64_t>(1, kernel.split.grain.Value(params_.data()));
  }

  bool Allocate() {
    int64_t all = 0;
    memory_.resize(k_.buffers.size());
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      const kir::Buffer& buffer = k_.buffers[b];
      if (buffer.in_place_of != kir::kNoBuf || buffer.kind == kir::BufKind::kLocal) continue;
      Memory& m = memory_[b];
      int64_t origin = 0;
      m.size = BytesOf(buffer, params_.data(), &origin);
      all += m.size;
      if (all > kMaxBytes) return false;
      m.begin = Pages(m.size);
      m.origin = m.begin + origin;
    }
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      const kir::Buf other = k_.buffers[b].in_place_of;
      if (other != kir::kNoBuf) memory_[b] = memory_[other];
      pointers_.push_back(memory_[b].origin);
    }
    scratch_ = Pages(kir::LocalBytes(k_, params_.data()));
    return true;
  }
  void FillAll() {
    for (size_t b = 0; b < memory_.size(); ++b) {
      if (k_.buffers[b].in_place_of == kir::kNoBuf && memory_[b].begin != nullptr) Fill(k_.buffers[b], memory_[b], b);
    }
  }
  void Run(kir::KernelFn fn) {
    for (int64_t begin = 0; begin < total_; begin += grain_)
      fn(pointers_.data(), params_.data(), begin, std::min(total_, begin + grain_), scratch_);
  }
  double Time(kir::KernelFn fn, int64_t times) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < times; ++i) Run(fn);
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
           static_cast<double>(times);
  }
  std::vector<std::vector<uint8_t>> Contents() const {
    std::vector<std::vector<uint8_t>> all;
    for (const Memory& m : memory_) all.emplace_back(m.begin, m.begin + m.size);
    return all;
  }
  bool Same(const std::vector<std::vector<uint8_t>>& a, const std::vector<std::vector<uint8_t>>& b) const {
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      const DType type = IsComplex(k_.buffers[i].type) ? RealPartOf(k_.buffers[i].type) : k_.buffers[i].type;
      const auto width = static_cast<size_t>(ByteWidth(type));
      for (size_t at = 0; at + width <= a[i].size(); at += width) {
        if (std::memcmp(&a[i][at], &b[i][at], width) != 0 && !(IsNan(type, &a[i][at]) && IsNan(type, &b[i][at])))
          return false;
      }
    }
    return true;
  }

 private:
  static uint8_t* Pages(int64_t bytes) {
    void* p = mmap(nullptr, static_cast<size_t>(std::max<int64_t>(bytes, 1) + 4096), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, static_cast<size_t>(bytes), MADV_HUGEPAGE);
    return static_cast<uint8_t*>(p);
  }

  const kir::Kernel& k_;
  std::vector<int64_t> params_;
  std::vector<Memory> memory_;
  std::vector<void*> pointers_;
  uint8_t* scratch_ = nullptr;
  int64_t total_ = 0;
  int64_t grain_ = 1;
};

Answer Child(const kir::Kernel& kernel, const std::vector<int64_t>& params, const kir::KernelFn (&fns)[2], int rounds) {
  Answer answer;
  Runner runner(kernel, params);
  if (!runner.Allocate()) {
    answer.too_large = 1;
    return answer;
  }
  _mm_setcsr(_mm_getcsr() | 0x8040);
  std::vector<std::vector<uint8_t>> left[2];
  int64_t times = 1;
  for (int i = 0; i < 2; ++i) {
    runner.FillAll();
    runner.Run(fns[i]);
    left[i] = runner.Contents();
    const double once = runner.Time(fns[i], 1);
    times = std::max<int64_t>(1, static_cast<int64_t>(20'000 / std::max(once, 20.0)));
    answer.ns[i] = 1e18;
    if (once > 2e8) rounds = std::min(rounds, 3);
  }
  answer.same = runner.Same(left[0], left[1]);
  runner.FillAll();
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 2; ++i) answer.ns[i] = std::min(answer.ns[i], runner.Time(fns[i], times));
  }
  return answer;
}

}  // namespace

Race RunBoth(const kir::Kernel& kernel, const std::vector<int64_t>& params, kir::KernelFn one, kir::KernelFn other,
             int rounds) {
  Race race;
  int ends[2];
  if (pipe(ends) != 0) {
    race.problem = "no pipe";
    return race;
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    const kir::KernelFn fns[2] = {one, other};
    const Answer answer = Child(kernel, params, fns, rounds);
    const ssize_t wrote = write(ends[1], &answer, sizeof answer);
    _exit(wrote == sizeof answer ? 0 : 1);
  }
  close(ends[1]);
  Answer answer;
  const bool got = child > 0 && read(ends[0], &answer, sizeof answer) == static_cast<ssize_t>(sizeof answer);
  close(ends[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  if (!got) {
    race.problem = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : "no answer";
  } else if (answer.too_large != 0) {
    race.problem = "too large";
  }
  std::copy(std::begin(answer.ns), std::end(answer.ns), std::begin(race.ns));
  race.same = answer.same != 0;
  return race;
}

}  // namespace tenon::bench
