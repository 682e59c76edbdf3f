#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/vhlo/version.h"

namespace tenon::vhlo {

inline constexpr std::string_view kBytecodeMagic = "ML\xefR";
inline constexpr std::string_view kPortableProducer = "StableHLO_v";

/// An artifact in the making: gives numbers to strings, dialects, op names, attributes, types and property blobs, each
/// of which is written once, and puts the sections of a file around the program. Numbers are given at first use.
class File {
 public:
  /// An attribute or type in the encoding of a dialect (`custom`), or as assembly text that ends in NUL.
  struct Entry {
    uint64_t dialect = 0;
    bool custom = true;
    std::string bytes;
  };
  enum class Kind : uint8_t { kAttr, kType };

  explicit File(Version target);

  uint64_t String(std::string_view text);
  uint64_t Dialect(std::string_view name);
  uint64_t OpName(std::string_view dialect, std::string_view name);
  uint64_t Properties(std::string blob);
  /// A number for an entry that `Fill` gives: for those whose parts are to be numbered after them.
  uint64_t Reserve(Kind kind);
  void Fill(Kind kind, uint64_t number, Entry entry) { list(kind)[number] = std::move(entry); }
  /// The number of `entry`, which is that of an equal one.
  uint64_t Add(Kind kind, Entry entry);

  Version target() const { return target_; }
  /// The version of MLIR's bytecode.
  int bytecode() const { return bytecode_; }
  /// The whole file around an IR section.
  std::string Assemble(std::string_view ir) const;

 private:
  using Numbers = std::unordered_map<std::string, uint64_t>;
  std::vector<Entry>& list(Kind kind) { return kind == Kind::kAttr ? attrs_ : types_; }

  Version target_;
  int bytecode_;
  Numbers string_numbers_, dialect_numbers_, op_numbers_, property_numbers_, entry_numbers_[2];
  std::vector<std::string> strings_, properties_;
  std::vector<uint64_t> dialects_;                  // String numbers.
  std::vector<std::pair<uint64_t, uint64_t>> ops_;  // Dialect and string numbers.
  std::vector<Entry> attrs_, types_;
};

}  // namespace tenon::vhlo
