#pragma once

/// The numbers behind simplify's choices, each with its reason. What says how sums are cut is the target's
/// (target::Numerics).

#include <cstddef>
#include <cstdint>

namespace tenon::compiler::policy {

/// Operations between a long reduction and reshapes of what it sums, which are made anew with other dims.
inline constexpr size_t kMaxUnmergedNodes = 16;
/// Constants of more elements are left to run time: computing them there costs less than here.
inline constexpr int64_t kMaxFoldedElements = 256;
/// Places of gathers and scatters that are looked at, integers of which they are made, and how many operations deep: as
/// many as a table of a kernel may well hold.
inline constexpr int64_t kMaxKnownNumbers = 4096;
inline constexpr int kMaxKnownDepth = 32;
/// Numbers that are kept for later questions: 8 MB of them.
inline constexpr int64_t kMaxKnownKept = 1 << 20;
/// Updates that a choice is made between, one behind the other, at most; and an update is at most such a part of its
/// array that choosing within it pays.
inline constexpr size_t kMaxMaskedUpdates = 8;
inline constexpr int64_t kMinMaskedShare = 2;
/// A gather of known places is so many slices, one behind the other, at most: kernels select between so many.
inline constexpr size_t kMaxKnownRuns = 4;
/// More slices are copies one behind the other, up to so many: each is a loop nest in the kernel's code. A nest costs
/// what gathering a few elements does, so a slice must move on average so many elements that lie beside one another,
/// as those of a row of a 3x3 matrix do.
inline constexpr size_t kMaxLongKnownRuns = 16;
inline constexpr int64_t kLongKnownRun = 3;
/// Concatenations of concatenations of more elements are joined, which moves them once; smaller ones are selected
/// between where they are used, few parts at a time. Up to so many parts: each is a loop nest.
inline constexpr int64_t kMinJoinedElements = 64 << 10;
inline constexpr size_t kMaxJoinedParts = 16;
/// An element of so many values that are stacked is chosen where they are computed: a comparison and a choice for each,
/// of whole vectors, where a gather takes its lanes one by one.
inline constexpr size_t kMaxChoices = 8;
/// So many values that are stacked to be reduced meet where they are computed.
inline constexpr size_t kMaxStacked = 16;
/// Complex constants of more elements are not copied into their parts.
inline constexpr int64_t kMaxPartElements = 64 << 10;

/// Scans along so many elements and more, of so many rows, are turned around, unless they have so many bytes, which
/// come from memory both times. Rows a multiple of kSetBytes apart are turned in any case: their elements of one place
/// fall into one set of the nearest cache, which holds fewer than a vector has lanes.
inline constexpr int64_t kMinTurnedScan = 8;
inline constexpr int64_t kMinTurnedRows = 16;
inline constexpr int64_t kMaxTurnedBytes = 8 << 20;
inline constexpr int64_t kSetBytes = 4096;
/// So many scans side by side fill a vector: of up to so many elements they stay whole (a GPU's stay whole for as long
/// anyway), since turned into blocks, 16 of 300 elements took 1.4 and 64 of 1000 took 1.3 times as long.
inline constexpr int64_t kScansInLanes = 16;
inline constexpr int64_t kLongScanInLanes = 1024;

/// Loops of at most so many trips, and so many operations over all trips, are written out.
inline constexpr int64_t kMaxUnrolledTrips = 8;
inline constexpr int64_t kMaxUnrolledOps = 600;
/// A trip copies the part of an array that a product takes, which lies where it is when trips are written out. That is
/// worth more trips and operations where the part has so many bytes at least and meets so few rows that the product
/// takes no longer than the copy.
inline constexpr int64_t kMaxTripsOfCopies = 32;
inline constexpr int64_t kMaxOpsOfCopies = 6000;
inline constexpr int64_t kMinCopiedFactor = 64 << 10;
inline constexpr int64_t kMaxRowsOfCopied = 16;
/// An element of the last trip's result may be made of so many of what the first one starts with: of more, no kernel
/// holds them all, so trips are stored one by one, which a loop does in less code. Loops of at most so many bytes are
/// to be one kernel anyway, and may have fewer.
inline constexpr size_t kMaxUnrolledTaps = 64;
inline constexpr size_t kMaxSmallTaps = 16;
inline constexpr int64_t kSmallLoopBytes = 16 << 10;

/// Values of fewer elements stay in their loop and are computed again: it may be one kernel that keeps them in
/// registers.
inline constexpr int64_t kMinHoistedElements = 256;
/// A gather of windows of at most so many elements, which take an instruction each and not a vector's, leaves the loop.
inline constexpr int64_t kMaxHoistedWindow = 8;
/// A value is computed in so many parts at most, with so many nodes of which it is made: all of them are there in each.
inline constexpr size_t kMaxReducedParts = 4;
inline constexpr size_t kMaxNodesInParts = 512;
/// Products of all trips become one product from so many trips on, while they take at most so much memory together.
inline constexpr int64_t kMinProductTrips = 4;
inline constexpr int64_t kMaxProductBytes = int64_t{16} << 20;

/// A trip's values fill vectors of so many elements (of f32), or waste the rest of them; that and what follows is in
/// cycles, as target::OpCosts are.
inline constexpr double kTripLanes = 16;
/// An operation on a scalar, of which several run at once, by that on a vector.
inline constexpr double kTripScalar = 0.55;
/// To write a vector in a trip and to read it behind the loop, or the other way round.
inline constexpr double kPassedVector = 4;
/// All that a loop and the rest pass on to one another takes so much memory at most.
inline constexpr int64_t kMaxPassedBytes = 4 * kMaxProductBytes;
/// What a trip of a loop takes that does nothing.
inline constexpr double kChainTrip = 8;
/// What a loop carries by itself is made of so many values at most, a few hashes' worth; and so many are looked at to
/// find all of that.
inline constexpr size_t kMaxChainNodes = 2048;
inline constexpr int64_t kMaxChainSteps = int64_t{1} << 18;
/// To add a vector to a sum in memory.
inline constexpr double kSummedVector = 2;
/// All trips must spare so much that another kernel pays.
inline constexpr double kSplitCycles = 1000;
/// Products of so many terms are worth summing over trips: longer ones run as fast one by one.
inline constexpr int64_t kMaxSummedTerms = 64;
inline constexpr int64_t kMaxSplitTrips = int64_t{1} << 24;
/// Steps to find out what to move; a loop for which it takes more stays as it is.
inline constexpr int64_t kMaxCutSteps = int64_t{1} << 22;

/// In a loop a vector's products with the columns of a matrix are written out up to so many terms, which fusion does
/// with what neighbours are summed from; a call there is this many steps more, as it parts those before it from those
/// behind.
inline constexpr int64_t kMaxTripTerms = 32;
inline constexpr double kPartedSteps = 3;
/// A window of so many times the elements of its input may change places with it.
inline constexpr int64_t kLeastTradedWindow = 2;
/// A value whose chain is longer is not looked through for whether a loop changes it.
inline constexpr size_t kMaxLastingNodes = 16;
/// A matrix of narrow floats is widened for a loop if it then takes no more than this: others come from memory.
inline constexpr int64_t kMaxWidenedBytes = int64_t{8} << 20;
/// Lanes of one such sum meet while those of others do.
inline constexpr double kTripLanesMeetCost = 60;
/// A product with few columns whose columns are written out, with lanes along its rows, has so many rows, which is two
/// vectors full, or no more than so many multiplications in a row.
inline constexpr int64_t kMinWrittenRows = 32;
inline constexpr int64_t kMaxWrittenForFewRows = 16;
/// What a byte from memory takes in a kernel that sums, as part of what it takes in a driver, which fetches it ahead.
inline constexpr double kNotFetchedAhead = 1.2;
/// What an operand of a product costs to compute again is added up to so much: from there on it is stored anyway.
inline constexpr double kMaxChainCost = 1e6;
/// Lanes of one sum meet at the end of it: so much (OpCosts, for 16 elements) per sum, or less where there are a vector
/// of sums whose lanes meet together.
inline constexpr double kLanesMeetCost = 300;
inline constexpr double kLanesMeetTogetherCost = 80;
inline constexpr int64_t kSumsTogether = 16;
/// A vector of so many terms stays in registers while it meets the rows of a matrix, and so many terms are read and
/// multiplied at once. Of more terms drivers have sums along lanes, too.
inline constexpr int64_t kTermsInRegisters = 63;
inline constexpr double kTermsAtOnce = 2;
/// Nodes that are looked at to find whether rows are gathered, which is why their sums do not meet together.
inline constexpr size_t kMaxGatheredNodes = 32;
/// Complex matrices of so many rows and columns stay in registers while what they are multiplied with goes by.
inline constexpr int64_t kMaxGateTerms = 4;
/// Complex rows of so many columns are added row by row. Shorter ones leave lanes empty, and shuffles take them apart
/// for lanes along each column in half the time; three columns are too many parts for that.
inline constexpr int64_t kMinComplexColumns = 3;
/// Results per group of a convolution that are written out tap by tap: half of the columns of a narrow register tile.
inline constexpr int64_t kMaxResultsPerTap = 8;
/// Elements of a depthwise convolution's window whose gradient is written out, a sum for each.
inline constexpr int64_t kMaxWeightPlaces = 64;
/// Dims of space that drivers take.
inline constexpr size_t kMaxConvolutionDims = 3;
/// What is written for one of fewer dims, at most.
inline constexpr double kMaxConvolutionBytes = 1 << 30;

}  // namespace tenon::compiler::policy
