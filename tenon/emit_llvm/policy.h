#pragma once

/// The numbers behind the emitter's choices, each with its reason. None of them fixes bits: what a kernel computes and
/// in which order stands in the kernel. Costs are those of target::OpCosts.

#include <cstddef>
#include <cstdint>

#include "tenon/isa/isa.h"

namespace tenon::emit_llvm::policy {

// How often the body of a vector loop is written out.

/// Bodies that cost at most so much are written out four times: what a loop itself costs counts.
inline constexpr int kFourCopies = 16;
/// Those up to here twice; beyond, a single body with masks does for everything.
inline constexpr int kTwoCopies = 40;
/// A core looks some hundred instructions ahead: of a chain of functions that is one vector's, whose instructions wait
/// for one another. Two vectors whose instructions alternate take little more time than one, up to this cost of the
/// body: all that a kernel may hold. Rows have five copies of it instead of three.
inline constexpr int kTogether = 600;
inline constexpr int kTogetherRow = 300;
/// So many times the registers may be wanted by two vectors: what lies in memory meanwhile is there before its turn,
/// and waiting costs more.
inline constexpr size_t kTogetherRegisters = 2;
/// Registers that a function's own values take.
inline constexpr size_t kMathRegisters = 5;
/// Rows of a known length, about whose places a kernel asks, that take so many vectors at most, and cost so much
/// together, are written out: where a vector
/// of them lies is known then, and what is asked about it.
inline constexpr int kAskingRowCost = 128;
inline constexpr int kAskingRowVectors = 8;
/// Tiles go through blocks of so many elements a side, which keep the pages of both sides in the TLB while their lines
/// are in use.
inline constexpr int64_t kTileBlock = 64;
/// Native loops run several vectors at once: as many as are through with a trip before the first one's chain of
/// operations is, by these cycles of an operation and of what waits for it. Bodies of more nodes have enough to do by
/// themselves, and are code three times then.
inline constexpr size_t kVectorsNodes = 64;
inline constexpr double kCyclesPerCost = 0.5;
inline constexpr double kLatencyPerCost = 2;
inline constexpr double kLeastLatency = 4;

/// A dim of a native loop that is a single vector: what no trip changes is there before the loop, if it reads at most
/// so many vectors, of which registers and the nearest cache lines hold enough. A gather takes about the given cycles;
/// it takes so many to read what was written through a mask, which a row without hoisted values needs not.
inline constexpr size_t kHoistedReads = 32;
inline constexpr int kGatherCost = 16;
inline constexpr int kMaskCost = 16;

/// Moves of so many lanes one by one are written out: counting them takes as long as moving them.
inline constexpr unsigned kLanesWrittenOut = 16;

/// Rows of at most target::kTableRegisters are permuted by keys; only shorter ones are where each register takes a
/// permutation of its own.
inline constexpr unsigned kMostTableRegistersAvx2 = 2;

/// Rows at places from data: memory is asked for the one so many trips ahead where they are too short for the hardware
/// to see the row, and long enough to wait for; what finds their place costs no more than this.
inline constexpr int64_t kRowsAhead = 8;
inline constexpr int64_t kLeastForeseenBytes = 256;
inline constexpr int64_t kMostForeseenBytes = 1024;
inline constexpr int kForesightCost = 24;
/// With more of them in a trip the core has enough to wait for as it is.
inline constexpr size_t kMostForeseenRows = 2;

// Reductions.

/// What follows the sums of a row, once for it, is done for a vector of rows at once when it costs at least so much: a
/// logarithm, divisions, roots. The sums wait in memory meanwhile.
inline constexpr int kLateStageCost = 16;
/// Rows of at most so many elements meet within their vectors many rows at once: halving a vector for each row costs as
/// much as reading a few vectors does.
inline constexpr int64_t kMostMetElements = 256;
/// A core looks not much further than a row: the chain of a row's maximum, exponentials of what is left of it and their
/// sum is long, so that each stage goes through several rows before the next one's turn. As many as the nearest cache
/// holds beside what else there is, at least so many, or it is not worth it.
inline constexpr unsigned kMostRows = 16;
inline constexpr int64_t kFewestRows = 3;
inline constexpr int64_t kRowsBytes = 16 << 10;
/// The vectors of a row whose length is known are written out one after another up to this cost of all of them.
inline constexpr int kWrittenOutRow = 240;
/// Accumulators that stay in registers: at most so many of one reduction, and of all of them together, which leaves
/// registers for what is added.
inline constexpr unsigned kAccumulators = 8;
inline unsigned AllAccumulators(isa::IsaLevel isa) { return isa == isa::IsaLevel::kAvx512 ? 24 : 10; }
/// Sums in the order of lanes of at most so many elements each, at most so many side by side, are written out as the
/// tree that they are: accumulators in memory take several times as long, and registers hold what a branch needs.
inline constexpr int64_t kTreeElements = 64;
inline constexpr size_t kTreesTogether = 3;
/// Sums of columns over more rows than this go row by row, with the sums of a block of columns in the nearest cache: as
/// many as fit these bytes, and at least so many.
inline constexpr int64_t kManyRows = 64;
inline constexpr int64_t kColumnBytes = 16 << 10;
inline constexpr int64_t kColumns = 1024;
/// The same over rows that begin so many bytes apart and are at least so many: nothing foresees lines that lie so, and
/// where the distance is that of pages they meet in few sets of the cache.
inline constexpr int64_t kFarRowBytes = 2 << 10;
inline constexpr int64_t kFarRows = 16;
/// Rows for which the sums of some vectors of columns stay in registers before the next ones' turn: they are read once
/// and written once for so many, and memory is still read in about its order.
inline constexpr int64_t kRowsInRegisters = 8;

// Machinery.

/// Terms of one access.
inline constexpr size_t kMaxTerms = 64;
/// Text of LLVM's errors that is kept.
inline constexpr size_t kErrorBytes = 4096;
/// How many of LLVM's fatal errors the process survives: each costs a parked thread, its stack and what it owns.
inline constexpr int kMaxFatalErrors = 16;
/// Stack of that thread, of address space: instruction selection recurses.
inline constexpr size_t kStackBytes = size_t{16} << 20;
/// What the cache of kernels holds unless told otherwise: room for some ten thousand.
inline constexpr int64_t kCacheBytes = int64_t{256} << 20;

}  // namespace tenon::emit_llvm::policy
