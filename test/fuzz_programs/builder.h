#pragma once

/// Writes a StableHLO program op by op and knows what every value in scope is.

#include <functional>
#include <string>
#include <vector>

#include "test/fuzz_programs/random.h"
#include "test/fuzz_programs/value.h"

namespace tenon::fuzz {

/// What one program may be made of.
struct Limits {
  int64_t elements = 600;      ///< Of one value.
  int64_t work = 60'000;       ///< Elements that one op may compute, all trips of the loops around it counted.
  bool large_extents = false;  ///< Extents above 100.
  bool filling = false;        ///< Arguments have nearly as many elements as they may, in any number of dims.
  int64_t rank = 4;            ///< Of arguments; ops make more of it.
  int depth = 2;               ///< Of regions that a loop or a branch may stand in.
  bool approximate = false;    ///< Rounding and transcendental functions, compared by their error bounds.
  bool specials = false;       ///< NaN, infinities and extremes among the arguments.
  bool rare_types = true;      ///< Four-bit integers, f8.
  bool rounds = false;         ///< Narrow floats beyond what they hold exactly, op by op.
};

/// A function of the program, and what it is to be called with.
struct Function {
  std::string name;
  std::vector<Value> arguments, yields;
  int64_t trips = 1;  ///< Of the loops around it for which its work was reckoned.
};

class Builder {
 public:
  Builder(uint64_t seed, const Limits& program_limits);

  Random random;
  const Limits limits;

  // ---- Random choices.
  /// Mostly one of the few that this program keeps to, so that values meet.
  int64_t Extent();
  Dims AnyDims(int64_t max_rank);
  Type AnyType();
  Type AnyArithmeticType();  ///< Neither pred nor complex.
  Type AnyIndexType();
  /// 0 ... n - 1 in some order.
  Dims Permutation(size_t n);
  /// Each of 0 ... n - 1 with this probability, ascending.
  Dims Subset(size_t n, int one_in = 2);
  /// A small integer that the type holds.
  int64_t Small(const Type& type);

  // ---- Values in scope.
  /// One of them, rather a late one with elements to work on.
  Value Any();
  /// One that `want` takes; empty() when none was found.
  Value AnyWhere(const std::function<bool(const Value&)>& want);
  /// A value of this type and these dims that arithmetic may work on: an existing one, one broadcast or converted, or a
  /// constant.
  Value Match(const Type& type, const Dims& dims);
  /// Match, or a value that may be special.
  Value MatchAny(const Type& type, const Dims& dims);
  /// A splat, a dense literal or an iota; not offered to later ops. Not larger in magnitude than 9.
  Value Constant(const Type& type, const Dims& dims);
  Value Splat(const Type& type, const Dims& dims, int64_t v);
  /// A literal of any bits, for integers: written as it stands.
  Value Literal(const Type& type, const Dims& dims, const std::string& literal, double bound);
  Value Broadcast(const Value& v, const Dims& dims, const Dims& map);

  /// Writes "%n = text", and offers the value to later ops.
  Value Emit(const std::string& text, const Type& type, const Dims& dims, const Numbers& is = {});
  /// The same for a value that is not offered.
  Value EmitHidden(const std::string& text, const Type& type, const Dims& dims, const Numbers& is = {});
  /// Writes an op of several results under one fresh name; returns it. The caller offers its results.
  std::string NewName();
  void Write(const std::string& line) { body_ += line; }
  /// Offers a value, or drops it: too large, or inexact where only exact numbers are wanted.
  void Offer(const Value& v);
  /// Offers all results of the op `name`, which are as `values` are but for their names.
  void OfferResults(const std::string& name, std::vector<Value> values);
  /// Whether an op may compute so many elements here.
  bool Affordable(int64_t elements) const { return elements <= limits.work / trips_ && elements <= limits.work; }
  bool Fits(const Dims& dims) const { return Count(dims) <= limits.elements && Affordable(Count(dims)); }

  // ---- Numbers.
  /// The outcome of an op whose exact result is at most `bound`, from operands off by what makes `error`: rounded when
  /// the type does not hold such integers.
  Numbers Rounded(const Type& type, double bound, double error, const Numbers& operands) const;
  /// Whether every op on elements of the type is rounded once, in one way, by whoever computes it: narrow floats. Wider
  /// products may meet sums without a rounding in between.
  bool RoundsAlike(const Type& type) const {
    return type.is_float() && type.bits < 32 && limits.rounds;  // structural: bits of f32
  }
  /// Whether arithmetic may work on it.
  static bool Usable(const Value& v) { return !v.is.special; }

  // ---- Scopes.
  /// Ops inside a region that runs `trips` times: nothing of it is visible outside.
  void Inside(int64_t trips, const std::function<void()>& write);
  /// Ops of a function of its own: nothing outside is visible in it either. Returns its text.
  std::string Apart(const std::vector<Value>& arguments, const std::function<void()>& write);
  int depth() const { return depth_; }
  int64_t trips() const { return trips_; }
  std::vector<Value>& values() { return values_; }
  std::string& body() { return body_; }
  /// Functions written so far, outside of main, and what of them may be called again.
  std::vector<std::string> functions;
  std::vector<Function> callable;
  /// One more random op (generator.cc).
  void AddOp();

 private:
  int64_t FreshExtent();
  Dims FillingDims(int64_t max_rank);
  /// What is in `v` under other dims, cut or repeated.
  Value Remoulded(const Value& v, const Dims& dims);

  Dims extents_;
  std::vector<Value> values_;
  std::string body_;
  int next_ = 0;
  int depth_ = 0;
  int64_t trips_ = 1;
};

}  // namespace tenon::fuzz
