#include "tenon/conformance/against/wire.h"

#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace tenon::conformance {
namespace {

// Lengths of eight bytes; a child and its parent are of one machine.
void Put(std::string& to, uint64_t n) { to.append(reinterpret_cast<const char*>(&n), sizeof(n)); }
void Put(std::string& to, const std::string& bytes) {
  Put(to, bytes.size());
  to += bytes;
}

bool Get(const std::string& from, size_t& at, uint64_t& n) {
  if (from.size() - at < sizeof(n)) return false;
  std::memcpy(&n, from.data() + at, sizeof(n));
  at += sizeof(n);
  return true;
}
bool Get(const std::string& from, size_t& at, std::string& bytes) {
  uint64_t n = 0;
  if (!Get(from, at, n) || from.size() - at < n) return false;
  bytes = from.substr(at, n);
  at += n;
  return true;
}

}  // namespace

bool SendAnswer(int fd, const Answer& answer) {
  std::string text;
  Put(text, static_cast<uint64_t>(answer.status.code()));
  Put(text, std::string(answer.status.message()));
  Put(text, answer.outputs.size());
  for (const std::string& output : answer.outputs) Put(text, output);
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = write(fd, text.data() + sent, text.size() - sent);
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

bool TakeAnswer(std::string& arrived, Answer& answer) {
  size_t at = 0;
  uint64_t code = 0, outputs = 0;
  std::string message;
  if (!Get(arrived, at, code) || !Get(arrived, at, message) || !Get(arrived, at, outputs)) return false;
  Answer taken;
  if (code != 0) taken.status = Status(static_cast<Code>(code), std::move(message));
  for (uint64_t i = 0; i < outputs; ++i) {
    if (!Get(arrived, at, taken.outputs.emplace_back())) return false;
  }
  arrived.erase(0, at);
  answer = std::move(taken);
  return true;
}

}  // namespace tenon::conformance
