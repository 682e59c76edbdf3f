// Executions: arguments by number or by place, and what becomes of the outputs.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/client/ffi.h"
#include "tenon/server/server.h"

namespace tenon::server {

using wire::Encode;
using wire::Verb;

namespace {

Result<Shape> ToShape(const wire::Array& array) {
  if (array.dtype >= kNumDTypes) return DataLoss(fmt::format("there is no element type {}", array.dtype));
  return Shape{static_cast<DType>(array.dtype), Dims(array.dims.begin(), array.dims.end())};
}

bool Makes(const wire::Execute& execution, uint64_t array) {
  return std::any_of(execution.devices.begin(), execution.devices.end(), [&](const wire::DeviceRun& run) {
    return std::any_of(run.outputs.begin(), run.outputs.end(),
                       [&](const wire::Output& output) { return output.array == array; });
  });
}

bool Reads(const wire::Execute& execution, uint64_t array) {
  return std::any_of(execution.devices.begin(), execution.devices.end(), [&](const wire::DeviceRun& run) {
    return std::any_of(run.arguments.begin(), run.arguments.end(),
                       [&](const wire::Argument& argument) { return argument.array == array; });
  });
}

std::optional<client::Layout> ToLayout(const wire::Array& array) {
  if (array.minor_to_major.empty()) return std::nullopt;
  return client::TiledLayout{{array.minor_to_major.begin(), array.minor_to_major.end()}, {}};
}

}  // namespace

// What one device of an execution owes the host: reported when all outputs are defined or have failed.
class Server::Completion {
 public:
  Completion(Server& server, uint64_t number, uint32_t device, std::shared_ptr<Program> program,
             std::vector<std::shared_ptr<Array>> outputs, wire::Outputs wanted,
             std::shared_ptr<client::ExecuteContext> context)
      : server_(server),
        number_(number),
        device_(device),
        program_(std::move(program)),
        outputs_(std::move(outputs)),
        wanted_(std::move(wanted)),
        context_(std::move(context)) {}

  // Counts down; the last one reports.
  void Count(const Status& status) {
    if (!status.ok()) {
      std::lock_guard lock(mutex_);
      if (error_.ok()) error_ = status;
    }
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) Report();
  }

  // Waits for the outputs and for the end of the execution, which goes on when they have failed.
  static void Start(const std::shared_ptr<Completion>& self, const client::Event& done) {
    const auto watch = [&](const client::Event& event) {
      if (const Result<bool> ready = event.IsReady(); ready.ok() && *ready) {
        if (const Status error = event.Error(); !error.ok()) {
          std::lock_guard lock(self->mutex_);
          if (self->error_.ok()) self->error_ = error;
        }
        return;
      }
      self->left_.fetch_add(1, std::memory_order_relaxed);
      if (const Status s = event.OnReady([self](const Status& status) { self->Count(status); }); !s.ok())
        self->Count(s);
    };
    watch(done);
    for (const std::shared_ptr<Array>& output : self->outputs_) {
      Result<client::Event> ready = output->buffer.ReadyEvent();
      if (ready.ok()) {
        watch(*ready);
      } else {
        std::lock_guard lock(self->mutex_);
        if (self->error_.ok()) self->error_ = ready.status();
      }
    }
    self->Count(OkStatus());
  }

 private:
  void Report() {
    wire::Executed message;
    message.device = device_;
    Status status = error_;
    for (size_t i = 0; i < outputs_.size() && status.ok(); ++i) {
      wire::Place place;
      status = server_.CopyOut(*outputs_[i], program_->record.outputs[i], wanted_[i], &place);
      message.places.push_back(place);
    }
    message.error = wire::FromStatus(status);
    server_.Reply(Verb::kExecuted, number_, Encode(message));
  }

  Server& server_;
  const uint64_t number_;
  const uint32_t device_;
  const std::shared_ptr<Program> program_;
  const std::vector<std::shared_ptr<Array>> outputs_;
  const wire::Outputs wanted_;
  const std::shared_ptr<client::ExecuteContext> context_;
  std::atomic<int> left_{1};
  std::mutex mutex_;
  Status error_;
};

Status Server::CopyOut(Array& array, const wire::Parameter& as, const wire::Output& output, wire::Place* place) {
  const client::Buffer& buffer = array.buffer;
  *place = output.place;
  if (output.size == 0) return OkStatus();
  TENON_ASSIGN_OR_RETURN(const Shape shape, ToShape(as.array));
  TENON_ASSIGN_OR_RETURN(const int64_t size, CheckedSizeBytes(shape));
  if (static_cast<uint64_t>(size) != output.size)
    return DataLoss(fmt::format("an output of {} bytes, the host expects {}", size, output.size));
  TENON_ASSIGN_OR_RETURN(char* const to, pieces_.At(output.place.piece, output.place.offset, output.size));
  if (const Result<bool> here = buffer.IsOnCpu(); here.ok() && *here) {
    TENON_ASSIGN_OR_RETURN(const uintptr_t from, buffer.UnsafePointer());
    const auto* const bytes = reinterpret_cast<const char*>(from);
    if (bytes == to) return OkStatus();
    std::memcpy(to, bytes, output.size);
    // What the plugin shares the memory of has to stay as long as the output.
    if (const std::optional<wire::Place> shared = pieces_.Locate(bytes, output.size))
      *place = *shared;
    else
      array.is_own = true;
    return OkStatus();
  }
  const std::optional<client::Layout> layout = ToLayout(as.array);
  array.is_own = true;
  return buffer.CopyToHost(to, output.size, layout ? &*layout : nullptr);
}

Result<std::shared_ptr<Server::Array>> Server::Find(const wire::Argument& argument, const wire::Parameter& parameter,
                                                    int device) {
  if (const auto it = arrays_.find(argument.array); it != arrays_.end()) return it->second;
  TENON_ASSIGN_OR_RETURN(Shape shape, ToShape(parameter.array));
  if (shape.dtype == DType::kToken) shape = Shape{DType::kPred, {0}};  // Any buffer stands for a token.
  TENON_ASSIGN_OR_RETURN(const int64_t size, CheckedSizeBytes(shape));
  alignas(64) static char nothing[64];
  char* data = nothing;
  if (size != 0) {
    TENON_ASSIGN_OR_RETURN(data, pieces_.At(argument.place.piece, argument.place.offset, static_cast<uint64_t>(size)));
  }
  const auto memory = memories_.find(argument.memory);
  const auto on = devices_.find(device);
  if (memory == memories_.end() && on == devices_.end())
    return DataLoss(fmt::format("there is neither memory {} nor device {}", argument.memory, device));
  // With several devices on one memory the device says which is meant.
  const client::Placement where = on != devices_.end() ? client::Placement(on->second) : memory->second;
  const std::optional<client::Layout> layout = ToLayout(parameter.array);
  auto array = std::make_shared<Array>();
  Result<client::Buffer> view = client_->ViewOfDeviceMemory(data, shape, where, {}, layout ? &*layout : nullptr);
  if (!view.ok()) {
    // A device with memory of its own, or a type that views do not have: a copy.
    std::vector<int64_t> strides;
    if (layout) {
      strides.resize(shape.rank());
      int64_t stride = ByteWidth(shape.dtype);
      for (const int64_t dim : parameter.array.minor_to_major) {
        if (dim < 0 || static_cast<size_t>(dim) >= shape.rank()) return DataLoss("a layout is no permutation");
        strides[static_cast<size_t>(dim)] = stride;
        stride *= shape.dims[static_cast<size_t>(dim)];
      }
    }
    const client::HostArray host{data, shape.dtype, {shape.dims.begin(), shape.dims.end()}, strides};
    view = client_->ToDevice(host, where, layout ? &*layout : nullptr);
  }
  if (!view.ok()) return view.status();
  array->buffer = std::move(*view);
  arrays_[argument.array] = array;
  return array;
}

thread_local uint64_t Server::call_into_plugin_ = 0;

template <class Call>
auto Server::InPlugin(const Call& call) {
  const uint64_t number = ++calls_into_plugin_;
  if (beginning_now_ == 0) beginning_now_ = number;
  {
    // It may wait for the answer to a call of another thread's, which somebody has to read.
    std::lock_guard lock(calls_mutex_);
    if (!calls_.empty() && !reading_) (void)CallReader();
  }
  struct Unlocked {
    Unlocked(Server& s, uint64_t n) : server(s), number(n) {
      call_into_plugin_ = number;
      server.turn_mutex_.unlock();
    }
    ~Unlocked() {
      server.turn_mutex_.lock();
      call_into_plugin_ = 0;
      if (server.beginning_now_ == number) server.beginning_now_ = 0;
    }
    Server& server;
    const uint64_t number;
  } unlocked(*this, number);
  return call();
}

// The plugin may wait for whoever uses an array.
void Server::Erase(const std::vector<uint64_t>& arrays) {
  std::vector<std::shared_ptr<Array>> gone;
  for (const uint64_t array : arrays) {
    if (auto node = arrays_.extract(array)) gone.push_back(std::move(node.mapped()));
  }
  InPlugin([&] { gone.clear(); });
}

// Of those that were dropped, what no execution names that waits or begins.
void Server::EraseDropped() {
  const auto is_named = [](const wire::Execute& by, uint64_t array) { return Makes(by, array) || Reads(by, array); };
  std::vector<uint64_t> gone;
  std::erase_if(dropped_, [&](uint64_t array) {
    for (const wire::Execute* by : beginning_) {
      if (is_named(*by, array)) return false;
    }
    for (const Waiting& by : waiting_) {
      if (is_named(by.message, array)) return false;
    }
    gone.push_back(array);
    return true;
  });
  if (!gone.empty()) Erase(gone);
}

bool Server::NamesWhatIsToCome(const wire::Execute& m) const {
  for (const wire::DeviceRun& run : m.devices) {
    for (const wire::Argument& argument : run.arguments) {
      for (const wire::Execute* by : beginning_) {
        if (Makes(*by, argument.array)) return true;
      }
      for (const Waiting& by : waiting_) {
        if (Makes(by.message, argument.array)) return true;
      }
    }
  }
  return false;
}

// A plugin may call the host before it gives an execution's outputs, and executions that name them may come while the
// host is at work: they wait, and others do not, since the host may wait for those.
void Server::Execute(uint64_t number, wire::Execute m) {
  if (NamesWhatIsToCome(m)) {
    waiting_.push_back({number, std::move(m)});
    return;
  }
  BeginOrFail(number, m);
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (NamesWhatIsToCome(it->message)) {
      ++it;
      continue;
    }
    const Waiting next = std::move(*it);
    waiting_.erase(it);
    BeginOrFail(next.number, next.message);
    it = waiting_.begin();
  }
  if (!dropped_.empty()) EraseDropped();
}

void Server::BeginOrFail(uint64_t number, const wire::Execute& m) {
  link_.begun().store(number, std::memory_order_relaxed);
  beginning_.push_back(&m);
  const auto callbacks = callbacks_.extract(number);
  const Result<std::shared_ptr<Program>> program = FindProgram(m.executable);
  const Status status =
      program.ok()
          ? Contain("an execution",
                    [&] { return Begin(number, m, *program, callbacks ? callbacks.mapped() : wire::Callbacks()); })
          : program.status();
  std::erase(beginning_, &m);
  if (status.ok()) return;
  // Nothing was begun: what would have come of it is known as failed.
  for (size_t d = 0; d < m.devices.size(); ++d) {
    for (const wire::Output& output : m.devices[d].outputs) {
      auto array = std::make_shared<Array>();
      array->error = status;
      arrays_[output.array] = std::move(array);
    }
    wire::Executed message;
    message.device = static_cast<uint32_t>(d);
    message.error = wire::FromStatus(status);
    Reply(Verb::kExecuted, number, Encode(message));
  }
}

// The plugin's callbacks are calls of the host's.
void Server::AddCallbacks(uint64_t number, size_t device, const wire::Channels& channels,
                          client::ExecuteOptions& options) {
  wire::Transfer message;
  message.execution = number;
  message.device = static_cast<uint32_t>(device);
  std::vector<client::SendCallback>& sends = options.send.emplace_back();
  for (const int64_t channel : channels.sends) {
    message.channel = channel;
    sends.push_back({channel, [this, message](std::span<const std::byte> data, size_t total, bool done) {
                       wire::Transfer part = message;
                       part.sends = true;
                       part.size = data.size();
                       part.total = total;
                       part.done = done;
                       return SendToHost(part, data.data());
                     }});
  }
  std::vector<client::RecvCallback>& recvs = options.recv.emplace_back();
  for (const int64_t channel : channels.recvs) {
    message.channel = channel;
    recvs.push_back(
        {channel, [this, message](client::CopyToDeviceStream stream) { ReceiveFromHost(message, std::move(stream)); }});
  }
}

Status Server::Begin(uint64_t number, const wire::Execute& m, const std::shared_ptr<Program>& program,
                     const wire::Callbacks& callbacks) {
  if (!program->loaded) return FailedPrecondition("the executable is not loaded");
  const wire::Executable& record = program->record;
  std::vector<std::vector<const client::Buffer*>> arguments(m.devices.size());
  std::vector<std::shared_ptr<Array>> held;                 // while the call lasts
  std::vector<bool> kept(record.parameters.size(), false);  // on some device
  for (size_t d = 0; d < m.devices.size(); ++d) {
    const wire::DeviceRun& run = m.devices[d];
    if (run.arguments.size() != record.parameters.size() || run.outputs.size() != record.outputs.size())
      return DataLoss("an execution with other numbers of arguments or outputs than its executable has");
    for (size_t i = 0; i < run.arguments.size(); ++i) {
      TENON_ASSIGN_OR_RETURN(std::shared_ptr<Array> array, Find(run.arguments[i], record.parameters[i], run.device));
      if (!array->error.ok()) return array->error;
      // In the host's memory the plugin may not write, nor where it is not known yet whose it is.
      if (!run.arguments[i].donated || !array->is_own) kept[i] = true;
      arguments[d].push_back(&array->buffer);
      held.push_back(std::move(array));
    }
  }
  // Outputs are the host's when they are there: they are copied where the plugin leaves them elsewhere.
  SmallVector<void*, 8> places;
  for (const wire::DeviceRun& run : m.devices) {
    for (const wire::Output& output : run.outputs) {
      char* to = nullptr;
      if (output.size != 0) {
        TENON_ASSIGN_OR_RETURN(to, pieces_.At(output.place.piece, output.place.offset, output.size));
      }
      places.push_back(to);
    }
  }
  client::ExecuteOptions options;
  options.output_memory = {places.data(), places.size()};
  options.launch_id = m.launch_id;
  options.call_location = m.call_location;
  std::shared_ptr<client::ExecuteContext> context;
  if (program->may_call && execution_type_ != 0) {
    // Handlers name the execution that called them.
    TENON_ASSIGN_OR_RETURN(client::ExecuteContext made, client::ExecuteContext::Create(*plugin_));
    TENON_RETURN_IF_ERROR(made.AddUserData(execution_type_, reinterpret_cast<void*>(number)));  // NOLINT
    context = std::make_shared<client::ExecuteContext>(std::move(made));
    options.context = context.get();
  }
  std::vector<int64_t> donated;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) donated.push_back(static_cast<int64_t>(i));
  }
  if (!donated.empty()) options.donate = client::Donate::Only(std::move(donated));
  if (!callbacks.devices.empty() && callbacks.devices.size() != m.devices.size())
    return DataLoss("an execution with callbacks for another number of devices than it has");
  for (size_t d = 0; d < callbacks.devices.size(); ++d) AddCallbacks(number, d, callbacks.devices[d], options);
  std::vector<std::vector<client::Buffer>> outputs(m.devices.size());
  std::vector<client::Event> done(m.devices.size());
  if (m.devices.size() == 1) {
    if (record.assignment.empty() || program->loaded->num_devices() != 1) {
      const auto on = devices_.find(m.devices[0].device);
      if (on == devices_.end()) return DataLoss(fmt::format("there is no device {}", m.devices[0].device));
      options.device = on->second;
    }
    outputs[0].resize(record.outputs.size());
    TENON_RETURN_IF_ERROR(
        InPlugin([&] { return program->loaded->ExecuteInto(arguments[0], outputs[0], options, done.data()); }));
  } else {
    options.want_done_events = true;
    TENON_ASSIGN_OR_RETURN(client::Execution execution,
                           InPlugin([&] { return program->loaded->ExecuteOnDevices(arguments, options); }));
    outputs = std::move(execution.outputs);
    done = std::move(execution.done);
  }
  for (size_t d = 0; d < m.devices.size(); ++d) {
    for (const wire::Argument& argument : m.devices[d].arguments) {
      if (argument.donated) arrays_.erase(argument.array);
    }
    std::vector<std::shared_ptr<Array>> results;
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      auto array = std::make_shared<Array>();
      array->buffer = std::move(outputs[d][i]);
      arrays_[m.devices[d].outputs[i].array] = array;
      results.push_back(std::move(array));
    }
    Completion::Start(std::make_shared<Completion>(*this, number, static_cast<uint32_t>(d), program, std::move(results),
                                                   m.devices[d].outputs, context),
                      done[d]);
  }
  return OkStatus();
}

}  // namespace tenon::server
