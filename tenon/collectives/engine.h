#pragma once

/// How bytes get from one process of a job to another. Nothing here knows types, sums or programs.

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::collectives {

using Milliseconds = std::chrono::milliseconds;

/// The key-value store that the processes of a job share. Thread-safe.
class Store {
 public:
  virtual ~Store() = default;
  /// ALREADY_EXISTS when the key has a value.
  virtual Status Put(std::string_view key, std::string_view value) = 0;
  /// Blocks until the key is there, at most `timeout`: DEADLINE_EXCEEDED, or what the store says.
  virtual Result<std::string> Get(std::string_view key, Milliseconds timeout) = 0;
  /// NOT_FOUND at once when the key is not there; UNIMPLEMENTED when the store cannot try.
  virtual Result<std::string> TryGet(std::string_view key) = 0;
};

/// Bytes for, or from, another member of a clique.
struct SendPart {
  int peer = 0;
  const std::byte* data = nullptr;
  size_t bytes = 0;
};
struct ReceivePart {
  int peer = 0;
  std::byte* data = nullptr;
  size_t bytes = 0;
};

/// The connections of one member with all others of its clique. Members are numbered from 0.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Moves all parts. What one member sends to another arrives in the order of its parts and calls; the other must
  /// receive it in parts of the same sizes. One call at a time. Errors: UNAVAILABLE when a peer is gone,
  /// DEADLINE_EXCEEDED, naming a peer, when it stays silent for `timeout`. After an error all later calls fail, and
  /// those of the peers that wait for this member do soon.
  virtual Status Exchange(std::span<const SendPart> sends, std::span<const ReceivePart> receives,
                          Milliseconds timeout) = 0;

  /// Makes the call under way, and all later ones, fail soon; peers that wait for this member fail as well. From any
  /// thread.
  virtual void Abort() = 0;
};

/// What a member says to get its channel.
struct Meeting {
  std::vector<int> nodes;  ///< The members' numbers in the job, by their number in the clique.
  int self = 0;            ///< This member.
  std::string key;         ///< Prefix of the keys that belong to this clique alone.
  Store* store = nullptr;
  Milliseconds timeout{0};
  std::string address;  ///< This host's address that the others reach; empty: what the engine finds.
};

/// A way to move bytes.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  /// Called by every member of a clique, at about the same time; blocks until all are connected.
  virtual Result<std::unique_ptr<Channel>> Connect(const Meeting& meeting) = 0;
};

}  // namespace tenon::collectives
