#pragma once

/// The numbers behind fusion's choices, each with its reason. Those that hold for one machine, and what a kernel may
/// hold, are the target's (target/target.h). What cuts kernels here fixes bits, and is therefore the same for all
/// targets of a kind.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tenon/target/target.h"

namespace tenon::compiler::policy {

// Which nodes share a kernel.

/// A producer this cheap (OpCosts) is computed again in every kernel that uses it: reading it back would cost as much.
inline constexpr int kDuplicateCost = 6;
/// A slice of less than this part of what is computed for it alone is computed, not looked at.
inline constexpr double kLittleOfAll = 0.75;
/// What a guard of padding costs, two comparisons.
inline constexpr int kPadCost = 2;
/// So cheap a producer is stored all the same where computing it from what lies in memory costs more than this: about
/// twice what storing it and reading it back would. Of 1,434 programs every tenth is faster than without, up to four
/// times, by a tenth in the mean; with 10 or 24 instead as many lose as win.
inline constexpr double kDuplicateFromMemory = 16;
/// What is repeated so, one behind the other, costs at most so much together: kernels would grow with the program.
inline constexpr int64_t kDuplicateChain = 200;
/// Steps that the questions of one node to the graph of units may take before the answer is no, so that placing all
/// nodes takes linear time. Programs of a thousand nodes never get there.
inline constexpr int64_t kPathSteps = 4096;
/// Sums of columns of one array that go through it together: their vectors stay in registers. Of what they sum, so many
/// values are looked at to find the array.
inline constexpr size_t kMaxSumsTogether = 4;
inline constexpr size_t kMaxSumOperands = 32;
/// In loops, what updates at most one part in so many of an array is stored first if it reads other parts: the update
/// is then made where the array lies.
inline constexpr int64_t kLeastOfUpdate = 2;
/// Nodes that are looked at to find that out.
inline constexpr size_t kMostOfUpdate = 256;
/// Readers of one array that are put before what changes it in place.
inline constexpr size_t kReadersFirst = 32;
/// Producers of one element are computed again up to this cost: they are hoisted out of the loop.
inline constexpr int kDuplicateScalarCost = 80;
/// A value of an earlier stage is kept in a row rather than computed again when it costs at least this.
inline constexpr int kKeepRowCost = 8;
/// Rows of so many elements at most are no loop of their own behind an axis whose places come from data.
inline constexpr int64_t kShortTail = 16;
/// Fewer rows than this, when together more elements than kSmallElements, are not worth one kernel per chain: there
/// would be too few pieces to run side by side.
inline constexpr int64_t kMinRows = 8;
inline constexpr int64_t kSmallElements = 64 << 10;
/// A concatenation of few parts and elements is selected between where it is used.
inline constexpr size_t kMaxSelectedParts = 4;
/// A concatenation of more parts is not one kernel but one copy per part: every part is a loop nest of its own.
inline constexpr size_t kMaxParts = 512;
/// A pad with holes of more stages, or of more stores for an element, is filled first: every stage is a loop nest, and
/// the padding of many holes is written faster in one piece.
inline constexpr size_t kMaxPadStages = 8;
inline constexpr int64_t kMaxPadStores = 8;
/// A rearranging copy of at least so many bytes is worth a kernel: vectors, tiles and pieces.
inline constexpr int64_t kMinCopyKernelBytes = 128 << 10;
/// So is one that saves so many cycles; every kernel has to be compiled. In a loop it saves them in every trip.
inline constexpr double kCopyKernelCycles = 2000;
inline constexpr double kLoopCopyKernelCycles = 200;
/// What a copy step (base/strided_copy.h) takes for an element or a short run of them, near and where its loops reach
/// further than the nearest cache, for a longer run and its bytes, and for a row of either.
inline constexpr int64_t kCopyShortRun = 64;
inline constexpr int64_t kCopyNearBytes = 32 << 10;
inline constexpr double kCopyUnitCycles = 1.5;
inline constexpr double kCopyFarUnitCycles = 5;
inline constexpr double kCopyRunCycles = 12;
inline constexpr double kCopyByteCycles = 1.0 / 32;
inline constexpr double kCopyRowCycles = 10;
/// A loop of at most so many steps changes places with a longer one around it.
inline constexpr int64_t kCopyShortLoop = 4;
/// Copies of more dims are no kernels: two arrays' dims must fit one.
inline constexpr size_t kMaxCopyDims = 16;

// Recompute or store: a value that a kernel would compute more often than it has elements is stored by a kernel of its
// own where that costs less. All in the unit of OpCosts, cycles per 16 elements; what they weigh fixes bits, so these
// describe no machine in particular.

/// Elements in the lanes of one vector, as OpCosts counts them.
inline constexpr double kCostLanes = 16;
/// What does not run in lanes takes so many times as long as a vector of it: a vector's latencies are hidden by the
/// next.
inline constexpr double kAloneWaits = 3;
/// Another step of the plan: 30 ns of a core at 3.5 GHz.
inline constexpr double kLaunchOps = 30 * 3.5 * kCostLanes;
/// Another stage of a loop that is to be one kernel: cycles until the next stage has read what it stored. Loops whose
/// carries take at most so much memory are such loops.
inline constexpr double kLinkedStepOps = 20 * kCostLanes;
inline constexpr int64_t kLinkedBytes = 16 << 10;
/// A byte written or read, in caches (50 bytes/ns) or, of values of more bytes than a core's own hold, in memory (10).
inline constexpr double kNearByteOps = 3.5 / 50 * kCostLanes;
inline constexpr double kFarByteOps = 3.5 / 10 * kCostLanes;
inline constexpr double kNearBytes = 1 << 20;
/// A vector of elements that are no neighbours, loaded one by one.
inline constexpr double kStridedOps = 12;
/// So many times as long where each lies in a line of its own, and so many of them that the first lines are gone when
/// the next vector comes to its elements in them: loops that run down the columns of long arrays.
inline constexpr double kFarTimes = 4;
inline constexpr int64_t kFarStride = 16;
inline constexpr double kFarPoints = 256;
inline bool IsFar(int64_t stride, double points) { return stride >= kFarStride && points >= kFarPoints; }
/// So much of that is surely saved where such a read goes: parts of structs are loaded together and shuffled.
inline constexpr double kApartShare = 0.25;
/// Rows of so many elements, half a vector full, are worth storing for that alone.
inline constexpr int64_t kMinRowReadApart = 8;
/// What is saved must be more than storing costs by so much, and so much of all that the kernel does, and more than
/// a few launches: these are estimates, and every kernel has to be compiled.
inline constexpr double kStoreMargin = 1.25;
inline constexpr double kStoreShare = 0.1;
inline constexpr double kStoreGainSteps = 8;
/// The same share for values none of which is worth storing without the others.
inline constexpr double kStoreTogetherShare = 0.2;
/// Values of one kernel that are looked at closely.
inline constexpr size_t kMaxStoreCandidates = 8;

/// What storing and reading a value costs besides computing it once, where another step costs `step`. One that is
/// `stored` already is only read.
inline double StoreOps(double bytes, bool stored, double step = kLaunchOps) {
  const double moved = bytes * (bytes > kNearBytes ? kFarByteOps : kNearByteOps);
  return step + (stored ? 1 : 2) * moved;
}

// Costs of operations that no table has (OpCosts).

/// Powers of integers are written out as 64 selected products at most.
inline constexpr int kIntegerPowerCost = 100;
/// Math functions of types without an algorithm; they never become kernels.
inline constexpr int kUnknownFunctionCost = 40;

// How a kernel is made.

/// A cluster is tried so often, with its dims cut finer each time.
inline constexpr int kMaxAttempts = 12;
/// Of what keeps a cluster from being one kernel, at most so much is looked for before it is dealt out anew.
inline constexpr int kMaxTrials = 32;
/// A dim is cut into at most so many: reshapes that ask for more are stored.
inline constexpr size_t kMaxPiecesOfDim = 8;
/// A kernel is cut where so many values were traced for each node that it may hold: at ever other places, of nodes that
/// are shared.
inline constexpr int64_t kTracesPerNode = 2;
/// Nodes that are looked at to find what padding a value gives by itself.
inline constexpr int kOutsideNodes = 32;
/// Stages of fewer points are not worth cutting into regions, nor are fewer questions about places.
inline constexpr int64_t kMinRegionPoints = 512;
inline constexpr int kMinRegionQuestions = 3;
/// More regions than this, or more cuts of one dim, are more code than they save time.
inline constexpr size_t kMaxRegions = 12;
inline constexpr size_t kMaxRegionCutsPerDim = 4;
/// A region that is less than this part of its dim is not cut along others.
inline constexpr double kNarrowRegion = 0.125;
/// Regions must leave at most this part of the modelled time.
inline constexpr double kRegionGain = 0.9;
/// Points of a loop in a kernel that are worth running in lanes.
inline constexpr int64_t kMinLanePoints = 4;

// How a kernel's loops run in lanes; bits do not depend on it.

/// Dims of at most so many places may be written out, and so many places of all dims together: beyond them rows fill
/// vectors well enough, and code would grow.
inline constexpr int64_t kShortDim = 32;
inline constexpr int64_t kMaxWrittenOut = 32;
/// Points of short dims that are gone through together at most: of bytes, the most that vectors hold, and those on the
/// way to them.
inline constexpr int64_t kMostTiled = 1024;
/// Going through them so must leave at most this part of the modelled time: loops change places for it.
inline constexpr double kTiledGain = 0.8;
/// Places of short dims that may be looked at to find those.
inline constexpr int kMostTileTrials = 64;
/// What is written out costs no more than a kernel may (KernelLimits::cost), or so many times what was there: code
/// is made for all of it. It has at most so many nodes on the way.
inline constexpr double kWrittenOutGrowth = 1.5;
/// Instructions of an operation that is no function, however slow: a division is one.
inline constexpr int kOperationCode = 2;
inline constexpr int64_t kWrittenOutNodes = 2000;
/// Writing out must leave at most this part of the modelled time, and save about as much as a launch takes.
inline constexpr double kWriteOutGain = 0.8;
inline constexpr double kWriteOutCycles = 100;
/// Where a kernel takes less, other things count for more than how rows move that data choose.
inline constexpr double kRowsMatterCycles = 5000;
/// Rows that stay whole are written out where this part of the modelled time is something that they share.
inline constexpr double kSharedByRows = 0.05;
/// Or where they go through so few places of a buffer at once: with 4, rows of 32 to 64 bytes moved 1.5 to 2.6 times as
/// fast and longer ones as fast as before, with 8 those of 256 bytes and with 16 all slower.
inline constexpr int64_t kStreamsTogether = 4;
/// Cycles of one vector per unit of OpCosts: two operations at once.
inline constexpr double kLaneCyclesPerCost = 0.5;
/// The same of functions, whose costs were fitted to code in which every instruction waited for the one before it; and
/// what is left of that for types of eight bytes, whose costs are of two vectors.
inline constexpr double kMathCyclesPerCost = 0.35;
inline constexpr double kWideMath = 0.5;
/// Cycles of asking whether a guard holds, and of heeding the answer; and of both for each lane anew, in every row.
inline constexpr double kGuardCycles = 0.5;
inline constexpr double kLaneGuardCycles = 4;
/// Kernels keep the lengths of rows of so few places: the emitter needs no masks for what is left of them, and writes
/// out short ones without a loop. Which lanes a guard leaves out is known then, and costs so much for each of the two
/// vectors at most that are not whole.
inline constexpr int64_t kKnownRow = 256;
inline constexpr double kKnownGuardCycles = 1;
/// Kernels that read and write at more places than these keep their offsets, which machine code has in its addresses:
/// about what registers hold beside everything else.
inline constexpr size_t kOffsetsAsParameters = 8;
/// Cycles of starting a loop, and more of them where its end is masked.
inline constexpr double kLoopCycles = 4;
inline constexpr double kRowCycles = 1;
/// Of starting a loop around the innermost one within others: rows of 2 to 8 elements within loops of 2 by 2 took 5 to
/// 7 cycles more each than within long ones.
inline constexpr double kInnerLoopCycles = 5;
inline constexpr double kMaskCycles = 4;
/// The same where a row is written out.
inline constexpr double kKnownMaskCycles = 1;
/// Sums of columns go through so many rows before the next columns' turn; vectors of so many sums stay in registers
/// meanwhile, and others are read and written for every row.
inline constexpr double kRowsTogether = 8;
inline constexpr int64_t kSumsInRegisters = 6;
inline constexpr double kSumInMemoryCycles = 1.5;
/// Cycles until the lanes of a sum or a maximum have met while those of other rows do, until those of a combiner of
/// several operations have, and until accumulators that lie in memory have.
inline constexpr double kMeetInLanesCycles = 5;
inline constexpr double kPairsMeetCycles = 24;
inline constexpr double kMeetInMemoryCycles = 150;

// How a kernel is cut into pieces; bits do not depend on it.

/// Bytes of output or input per piece: what the nearest cache holds, in whole powers of two.
inline int64_t PieceBytes(const target::Target& target) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(target.Cache(0).bytes)));
}
/// Pieces of single points hold a multiple of so many: whole vectors of every width.
inline constexpr int64_t kPointsTogether = 64;
/// Bytes that a point of one of several stages is taken to touch.
inline constexpr int64_t kStagePointBytes = 8;
/// So many rows are cut between rows, fewer ones within them.
inline constexpr int64_t kManyRows = 16;
/// A dim of at least so many neighbours in what is read makes a transpose; a piece of one covers at least so many rows
/// of what it reads: a page of each column, and whole vectors.
inline constexpr int64_t kMinTransposed = 8;
inline constexpr int64_t kTileRows = 64;
/// A piece of a sum of columns covers at least so many neighbours: runs that are worth prefetching.
inline constexpr int64_t kColumns = 512;

/// Clusters with the same operations of which it is remembered what became of them: as many as there are ways in which
/// their operands lie.
inline constexpr size_t kMaxAlike = 8;

// Loops of few elements: each a value of its own, or arrays in lanes (loop_cost.h). They fix bits.

/// From this cost (OpCosts) on, an operation is a function or as slow as one.
inline constexpr int kFunctionCost = 12;
/// Cycles of a scalar operation, of which several run at once, of a load, and of a function, by unit of cost.
inline constexpr double kScalarNodeCycles = 0.55;
inline constexpr double kScalarReadCycles = 0.3;
inline constexpr double kScalarFunctionCycles = 0.7;
/// Cycles until one vector is through a function, by unit of cost.
inline constexpr double kFunctionLatency = 3;
/// Cycles of a stage whose memory the one before it has just written.
inline constexpr double kTripStageCycles = 20;
/// Trips of fewer cycles stay in registers, and others unless lanes are so many times as fast.
inline constexpr double kLeastLaneTrip = 100;
inline constexpr double kLaneTripMargin = 1.5;
/// A matrix that a loop multiplies with vectors lies by columns there if it has so many rows, and the loop as many
/// trips.
inline constexpr int64_t kMinTurnedRows = 8;
inline constexpr int64_t kMinTurnedTrips = 4;

// Kernels whose points compute tiles of results (tiled.h); bits do not depend on it.

/// Results of a point along each dim: eight by eight sums in registers read sixteen elements for 64 multiplications.
inline constexpr int64_t kTileOwn = 8;
/// Neighbours that a point reads at once, and points side by side that read one row: runs that move at once.
inline constexpr int64_t kTileVector = 4;
inline constexpr int64_t kTileLanes = 32;
/// Results of a workgroup's tile along each dim at most where matrix units make them: each factor is read that many
/// times less often than it is used.
inline constexpr int64_t kMatrixTile = 64;
/// Points that keep one core of a GPU busy: several for each of its lanes, since they wait for memory in turn.
inline constexpr int64_t kPointsPerCore = 256;
/// What is done with a product in its kernel has at most so many operations for all results of a point: beside the
/// sums themselves, and the drivers' compilers take more than linear time.
inline constexpr int64_t kMostFinishOps = 512;
/// Sums of so many terms are worth the lanes of a workgroup where there are few of them.
inline constexpr int64_t kManyTerms = 256;

/// Terms of one pass of a Fourier transform at most.
inline constexpr int64_t kMostRadix = 32;
/// Longer ones are the host's: the roots of unity are a constant of the program.
inline constexpr int64_t kMostTransformed = 64 << 10;
/// Sorts on GPUs: operations of a look at another element, where all elements look at one after another and where each
/// searches for itself, at places of its own; and the length of the runs that merges begin with.
inline constexpr double kRankLookOps = 2;
inline constexpr double kSearchLookOps = 20;
inline constexpr int64_t kRankedRun = 128;
/// What a step on the host costs a GPU: to wait for it and go on behind it, per element of a sort and bit of its place,
/// and where it does not share the memory, to bring arrays there and back.
inline constexpr double kHostTripNs = 100e3;
inline constexpr double kHostSortNs = 1.5;
inline constexpr double kHostBytesPerNs = 10;

// Hooks of drivers.

/// Units of the order between a driver and the kernel that its hook could be: what a result waits for.
inline constexpr size_t kHookReach = 32;
/// Tiles of fewer columns are rows of single elements.
inline constexpr int64_t kMinHookCols = 8;
/// A call of a hook, whose arguments are gathered and loops set up, and a row of a tile, which begins and ends for
/// itself.
inline constexpr double kHookCallNs = 40;
inline constexpr double kHookRowNs = 3;

// Work.

/// Cycles of one element of a scan, or of one update of a scatter: a load, an operation and a store that wait for one
/// another, of which neighbours overlap somewhat.
inline constexpr double kSerialStepCycles = 3.5;
/// Scatters of at most so many nanoseconds are no work for several cores: about what a loop must take to be shared.
inline constexpr double kSharedScatterNs = 4000;
/// Updates that take so long each are shared out by the parts of the array that they go to: every core looks at all of
/// their places and takes its own. To go past one takes a few nanoseconds, as which of them those are cannot be
/// foreseen.
inline constexpr double kOwnedUpdateNs = 20;
/// The least that an owner has of the array in one place, in bytes: where cores write beside one another they wait for
/// lines, and for those that are fetched ahead.
inline constexpr int64_t kOwnedPartBytes = 4 << 10;
/// Cycles of one node in a loop that runs in registers, and points that run in lanes together.
inline constexpr double kLoopNodeCycles = 1.75;
/// Where long launches are killed, a kernel runs so many trips of a loop as take this share of what is allowed, by the
/// cycles until an operation's result is there, since in one point each waits for the one before: far from the limit
/// on devices a few times slower than is known, and long beside a launch. But no fewer than so many.
inline constexpr double kChunkShare = 0.005;
inline constexpr double kScalarOpLatency = 8;
inline constexpr int64_t kLeastChunk = 64;
inline constexpr double kLoopLanes = 8;

/// Nodes that are looked at to find of which indices a place is made: nodes may be shared, and their paths many.
inline constexpr int kMostSpelledSteps = 64;

// How short sums are written out. Of fewer results than fill some vectors nothing else is done while one addition waits
// for the one before: from so many terms on they go in four chains that meet, term i in chain i % 4.
inline constexpr int64_t kFewSums = 128;
inline constexpr int64_t kChainTerms = 8;
inline constexpr size_t kChains = 4;

// Kernels that differ in extents alone share their code, but for the length of rows that are summed: up to sixteen
// vectors of the longest kind, a loop, masks and what they need around them take a good part of the time.
inline constexpr int64_t kShortRow = 256;
/// Of other numbers those up to this stay in the code: about what strides of small structs and taps of stencils come
/// to.
inline constexpr int64_t kSmallNumber = 8;

}  // namespace tenon::compiler::policy
