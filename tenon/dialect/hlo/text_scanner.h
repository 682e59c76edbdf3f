#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/dialect/hlo/module.h"

namespace tenon::hlo {

/// Reads HLO text from left to right. The first mistake sticks with its line and column; from then on everything reads
/// as empty, so callers check ok() at loop heads and status() at the end.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  /// Keeps `message` with the place of offset `at` (default: here), unless a mistake came before.
  void Fail(std::string_view message) { Fail(message, at_); }
  void Fail(std::string_view message, size_t at);
  /// Keeps another's mistake, with the place.
  void Fail(const Status& status) {
    if (!status.ok()) Fail(status.message());
  }

  bool AtEnd();
  size_t offset() const { return at_; }
  void Rewind(size_t offset) {
    if (ok()) at_ = offset;
  }
  /// "line 3, column 7" of an offset.
  std::string Place(size_t at) const;

  /// Whether `token` comes next, blanks and comments skipped; Accept also moves over it.
  bool Sees(std::string_view token);
  bool Accept(std::string_view token);
  void Expect(std::string_view token);
  /// Accept for a word, which must not go on with a letter, digit, '_', '-' or '.'.
  bool AcceptWord(std::string_view word);

  /// [A-Za-z_%][A-Za-z0-9_.-]* without a leading '%'; empty, without a mistake, when there is none.
  std::string_view Name();
  std::string_view ExpectName(std::string_view what);
  int64_t Int();
  double Number();
  bool Bool();
  std::string String();
  /// Everything up to a blank, ',', '}' or ')'.
  std::string_view Raw();
  /// One value of any kind, up to a ',' or a closing bracket outside of brackets and strings.
  std::string_view SkipValue();
  /// The characters up to the end of the line.
  std::string_view RestOfLine();

  /// {1,2,3}
  std::vector<int64_t> Ints();
  /// {{1,2},{3}}
  std::vector<std::vector<int64_t>> IntLists();
  Shape ReadShape(int depth = 0);
  Literal ReadLiteral(const Shape& shape, int depth = 0);
  /// {key="value",...}
  TextMap ReadTextMap();

 private:
  void SkipBlanks();
  void ReadElements(const Shape& shape, const TypeInfo& type, size_t dim, std::string& data);
  void ReadElement(const TypeInfo& type, std::string& data);
  double ReadReal();

  std::string_view text_;
  size_t at_ = 0;
  Status status_;
};

/// `value` as the bits of float type `type`, rounded to nearest; little-endian bytes.
std::string FloatBytes(const TypeInfo& type, double value);
/// The opposite, for the element at `bytes`.
double FloatValue(const TypeInfo& type, const char* bytes);

}  // namespace tenon::hlo
