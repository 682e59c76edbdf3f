#pragma once

/// What one exchange between processes moves, as the backend_config of its custom call (kExchangeTarget) says it. The
/// call takes flat arrays of one type and gives one: what arrived, and what was copied from the operands.

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::compiler {

struct Exchange {
  /// `count` elements from `from` on in an operand, to `to` on in the result. Of sends and receives the other end is
  /// `peer`'s.
  struct Part {
    int peer = 0;
    int operand = 0;
    int64_t from = 0;
    int64_t to = 0;
    int64_t count = 0;
  };
  uint32_t step = 0;  ///< Its number in the program, the same in all processes.
  std::vector<Part> sends, receives, copies;
};

/// "3 s 1 0 0 0 64 r 1 0 0 64 64 c ...": the step, then parts by kind.
inline std::string PrintExchange(const Exchange& e) {
  std::string text = std::to_string(e.step);
  const auto add = [&](char kind, const std::vector<Exchange::Part>& parts) {
    for (const Exchange::Part& p : parts) {
      text += ' ';
      text += kind;
      for (const int64_t n : {int64_t{p.peer}, int64_t{p.operand}, p.from, p.to, p.count})
        text += ' ' + std::to_string(n);
    }
  };
  add('s', e.sends);
  add('r', e.receives);
  add('c', e.copies);
  return text;
}

/// The opposite. INVALID_ARGUMENT for other texts.
inline Result<Exchange> ParseExchange(std::string_view text) {
  Exchange e;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](auto& value) {
    while (at != end && *at == ' ') ++at;
    const auto parsed = std::from_chars(at, end, value);
    at = parsed.ptr;
    return parsed.ec == std::errc();
  };
  bool ok = number(e.step);
  while (ok) {
    while (at != end && *at == ' ') ++at;
    if (at == end) return e;
    const char kind = *at++;
    Exchange::Part p;
    ok = number(p.peer) && number(p.operand) && number(p.from) && number(p.to) && number(p.count);
    if (kind == 's')
      e.sends.push_back(p);
    else if (kind == 'r')
      e.receives.push_back(p);
    else if (kind == 'c')
      e.copies.push_back(p);
    else
      ok = false;
  }
  return InvalidArgument("an exchange between processes that cannot be read");
}

}  // namespace tenon::compiler
