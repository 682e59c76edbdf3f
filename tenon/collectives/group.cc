#include "tenon/collectives/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace tenon::collectives {
namespace {

constexpr uint64_t kMagic = 0x316c6c6f43534e54;  // structural: names the format
constexpr size_t kNameBytes = 48;                // structural: of the format
/// The first message to a peer has so many bytes, whatever it carries: what is smaller arrives with it, and nothing of
/// another size is sent before both ends know that they agree.
constexpr size_t kFirstBytes = 4096;  // structural: of the format

struct Header {
  uint64_t magic = kMagic;
  uint64_t launch = 0;
  uint64_t program_low = 0, program_high = 0;
  uint64_t met = 0;
  uint64_t bytes = 0;
  uint32_t step = 0;
  uint32_t parts = 0;
  char name[kNameBytes] = {};
};
static_assert(sizeof(Header) <= kFirstBytes / 2);
constexpr size_t kInlineBytes = kFirstBytes - sizeof(Header);

using First = std::vector<std::byte>;

std::string NameOf(const Header& h) { return std::string(h.name, strnlen(h.name, kNameBytes)); }

std::string Describe(const Header& h) {
  return fmt::format(
      "execution {} of '{}' (fingerprint {:016x}{:016x}), exchange {} (number {} of these two), {} bytes in {} parts",
      h.launch, NameOf(h), h.program_high, h.program_low, h.step, h.met, h.bytes, h.parts);
}

Header HeaderOf(const Tag& tag, int peer, uint64_t bytes, uint32_t parts) {
  Header h;
  h.launch = tag.launch;
  h.program_low = tag.program.low;
  h.program_high = tag.program.high;
  h.met = tag.met.empty() ? 0 : tag.met[static_cast<size_t>(peer)];
  h.bytes = bytes;
  h.step = tag.step;
  h.parts = parts;
  std::memcpy(h.name, tag.name.data(), std::min(tag.name.size(), kNameBytes));
  return h;
}

bool SamePlace(const Header& a, const Header& b) {
  return a.magic == b.magic && a.launch == b.launch && a.program_low == b.program_low &&
         a.program_high == b.program_high && a.met == b.met && a.step == b.step && a.bytes == b.bytes &&
         a.parts == b.parts;
}

std::string ReasonKey(const Meeting& meeting, int member) { return fmt::format("{}/end/{}", meeting.key, member); }

struct Peer {
  uint64_t bytes = 0;
  uint32_t parts = 0;
  First first;
};

}  // namespace

Result<std::unique_ptr<Group>> Group::Create(Engine& engine, Setup setup) {
  std::unique_ptr<Group> group(new Group(std::move(setup)));
  Result<std::unique_ptr<Channel>> channel = engine.Connect(group->setup_.meeting);
  if (!channel.ok())
    return std::move(channel).status().WithContext(fmt::format("connecting {} processes", group->size()));
  group->channel_ = *std::move(channel);
  TENON_RETURN_IF_ERROR(group->Greet());
  return group;
}

Group::~Group() {
  if (channel_ != nullptr) channel_->Abort();
}

// Everybody shows everybody that it knows the job's secret, before anything else is believed.
Status Group::Greet() {
  Tag tag;
  tag.name = "greeting";
  std::string mine = fmt::format("{}#{}", setup_.secret, self());
  mine.resize(kInlineBytes / 4);
  std::vector<std::string> theirs(static_cast<size_t>(size()), std::string(mine.size(), '\0'));
  std::vector<SendPart> sends;
  std::vector<ReceivePart> receives;
  for (int i = 0; i < size(); ++i) {
    if (i == self()) continue;
    sends.push_back({i, reinterpret_cast<const std::byte*>(mine.data()), mine.size()});
    std::string& place = theirs[static_cast<size_t>(i)];
    receives.push_back({i, reinterpret_cast<std::byte*>(place.data()), place.size()});
  }
  TENON_RETURN_IF_ERROR(Exchange(tag, sends, receives));
  for (int i = 0; i < size(); ++i) {
    std::string wanted = fmt::format("{}#{}", setup_.secret, i);
    wanted.resize(mine.size());
    if (i == self() || theirs[static_cast<size_t>(i)] == wanted) continue;
    const Status error = PermissionDenied(
        fmt::format("who connected as {} does not know the job's secret", setup_.names[static_cast<size_t>(i)]));
    Fail(error);
    return error;
  }
  return OkStatus();
}

Status Group::Exchange(const Tag& tag, std::span<const SendPart> sends, std::span<const ReceivePart> receives) {
  TENON_RETURN_IF_ERROR(status());
  Status result = ExchangeUnguarded(tag, sends, receives);
  if (result.ok()) return result;
  if (const Status earlier = status(); !earlier.ok()) return earlier;
  if (result.code() == Code::kUnavailable) result = Explain(std::move(result));
  Fail(result);
  return result;
}

Status Group::ExchangeUnguarded(const Tag& tag, std::span<const SendPart> sends,
                                std::span<const ReceivePart> receives) {
  std::map<int, Peer> to, from;
  for (const SendPart& s : sends) {
    if (s.peer < 0 || s.peer >= size() || s.peer == self())
      return Internal(fmt::format("a part for member {} of {}", s.peer, size()));
    Peer& p = to[s.peer];
    p.bytes += s.bytes;
    ++p.parts;
  }
  for (const ReceivePart& r : receives) {
    if (r.peer < 0 || r.peer >= size() || r.peer == self())
      return Internal(fmt::format("a part of member {} of {}", r.peer, size()));
    Peer& p = from[r.peer];
    p.bytes += r.bytes;
    ++p.parts;
  }
  std::vector<SendPart> first_sends, rest_sends;
  std::vector<ReceivePart> first_receives, rest_receives;
  for (auto& [peer, p] : to) {
    p.first.resize(kFirstBytes);
    const Header h = HeaderOf(tag, peer, p.bytes, p.parts);
    std::memcpy(p.first.data(), &h, sizeof(h));
    first_sends.push_back({peer, p.first.data(), kFirstBytes});
  }
  for (auto& [peer, p] : from) {
    p.first.resize(kFirstBytes);
    first_receives.push_back({peer, p.first.data(), kFirstBytes});
  }
  std::map<int, size_t> filled;
  for (const SendPart& s : sends) {
    Peer& p = to[s.peer];
    if (p.bytes > kInlineBytes) {
      if (s.bytes > 0) rest_sends.push_back(s);
      continue;
    }
    size_t& at = filled[s.peer];
    if (s.bytes > 0) std::memcpy(p.first.data() + sizeof(Header) + at, s.data, s.bytes);
    at += s.bytes;
  }
  TENON_RETURN_IF_ERROR(channel_->Exchange(first_sends, first_receives, setup_.meeting.timeout));
  for (const auto& [peer, p] : from) {
    Header got;
    std::memcpy(&got, p.first.data(), sizeof(got));
    const Header want = HeaderOf(tag, peer, p.bytes, p.parts);
    if (SamePlace(got, want)) continue;
    const std::string& name = setup_.names[static_cast<size_t>(peer)];
    if (got.magic != kMagic) return InvalidArgument(fmt::format("{} sent what is no message of Tenon", name));
    return InvalidArgument(
        fmt::format("processes run different programs, or the same ones in different orders: this one is at {}, and {} "
                    "sent {}. Every process has to run the same programs in the same order",
                    Describe(want), name, Describe(got)));
  }
  filled.clear();
  for (const ReceivePart& r : receives) {
    Peer& p = from[r.peer];
    if (p.bytes > kInlineBytes) {
      if (r.bytes > 0) rest_receives.push_back(r);
      continue;
    }
    size_t& at = filled[r.peer];
    if (r.bytes > 0) std::memcpy(r.data, p.first.data() + sizeof(Header) + at, r.bytes);
    at += r.bytes;
  }
  for (const auto& [peer, p] : to) bytes_.fetch_add(static_cast<int64_t>(p.bytes), std::memory_order_relaxed);
  messages_.fetch_add(static_cast<int64_t>(to.size()), std::memory_order_relaxed);
  if (rest_sends.empty() && rest_receives.empty()) return OkStatus();
  return channel_->Exchange(rest_sends, rest_receives, setup_.meeting.timeout);
}

Status Group::Explain(Status error) const {
  Store* store = setup_.meeting.store;
  if (store == nullptr) return error;
  // A peer that ends the group says why before it closes its connections.
  for (int i = 0; i < size(); ++i) {
    if (i == self()) continue;
    const Result<std::string> said = store->TryGet(ReasonKey(setup_.meeting, i));
    if (said.ok() && !said->empty())
      return Status(error.code(), fmt::format("{} ended it: {}", setup_.names[static_cast<size_t>(i)], *said));
  }
  return error;
}

void Group::Fail(const Status& why, bool tells) {
  {
    std::lock_guard lock(mutex_);
    if (!failed_.ok()) return;
    failed_ = why.WithContext("programs of these processes can run together no more");
  }
  if (tells && setup_.meeting.store != nullptr)
    static_cast<void>(setup_.meeting.store->Put(ReasonKey(setup_.meeting, self()), why.ToString()).ok());
  if (channel_ != nullptr) channel_->Abort();
}

Status Group::status() const {
  std::lock_guard lock(mutex_);
  return failed_;
}

Status Launch::Exchange(uint32_t step, std::span<const SendPart> sends, std::span<const ReceivePart> receives) {
  tag.step = step;
  tag.met.resize(static_cast<size_t>(group->size()), 0);
  TENON_RETURN_IF_ERROR(group->Exchange(tag, sends, receives));
  std::set<int> peers;
  for (const SendPart& s : sends) peers.insert(s.peer);
  for (const ReceivePart& r : receives) peers.insert(r.peer);
  for (const int peer : peers) ++tag.met[static_cast<size_t>(peer)];
  return OkStatus();
}

}  // namespace tenon::collectives
