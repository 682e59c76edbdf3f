#pragma once

#include <cstddef>

namespace tenon::proxy::policy {

/// Copies of at most this many bytes are done by their caller: about 0.1 ms, the cost of two changes of threads.
inline constexpr size_t kInlineCopyBytes = size_t{1} << 20;

/// Arrays of at most this many bytes go to a server with the message that announces them: a second connection would
/// cost them more than it spares those behind them.
inline constexpr size_t kInlineUploadBytes = size_t{16} << 10;

/// A device process elsewhere may call a handler with so many arrays.
inline constexpr size_t kMaxHandlerArrays = size_t{1} << 14;

/// What handlers made of attributes that is kept, and bytes of those attributes: programs have a few such calls each.
inline constexpr size_t kMaxCallSites = 4096;
inline constexpr size_t kMaxCallSiteBytes = size_t{64} << 20;

/// Arrays that share memory with others which are looked through for the one that has a place: executions may be told
/// of in another order than that in which they were asked for, which leaves chains of arrays, but not such long ones.
inline constexpr size_t kMaxSharing = 128;

/// How long after the error of a request that a death is the news of that death may come.
inline constexpr int kNewsOfDeathMs = 5000;

}  // namespace tenon::proxy::policy
