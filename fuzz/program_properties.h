#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tenon/dialect/parse.h"

namespace tenon::fuzz {

/// Whatever `input` is, reading it yields a Status or a program; a program that was read prints, and when an artifact
/// can be written of it, that artifact reads back as the same text. Anything else aborts, which is how a fuzzer learns
/// of it.
inline void CheckProgram(std::string_view input) {
  dialect::Context context;
  auto module = dialect::Parse(context, input);
  if (!module.ok()) return;
  const std::string text = dialect::ToText(module->op());
  auto artifact = dialect::Serialize(module->op());
  if (!artifact.ok()) return;
  auto again = dialect::Parse(context, *artifact);
  if (!again.ok()) {
    std::fprintf(stderr, "its own artifact does not read back: %s\n", again.status().ToString().c_str());
    std::abort();
  }
  // Writing drops explicit defaults, so it is the second writing that must change nothing.
  auto second = dialect::Serialize(again->op());
  if (!second.ok()) {
    std::fprintf(stderr, "what was read back cannot be written: %s\n", second.status().ToString().c_str());
    std::abort();
  }
  auto third = dialect::Parse(context, *second);
  if (!third.ok() || dialect::ToText(third->op()) != dialect::ToText(again->op())) {
    std::fprintf(stderr, "a program changes from artifact to artifact\n");
    std::abort();
  }
}

}  // namespace tenon::fuzz
