#include "test/fuzz_programs/known.h"

#include <cstdlib>
#include <fstream>

namespace tenon::fuzz {

KnownFindings KnownFindings::Load(const std::string& path) {
  KnownFindings known;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');
    const size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || space == std::string::npos || colon == std::string::npos || colon < space)
      continue;
    Entry entry{.by_seed = line.starts_with("seed "),
                .text = line.substr(space + 1, colon - space - 1),
                .reason = line.substr(colon + 2)};
    entry.seed = std::strtoull(entry.text.c_str(), nullptr, 10);
    known.entries_.push_back(std::move(entry));
  }
  return known;
}

const std::string* KnownFindings::Find(uint64_t seed, const Verdict& verdict) const {
  for (const Entry& e : entries_) {
    if (e.by_seed ? e.seed == seed : verdict.message.find(e.text) != std::string::npos) return &e.reason;
  }
  return nullptr;
}

}  // namespace tenon::fuzz
