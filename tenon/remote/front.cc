#include "tenon/remote/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/base/drop_in_turn.h"

namespace tenon::remote {

using session::Session;
using wire::Decode;
using wire::Encode;
using wire::Lane;
using wire::Verb;

namespace {

// What is read at once comes with the answer up to here, in chunks beyond.
constexpr uint64_t kFewBytes = uint64_t{1} << 16;
// Outputs of at most so many bytes come with the outcome: reading a scalar costs no question.
constexpr uint64_t kSmallBytes = 256;
// Fetches that wait for their bytes; more are taken when these are answered.
constexpr size_t kMaxReadings = 4096;
// What is kept of something that was asked for, beside what its message takes.
constexpr uint64_t kOwedBytes = 1024;
// Executions whose callbacks were told of and which have not come: each follows at once.
constexpr size_t kMaxCallbacks = 1024;
// While a handler of the client's runs its messages are read however many there are, up to so many times the limit.
constexpr uint64_t kFarAhead = 8;
constexpr std::chrono::milliseconds kCatchUp{20};
// Arrays that share memory with others which are looked through for a place. Beyond that it counts as not found.
constexpr size_t kMaxSharing = 128;

}  // namespace

// An array of the client. What is not const is guarded by the front's mutex.
struct Front::Array {
  Array(Front& f, uint64_t n, uint64_t s, channel::Arena::Block b) : front(f), number(n), size(s), block(std::move(b)) {
    ++front.num_arrays_;
  }
  ~Array() {
    --front.num_arrays_;
    DropInTurn(std::move(shared));
    if (process != nullptr) process->DropLater(number, size);
    front.arena_.Free(std::move(block));
    const std::vector<uint32_t> gone = front.arena_.TakeGone();
    if (gone.empty()) return;
    if (const std::shared_ptr<Session> now = front.Now().process) {
      for (const uint32_t piece : gone) now->Forget(piece);
    }
  }
  // An empty array has no block.
  char* data() const { return block.piece == nullptr ? nullptr : block.data(); }
  wire::Place place() const { return {block.piece == nullptr ? 0 : block.piece->number, block.offset}; }

  Front& front;  // outlives it: whoever keeps an array keeps the front
  const uint64_t number, size;
  channel::Arena::Block block;
  std::shared_ptr<Session> process;            // that has been told of it
  std::vector<std::shared_ptr<Array>> shared;  // whose memory the device process has it in as well

  bool has(const wire::Place& at) const { return wire::IsWithin(at, place(), size); }
  // That of `arrays`, and of those that they share memory with, which has the place; null where it is not found.
  static std::shared_ptr<Array> HolderOf(const std::vector<std::shared_ptr<Array>>& arrays, const wire::Place& at) {
    for (const std::shared_ptr<Array>& array : arrays) {
      if (array->has(at)) return array;
    }
    std::unordered_set<const Array*> seen;
    std::vector<const std::vector<std::shared_ptr<Array>>*> lists{&arrays};
    for (size_t i = 0; i < lists.size(); ++i) {
      for (const std::shared_ptr<Array>& array : *lists[i]) {
        if (i != 0 && array->has(at)) return array;
        if (array->shared.empty() || !seen.insert(array.get()).second) continue;
        if (seen.size() > kMaxSharing) return nullptr;
        lists.push_back(&array->shared);
      }
    }
    return nullptr;
  }

  uint64_t expected = 0, arrived = 0;  // bytes of uploads
  bool is_output = false;
  bool begun = false;    // of an output: its execution was asked for
  bool defined = false;  // of an output: its bytes are there
  bool dropped = false;  // by the client, while bytes were on their way
  Status error;
  std::vector<std::shared_ptr<Run>> waiting;

  bool filled() const { return arrived >= expected; }
  // With uploads of so many bytes, of which this side may not know yet.
  bool filled(uint64_t uploaded) const { return filled() && arrived >= uploaded; }
  // Whether an execution that reads it can be passed on.
  bool usable() const { return is_output ? begun : filled(); }
};

// Counts what the client asked for, until it is answered.
class Front::Owed {
 public:
  Owed(std::shared_ptr<Front> front, uint64_t memory_bytes)
      : front_(std::move(front)), bytes_(kOwedBytes + memory_bytes) {
    front_->owed_bytes_ += bytes_;
  }
  Owed(const Owed&) = delete;
  Owed& operator=(const Owed&) = delete;
  ~Owed() { front_->owed_bytes_ -= bytes_; }

 private:
  const std::shared_ptr<Front> front_;
  const uint64_t bytes_;
};

// An execution of the client, until its outcome.
class Front::Run final : public session::PendingExecution {
 public:
  Run(std::shared_ptr<Front> front, Current at, uint64_t number, wire::Execute message, uint64_t memory_bytes)
      : front_(std::move(front)),
        owed_(front_, memory_bytes),
        at_(std::move(at)),
        number_(number),
        launch_id_(message.launch_id),
        message_(std::move(message)) {
    left_ = message_.devices.size();
    done_.resize(left_);
  }

  Status Complete(const wire::Executed& message) override {
    if (message.device >= done_.size() || done_[message.device])
      return DataLoss(fmt::format("an outcome for device {} of an execution", message.device));
    const auto& outputs = outputs_[message.device];
    if (message.error.code == 0 && message.places.size() != outputs.size())
      return DataLoss("an outcome with another number of outputs");
    if (message.error.code == 0) ShareMemory(outputs, message.places);
    done_[message.device] = true;
    --left_;
    wire::Executed told;
    told.device = message.device;
    told.error = message.error;
    for (const std::shared_ptr<Array>& output : outputs) {
      if (message.error.code != 0) break;
      told.places.push_back({});
      told.values.emplace_back(
          output->size != 0 && output->size <= kSmallBytes ? std::string(output->data(), output->size) : std::string());
    }
    const Status status = wire::ToStatus(message.error);
    for (const std::shared_ptr<Array>& output : outputs) front_->Finish(*output, status);
    front_->Reply(at_.epoch, Verb::kExecuted, number_, Encode(told));
    outputs_[message.device].clear();
    if (left_ == 0) arguments_.clear();
    return OkStatus();
  }
  // As ShareMemory of tenon/proxy's executions.
  void ShareMemory(const std::vector<std::shared_ptr<Array>>& outputs, const wire::Places& places) {
    std::shared_ptr<Array> all;  // stands for the arguments
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] == outputs[i]->place()) continue;
      std::shared_ptr<Array> holder = Array::HolderOf(arguments_, places[i]);
      for (const std::shared_ptr<Array>& other : outputs) {
        if (holder == nullptr && other != outputs[i] && other->shared.empty() && other->has(places[i])) holder = other;
      }
      if (holder == nullptr) {
        if (all == nullptr) {
          all = std::make_shared<Array>(*front_, 0, 0, channel::Arena::Block());
          all->shared = arguments_;
        }
        holder = all;
      }
      outputs[i]->shared.push_back(std::move(holder));
    }
  }
  void Fail(const Status& death) override {
    for (size_t d = 0; d < done_.size(); ++d) {
      if (!done_[d]) (void)Complete({static_cast<uint32_t>(d), wire::FromStatus(death), {}, {}});
    }
  }
  bool complete() const override { return left_ == 0; }
  std::string Name() const override { return fmt::format("launch {}", launch_id_); }
  uint64_t OwnNumber(uint64_t) const override { return number_; }
  Status Transfer(const std::shared_ptr<Session>& process, uint64_t number, wire::Transfer m) override {
    return front_->Transfer(process, number, std::move(m), number_);
  }

  const Current& at() const { return at_; }
  wire::Execute& message() { return message_; }
  std::vector<std::shared_ptr<Array>>& arguments() { return arguments_; }
  std::vector<std::vector<std::shared_ptr<Array>>>& outputs() { return outputs_; }
  AnnouncedCallbacks callbacks;
  size_t missing = 0;  // arguments that are not usable yet; under the front's mutex

 private:
  const std::shared_ptr<Front> front_;
  const Owed owed_;
  const Current at_;  // the device process that it is for
  const uint64_t number_;
  const int32_t launch_id_;
  wire::Execute message_;  // until it is passed on
  std::vector<std::shared_ptr<Array>> arguments_;
  std::vector<std::vector<std::shared_ptr<Array>>> outputs_;  // by device
  std::vector<bool> done_;
  size_t left_ = 0;
};

// Has the client run handlers for the device process.
class Front::Relay final : public session::HandlerHost {
 public:
  explicit Relay(std::weak_ptr<Front> front) : front_(std::move(front)) {}
  void Tell(const std::shared_ptr<Session>&) override {}  // The client does, when it hears that the process is there.
  void Run(std::shared_ptr<Session> session, uint64_t number, wire::CallHandler call,
           std::shared_ptr<session::PendingExecution> execution) override {
    if (const std::shared_ptr<Front> front = front_.lock())
      front->CallClient(std::move(session), number, std::move(call), std::move(execution));
  }

 private:
  const std::weak_ptr<Front> front_;
};

Front::Front(Options options)
    : options_(std::move(options)),
      started_ms_(channel::NowMs()),
      arena_(/*first_piece=*/1, options_.limits.array_bytes) {
  channel::PipeOptions pipe;
  pipe.max_message_bytes = options_.limits.max_message_bytes;
  pipe.grace_ms = options_.limits.grace_ms;
  pipe.keep_alive_ms = options_.limits.keep_alive_ms;
  pipe.silence_ms = options_.limits.silence_ms;
  for (auto& one : pipes_) one = std::make_unique<channel::Pipe>(pipe);
}

Front::~Front() = default;

Result<std::shared_ptr<Front>> Front::Start(Options options) {
  std::shared_ptr<Front> front(new Front(std::move(options)));
  for (void (Front::*work)() : {&Front::ReadControl, &Front::ReadBulk, &Front::WriteBulk}) {
    if (const Status status = session::StartThread([front, work] { (*front.*work)(); }); !status.ok()) {
      front->End(status);
      return status;
    }
  }
  return front;
}

Status Front::Attach(Lane lane, std::unique_ptr<channel::Stream> stream, uint64_t peer_received,
                     const std::function<Status(channel::Stream&, uint64_t received)>& answer) {
  const auto i = static_cast<size_t>(lane);
  std::lock_guard lock(attaching_[i]);
  TENON_RETURN_IF_ERROR(answer(*stream, pipes_[i]->Suspend()));
  const Status resumed = pipes_[i]->Resume(std::move(stream), peer_received);
  if (resumed.code() == Code::kDataLoss) Close(resumed);
  return resumed;
}

Front::Current Front::Now() const {
  std::lock_guard lock(mutex_);
  return {process_, epoch_};
}

void Front::Close(const Status& why) {
  for (const auto& pipe : pipes_) pipe->Close(why);
}

void Front::End(const Status& why) {
  std::shared_ptr<Session> process, loading;
  std::unordered_map<uint64_t, std::shared_ptr<Array>> arrays;
  std::unordered_map<uint64_t, HostCall> calls;
  std::unordered_map<uint64_t, AnnouncedCallbacks> callbacks;  // which keep this object
  std::deque<Reading> readings;
  std::vector<std::shared_ptr<Run>> waiting;  // for arrays, which they hold in turn
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    process = std::exchange(process_, nullptr);
    loading = std::exchange(loading_, nullptr);
    ++epoch_;
    arrays.swap(arrays_);
    calls.swap(calls_);
    callbacks.swap(callbacks_);
    readings.swap(readings_);
    const auto take = [&](Array& array) {
      for (std::shared_ptr<Run>& run : std::exchange(array.waiting, {})) waiting.push_back(std::move(run));
    };
    for (auto& [number, array] : arrays) take(*array);
    for (size_t i = 0; i < waiting.size(); ++i) {
      for (const auto& outputs : waiting[i]->outputs()) {
        for (const std::shared_ptr<Array>& array : outputs) take(*array);
      }
    }
    changed_.notify_all();
  }
  Close(why);
  if (process != nullptr) process->End();
  if (loading != nullptr) loading->End();
  for (auto& [number, call] : calls) call.process->HandlerEnded();
  if (options_.on_end) options_.on_end(std::string(why.message()));
}

// Nothing is said of a device process whose end has been told.
void Front::Reply(uint64_t epoch, Verb verb, uint64_t number, std::string_view message) {
  std::lock_guard telling(telling_);
  if (Now().epoch == epoch) (void)pipes_[0]->Send(verb, number, message);
}

void Front::Answer(uint64_t epoch, uint64_t number, const Result<std::string>& body) {
  wire::Answer answer;
  answer.error = wire::FromStatus(body.status());
  if (body.ok()) answer.body = *body;
  std::string message = Encode(answer);
  // Clients take answers as long as what the server takes, and no less than by default.
  const uint32_t most = std::max(channel::PipeOptions().max_message_bytes, options_.limits.max_message_bytes);
  if (message.size() > most) {
    const Status refused = ResourceExhausted(
        fmt::format("an answer of {} bytes; the most that crosses between machines is {}", message.size(), most));
    message = Encode(wire::Answer{wire::FromStatus(refused), {}});
  }
  Reply(epoch, Verb::kAnswer, number, message);
}

void Front::ReadControl() {
  End(pipes_[0]->ReceiveAll([this](const channel::Ring::Frame& frame) {
    ++handled_;
    Status status = Handle(frame);
    if (status.ok()) status = LetProcessCatchUp();
    ++handled_;
    return status;
  }));
}

// With the lock.
uint64_t Front::Ahead() {
  return owed_bytes_.load(std::memory_order_relaxed) + (process_ == nullptr ? 0 : process_->waiting_bytes());
}

// A client that asks for more than its device process does is not listened to meanwhile, so that what it asked for
// takes only so much memory here. But while a handler of its runs, the process may be waiting for what comes next.
Status Front::LetProcessCatchUp() {
  std::unique_lock lock(mutex_);
  const uint64_t limit = options_.limits.ahead_bytes;
  while (Ahead() > limit && !ended_ && pipes_[0]->state().ok()) {
    if (!calls_.empty()) {
      if (Ahead() / kFarAhead <= limit) break;
      return ResourceExhausted(fmt::format("{} bytes of requests wait while a handler runs, at most {} are kept",
                                           Ahead(), kFarAhead * limit));
    }
    changed_.wait_for(lock, kCatchUp);
  }
  return OkStatus();
}

Status Front::Handle(const channel::Ring::Frame& frame) {
  const uint64_t number = frame.number;
  // A message takes its own bytes, and beyond them no more than all that the client may be ahead.
  const uint64_t most = frame.message.size() + options_.limits.ahead_bytes;
  switch (frame.verb) {
    case Verb::kHello: {
      TENON_ASSIGN_OR_RETURN(const wire::Hello m, Decode<wire::Hello>(frame.message, most));
      Hello(number, m);
      return OkStatus();
    }
    case Verb::kUpload: {
      TENON_ASSIGN_OR_RETURN(const wire::Upload m, Decode<wire::Upload>(frame.message, most));
      return Upload(m);
    }
    case Verb::kExecute: {
      uint64_t memory_bytes = 0;
      TENON_ASSIGN_OR_RETURN(wire::Execute m, Decode<wire::Execute>(frame.message, most, &memory_bytes));
      return Execute(number, std::move(m), frame.message.size() + memory_bytes);
    }
    case Verb::kDrop: {
      TENON_ASSIGN_OR_RETURN(const wire::Drop m, Decode<wire::Drop>(frame.message, most));
      return Drop(m);
    }
    case Verb::kCallbacks: {
      uint64_t memory_bytes = 0;
      TENON_ASSIGN_OR_RETURN(wire::Callbacks m, Decode<wire::Callbacks>(frame.message, most, &memory_bytes));
      return Callbacks(number, std::move(m), frame.message.size() + memory_bytes);
    }
    case Verb::kHandlerDone: {
      TENON_ASSIGN_OR_RETURN(const wire::HandlerDone m, Decode<wire::HandlerDone>(frame.message, most));
      return HandlerDone(number, m);
    }
    case Verb::kGoodbye:
      return Cancelled("the client said goodbye");
    case Verb::kDropExecutable:
    case Verb::kRegisterHandler:
      if (const std::shared_ptr<Session> process = Now().process) process->Post(frame.verb, number, frame.message);
      return OkStatus();
    case Verb::kCreateClient:
    case Verb::kCompile:
    case Verb::kLoad:
    case Verb::kLoadCompiled:
    case Verb::kMakeTopology:
    case Verb::kCompileForTopology:
    case Verb::kAsk:
    case Verb::kAskDevice: {
      // As they are: the device process reads them as a stranger's.
      const Current now = Now();
      if (now.process == nullptr) return OkStatus();  // The client has been told that it is gone, or will be.
      auto owed = std::make_shared<Owed>(shared_from_this(), frame.message.size());
      now.process->CallThen(frame.verb, frame.message,
                            [self = shared_from_this(), epoch = now.epoch, number,
                             owed = std::move(owed)](Result<std::string> body) { self->Answer(epoch, number, body); });
      return OkStatus();
    }
    default:
      return DataLoss(fmt::format("the client sent {}", wire::Dump(frame.verb, frame.message)));
  }
}

void Front::Hello(uint64_t number, const wire::Hello& m) {
  uint64_t epoch = 0;
  Status refused;
  {
    std::lock_guard lock(mutex_);
    epoch = epoch_;
    if (m.oldest > wire::kNewestProtocol || m.newest < wire::kOldestProtocol) {
      refused = FailedPrecondition(fmt::format("the client speaks protocols {} to {}, this server {} to {}", m.oldest,
                                               m.newest, wire::kOldestProtocol, wire::kNewestProtocol));
    } else if (process_ != nullptr) {
      refused = FailedPrecondition("there is a device process already");
    } else if (starting_) {
      refused = FailedPrecondition("a device process is being started already");
    } else {
      starting_ = true;
    }
  }
  if (refused.ok()) {
    // A plugin may take for ever to load: what else the client says is read meanwhile, and its end is the process's.
    refused = session::StartThread([self = shared_from_this(), epoch, number] { self->StartProcess(epoch, number); });
    if (refused.ok()) return;
    std::lock_guard lock(mutex_);
    starting_ = false;
  }
  Answer(epoch, number, refused);
}

void Front::StartProcess(uint64_t epoch, uint64_t number) {
  session::ProcessOptions options;
  std::shared_ptr<Session> process;
  Status status = Contain("starting a device process", [&] {
    options.plugin = options_.plugin;
    options.limits = options_.limits.process;
    options.sandbox = options_.limits.sandbox;
    options.hang_timeout_s = options_.limits.hang_timeout_s;
    options.handlers = std::make_shared<Relay>(weak_from_this());
    options.on_start = [weak = weak_from_this()](std::shared_ptr<Session> started) {
      const std::shared_ptr<Front> self = weak.lock();
      if (self != nullptr) {
        std::lock_guard lock(self->mutex_);
        if (!self->ended_) {
          self->loading_ = std::move(started);
          return;
        }
      }
      started->End();
    };
    options.on_death = [weak = weak_from_this()](const Status& death) {
      if (const std::shared_ptr<Front> self = weak.lock()) self->ProcessDied(death);
    };
    Result<std::shared_ptr<Session>> started = options_.start(options);
    if (started.ok()) process = std::move(*started);
    return started.status();
  });
  bool ended;
  {
    std::lock_guard lock(mutex_);
    starting_ = false;
    loading_ = nullptr;
    ended = ended_;
    if (!ended) process_ = process;
  }
  if (process == nullptr) {
    Answer(epoch, number, status);
    return;
  }
  if (ended) {
    process->End();
    return;
  }
  Answer(epoch, number, Encode(process->welcome()));
  // It may have died before it was known here.
  if (const Status state = process->state(); !state.ok()) ProcessDied(state);
}

void Front::ProcessDied(const Status& death) {
  std::lock_guard telling(telling_);
  std::unordered_map<uint64_t, HostCall> calls;
  std::unordered_map<uint64_t, AnnouncedCallbacks> callbacks;
  {
    std::lock_guard lock(mutex_);
    if (process_ == nullptr || process_->state().ok()) return;  // Told already, or never known.
    process_ = nullptr;
    ++epoch_;
    calls.swap(calls_);
    callbacks_.swap(callbacks);
  }
  if (options_.log) options_.log(std::string(death.message()));
  (void)pipes_[0]->Send(Verb::kGone, 0, Encode(wire::Gone{wire::FromStatus(death)}));
}

// An array without bytes takes the place of one for which there is no room: whoever uses it hears of it. But those,
// too, are only so many.
Result<std::shared_ptr<Front::Array>> Front::NewArray(uint64_t number, uint64_t size) {
  Status full;
  {
    std::lock_guard lock(mutex_);
    if (arrays_.contains(number)) return DataLoss(fmt::format("array {} is made twice", number));
    // Those that are dropped count as long as something keeps them.
    const size_t there = num_arrays_.load(std::memory_order_relaxed);
    if (there >= options_.limits.max_arrays)
      full = ResourceExhausted(fmt::format("there are {} arrays, no more are allowed", there));
    if (there / 2 >= options_.limits.max_arrays) return full;
  }
  channel::Arena::Block block;
  if (full.ok() && size != 0) {
    Result<channel::Arena::Block> allocated = arena_.Allocate(size);
    full = allocated.status();
    if (allocated.ok())
      block = std::move(*allocated);
    else if (full.code() != Code::kResourceExhausted)
      return full;
  }
  auto array = std::make_shared<Array>(*this, number, full.ok() ? size : 0, std::move(block));
  array->error = full;
  return array;
}

Status Front::Upload(const wire::Upload& m) {
  if (m.offset > m.size || m.bytes > m.size - m.offset || (!m.data.empty() && m.data.size() != m.bytes))
    return DataLoss(fmt::format("an upload of {} bytes at {} to an array of {}", m.bytes, m.offset, m.size));
  std::shared_ptr<Array> array;
  {
    std::lock_guard lock(mutex_);
    if (const auto it = arrays_.find(m.array); it != arrays_.end()) array = it->second;
  }
  if (array == nullptr) {
    TENON_ASSIGN_OR_RETURN(array, NewArray(m.array, m.size));
    std::lock_guard lock(mutex_);
    arrays_.emplace(m.array, array);
  }
  if (array->is_output || (array->error.ok() && array->size != m.size))
    return DataLoss(fmt::format("an upload to array {} of {} bytes as one of {}", m.array, array->size, m.size));
  if (!m.data.empty() && array->error.ok()) std::memcpy(array->data() + m.offset, m.data.data(), m.data.size());
  {
    std::lock_guard lock(mutex_);
    if (m.bytes > UINT64_MAX - array->expected)
      return DataLoss(fmt::format("more uploads to array {} than can be counted", m.array));
  }
  Arrive(array, m.bytes, m.data.size());
  return OkStatus();
}

// So many more bytes of an array are on their way, and so many there: never more than were on their way.
void Front::Arrive(const std::shared_ptr<Array>& array, uint64_t announced, uint64_t arrived) {
  std::vector<std::shared_ptr<Run>> ready;
  {
    std::lock_guard lock(mutex_);
    array->expected += announced;
    array->arrived += arrived;
    changed_.notify_all();
    if (!array->filled()) return;
    TakeReady(*array, ready);
    if (array->dropped) arrays_.erase(array->number);  // The caller has it still.
  }
  Forward(std::move(ready));
}

// Of the executions that wait for this array, those that wait for nothing else any more. With the lock.
void Front::TakeReady(Array& array, std::vector<std::shared_ptr<Run>>& ready) {
  for (std::shared_ptr<Run>& run : std::exchange(array.waiting, {})) {
    if (--run->missing == 0) ready.push_back(std::move(run));
  }
}

Status Front::Drop(const wire::Drop& m) {
  std::vector<std::shared_ptr<Array>> freed;  // Outside the lock.
  std::lock_guard lock(mutex_);
  for (const uint64_t number : m.arrays) {
    const auto it = arrays_.find(number);
    if (it == arrays_.end()) continue;
    if (!it->second->filled()) {
      it->second->dropped = true;  // Its last bytes are on their way.
      continue;
    }
    freed.push_back(std::move(it->second));
    arrays_.erase(it);
  }
  return OkStatus();
}

Status Front::Callbacks(uint64_t number, wire::Callbacks m, uint64_t memory_bytes) {
  auto owed = std::make_shared<Owed>(shared_from_this(), memory_bytes);
  std::lock_guard lock(mutex_);
  if (process_ == nullptr) return OkStatus();  // Nor will its execution be passed on.
  if (callbacks_.size() >= kMaxCallbacks) return DataLoss("callbacks of executions that do not come");
  callbacks_.insert_or_assign(number, AnnouncedCallbacks{std::move(m), std::move(owed)});
  return OkStatus();
}

Status Front::Execute(uint64_t number, wire::Execute m, uint64_t memory_bytes) {
  if (m.devices.empty()) return DataLoss("an execution on no device");
  const Current now = Now();
  if (now.process == nullptr) {  // As for questions.
    std::lock_guard lock(mutex_);
    callbacks_.erase(number);
    return OkStatus();
  }
  auto run = std::make_shared<Run>(shared_from_this(), now, number, std::move(m), memory_bytes);
  {
    std::lock_guard lock(mutex_);
    if (auto callbacks = callbacks_.extract(number)) run->callbacks = std::move(callbacks.mapped());
  }
  Status refused;
  for (wire::DeviceRun& device : run->message().devices) {
    for (wire::Argument& argument : device.arguments) {
      std::shared_ptr<Array> array;
      {
        std::lock_guard lock(mutex_);
        if (const auto it = arrays_.find(argument.array); it != arrays_.end()) array = it->second;
      }
      if (array == nullptr) {
        // Nobody sends the bytes of an empty array.
        TENON_ASSIGN_OR_RETURN(array, NewArray(argument.array, 0));
        std::lock_guard lock(mutex_);
        arrays_.emplace(argument.array, array);
      }
      // It would wait for itself, and nobody parts them.
      for (const auto& own : run->outputs()) {
        if (std::find(own.begin(), own.end(), array) != own.end())
          return DataLoss(fmt::format("an execution that reads array {}, which it is to make", argument.array));
      }
      argument.place = array->place();
      run->arguments().push_back(std::move(array));
    }
    std::vector<std::shared_ptr<Array>>& outputs = run->outputs().emplace_back();
    for (wire::Output& output : device.outputs) {
      TENON_ASSIGN_OR_RETURN(std::shared_ptr<Array> array, NewArray(output.array, output.size));
      if (refused.ok()) refused = array->error;
      array->is_output = true;
      output.place = array->place();
      std::lock_guard lock(mutex_);
      arrays_.emplace(output.array, array);
      outputs.push_back(std::move(array));
    }
  }
  {
    std::lock_guard lock(mutex_);
    // Arrays that it would wait for hold it, and it holds them: nobody parts them any more.
    if (ended_) return OkStatus();
    for (const std::shared_ptr<Array>& array : run->arguments()) {
      if (refused.ok()) refused = array->error;
    }
    // What is refused waits for nothing: nobody else may come to know of it.
    for (const std::shared_ptr<Array>& array : run->arguments()) {
      if (!refused.ok() || array->usable()) continue;
      array->waiting.push_back(run);
      ++run->missing;
    }
    if (run->missing != 0) return OkStatus();
  }
  if (refused.ok()) {
    Forward({run});
  } else {
    run->Fail(refused);
  }
  return OkStatus();
}

// Passes executions on whose arguments are usable, and those that waited for their outputs alone.
void Front::Forward(std::vector<std::shared_ptr<Run>> runs) {
  // What becomes ready meanwhile joins the queue of the call that is at work on this thread.
  thread_local std::deque<std::shared_ptr<Run>>* queue = nullptr;
  if (queue != nullptr) {
    queue->insert(queue->end(), std::make_move_iterator(runs.begin()), std::make_move_iterator(runs.end()));
    return;
  }
  std::deque<std::shared_ptr<Run>> own(std::make_move_iterator(runs.begin()), std::make_move_iterator(runs.end()));
  queue = &own;
  const struct Leave {
    ~Leave() { queue = nullptr; }  // Whatever is thrown.
  } leave;
  while (!own.empty()) {
    const std::shared_ptr<Run> run = std::move(own.front());
    own.pop_front();
    ForwardOne(run);
  }
}

void Front::ForwardOne(const std::shared_ptr<Run>& run) {
  const std::shared_ptr<Session>& process = run->at().process;
  Status failed = process->state();
  {
    std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Array>& array : run->arguments()) {
      if (failed.ok()) failed = array->error;
    }
  }
  if (!failed.ok()) {
    run->Fail(failed);
    return;
  }
  const auto tell = [&](const std::shared_ptr<Array>& array) {
    if (array->block.piece != nullptr) process->Announce(array->block.piece);
    std::lock_guard lock(mutex_);
    array->process = process;
  };
  for (const std::shared_ptr<Array>& array : run->arguments()) tell(array);
  // The outcome may come, and be told, before the outputs count as begun.
  const std::vector<std::vector<std::shared_ptr<Array>>> outputs = run->outputs();
  for (const auto& list : outputs) {
    for (const std::shared_ptr<Array>& array : list) tell(array);
  }
  const std::string message = Encode(run->message());
  run->message() = {};
  if (const uint64_t number = process->Register(run); number != 0) {
    if (!run->callbacks.message.devices.empty())
      process->Post(Verb::kCallbacks, number, Encode(run->callbacks.message));
    process->Post(Verb::kExecute, number, message);
  }
  std::vector<std::shared_ptr<Run>> ready;
  {
    std::lock_guard lock(mutex_);
    for (const auto& list : outputs) {
      for (const std::shared_ptr<Array>& array : list) {
        array->begun = true;
        TakeReady(*array, ready);
      }
    }
  }
  Forward(std::move(ready));
}

// An output is there, or failed.
void Front::Finish(Array& array, const Status& status) {
  std::vector<std::shared_ptr<Run>> ready;
  {
    std::lock_guard lock(mutex_);
    array.defined = status.ok();
    array.error = status;
    array.begun = true;
    TakeReady(array, ready);
    changed_.notify_all();
  }
  Forward(std::move(ready));
}

void Front::ReadBulk() {
  End(pipes_[1]->ReceiveAll([this](const channel::Ring::Frame& frame) { return HandleBulk(frame); }));
}

// What makes an array known comes over the other connection, and may come later: there may be a large message before
// it, or that connection is being made again. False when nothing came there for so long that nothing will.
template <class Condition>
bool Front::WaitForMessages(std::unique_lock<std::mutex>& lock, Condition there) {
  const std::chrono::milliseconds patience(options_.limits.grace_ms + options_.limits.silence_ms);
  for (;;) {
    const uint64_t before = handled_.load();
    if (changed_.wait_for(lock, patience, [&] { return ended_ || there(); })) return true;
    if (before % 2 == 0 && handled_.load() == before) return false;
  }
}

Status Front::HandleBulk(const channel::Ring::Frame& frame) {
  wire::ChunkView chunk;
  wire::Fetch fetch;
  if (frame.verb == Verb::kChunk) {
    TENON_ASSIGN_OR_RETURN(chunk, wire::DecodeChunk(frame.message));
  } else if (frame.verb == Verb::kFetch) {
    TENON_ASSIGN_OR_RETURN(fetch, Decode<wire::Fetch>(frame.message));
  } else {
    return DataLoss(fmt::format("the client sent {} among bytes", wire::Dump(frame.verb, frame.message)));
  }
  const uint64_t number = frame.verb == Verb::kChunk ? frame.number : fetch.array;
  std::shared_ptr<Array> array;
  {
    std::unique_lock lock(mutex_);
    const bool came = WaitForMessages(lock, [&] { return arrays_.contains(number); });
    if (ended_) return Cancelled("the session is over");
    if (!came) return DataLoss(fmt::format("there is no array {}", number));
    array = arrays_.find(number)->second;
    if (frame.verb == Verb::kChunk) {
      // A chunk may come before the Upload of a second part.
      if (!WaitForMessages(lock, [&] { return chunk.bytes.size() <= array->expected - array->arrived; }))
        return DataLoss(fmt::format("{} bytes for array {} that nobody announced", chunk.bytes.size(), number));
      if (ended_) return Cancelled("the session is over");
    }
  }
  if (frame.verb == Verb::kFetch) {
    Reading reading{frame.number, array, fetch.offset, fetch.size, fetch.uploaded, {}};
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || readings_.size() < kMaxReadings; });
    if (array->error.ok() && (fetch.offset > array->size || fetch.size > array->size - fetch.offset)) {
      reading.error =
          InvalidArgument(fmt::format("{} bytes at {} of an array of {}", fetch.size, fetch.offset, array->size));
    }
    readings_.push_back(std::move(reading));
    changed_.notify_all();
    return OkStatus();
  }
  if (array->is_output) return DataLoss(fmt::format("bytes for array {}, which an execution makes", number));
  if (array->error.ok() && !chunk.bytes.empty()) {  // Else there is no room for it. Of an upload, that does not change.
    if (chunk.offset > array->size || chunk.bytes.size() > array->size - chunk.offset)
      return DataLoss(fmt::format("{} bytes at {} of array {}, which has {}", chunk.bytes.size(), chunk.offset, number,
                                  array->size));
    std::memcpy(array->data() + chunk.offset, chunk.bytes.data(), chunk.bytes.size());
  }
  Arrive(array, 0, chunk.bytes.size());
  return OkStatus();
}

void Front::WriteBulk() {
  if (const Status status = Contain("sending arrays", [this] { return SendReadings(); }); !status.ok()) End(status);
}

// Sends what was asked for, each array once its bytes are there; what must wait does not keep others.
Status Front::SendReadings() {
  std::string message;
  for (;;) {
    Reading reading;
    {
      std::unique_lock lock(mutex_);
      std::deque<Reading>::iterator it;
      changed_.wait(lock, [&] {
        it = readings_.begin();
        while (it != readings_.end() && it->error.ok() && it->array->error.ok() &&
               !(it->array->is_output ? it->array->defined : it->array->filled(it->uploaded)))
          ++it;
        return ended_ || it != readings_.end();
      });
      if (ended_) return OkStatus();
      reading = std::move(*it);
      if (readings_.size() == kMaxReadings) changed_.notify_all();
      readings_.erase(it);
      if (reading.error.ok()) reading.error = reading.array->error;
    }
    wire::Fetched fetched;
    fetched.error = wire::FromStatus(reading.error);
    if (reading.error.ok()) {
      const std::string_view bytes(reading.array->data() + reading.offset, reading.size);
      if (bytes.size() <= kFewBytes) {
        fetched.data = bytes;
      } else {
        for (size_t at = 0; at < bytes.size(); at += wire::kChunkBytes) {
          wire::EncodeChunk(reading.offset + at, bytes.substr(at, wire::kChunkBytes), message);
          TENON_RETURN_IF_ERROR(pipes_[1]->Send(Verb::kChunk, reading.number, message));
        }
      }
    }
    TENON_RETURN_IF_ERROR(pipes_[1]->Send(Verb::kFetched, reading.number, Encode(fetched)));
  }
}

void Front::CallClient(std::shared_ptr<Session> process, uint64_t number, wire::CallHandler call,
                       std::shared_ptr<session::PendingExecution> execution) {
  const auto refuse = [&](const Status& status) { process->EndCall(number, {wire::FromStatus(status), {}}); };
  call.execution = execution == nullptr ? 0 : execution->OwnNumber(call.execution);
  for (const std::vector<wire::Operand>* list : {&call.operands, &call.results}) {
    uint64_t left = options_.limits.max_message_bytes / 2;
    for (const wire::Operand& array : *list) {
      if (array.size > left) {
        return refuse(ResourceExhausted(
            fmt::format("a handler's {} have more than {} bytes, which is what a message between machines takes",
                        list == &call.operands ? "operands" : "results", options_.limits.max_message_bytes / 2)));
      }
      left -= array.size;
    }
  }
  for (wire::Operand& operand : call.operands) {
    std::string bytes;
    if (operand.size != 0) {
      Result<Session::Bytes> memory = process->MemoryAt(operand.place, operand.size);
      if (!memory.ok()) return refuse(memory.status());
      bytes.assign(memory->data, operand.size);
    }
    call.values.push_back(std::move(bytes));
    operand.place = {};
  }
  uint64_t wanted = 0;
  for (const wire::Operand& result : call.results) {
    // It comes back as one message, too.
    if (result.size > options_.limits.max_message_bytes / 2 - wanted) {
      return refuse(ResourceExhausted(
          fmt::format("a handler's results have more than {} bytes, which is what a message between machines takes",
                      options_.limits.max_message_bytes / 2)));
    }
    wanted += result.size;
  }
  HostCall host{process, number, call.results};
  for (wire::Operand& result : call.results) result.place = {};
  if (!AskClient(std::move(host), Verb::kCallHandler, Encode(call))) refuse(Unavailable("the session is over"));
}

// Of a call that the client's HandlerDone ends; false when the session is over.
bool Front::AskClient(HostCall call, Verb verb, const std::string& message) {
  uint64_t own, epoch;
  {
    std::lock_guard lock(mutex_);
    if (process_ != call.process) return false;
    own = next_call_++;
    epoch = epoch_;
    calls_.emplace(own, std::move(call));
  }
  Reply(epoch, verb, own, message);
  return true;
}

// Has the client send or receive for the device process; `own` is its number of the execution.
Status Front::Transfer(const std::shared_ptr<Session>& process, uint64_t number, wire::Transfer m, uint64_t own) {
  m.execution = own;
  Status refused;
  HostCall call{process, number, {}};
  if (m.size > options_.limits.max_message_bytes / 2) {
    refused = ResourceExhausted(fmt::format("{} bytes for a callback; a message between machines takes {}", m.size,
                                            options_.limits.max_message_bytes / 2));
  } else if (!m.sends) {
    call.results.push_back({{}, m.place, m.size});
  } else if (m.size != 0) {
    const Result<Session::Bytes> memory = process->MemoryAt(m.place, m.size);
    refused = memory.status();
    if (memory.ok()) m.data.assign(memory->data, m.size);
  }
  m.place = {};
  if (refused.ok() && !AskClient(std::move(call), Verb::kTransfer, Encode(m)))
    refused = Unavailable("the session is over");
  if (!refused.ok()) process->EndCall(number, {wire::FromStatus(refused), {}});
  return OkStatus();
}

Status Front::HandlerDone(uint64_t number, const wire::HandlerDone& m) {
  HostCall call;
  {
    std::lock_guard lock(mutex_);
    const auto it = calls_.find(number);
    if (it == calls_.end()) return OkStatus();  // Of a device process that is gone.
    call = std::move(it->second);
    calls_.erase(it);
  }
  wire::HandlerDone told{m.error, {}};
  if (m.error.code == 0 && m.values.size() != call.results.size())
    return DataLoss(fmt::format("{} results of a handler, wanted {}", m.values.size(), call.results.size()));
  for (size_t i = 0; i < call.results.size() && told.error.code == 0; ++i) {
    const wire::Operand& result = call.results[i];
    if (m.values[i].size() != result.size)
      return DataLoss(
          fmt::format("result {} of a handler has {} bytes, wanted {}", i, m.values[i].size(), result.size));
    if (result.size == 0) continue;
    const Result<Session::Bytes> memory = call.process->MemoryAt(result.place, result.size);
    if (!memory.ok()) {
      told.error = wire::FromStatus(memory.status());
    } else {
      std::memcpy(memory->data, m.values[i].data(), result.size);
    }
  }
  call.process->EndCall(call.number, told);
  return OkStatus();
}

}  // namespace tenon::remote
