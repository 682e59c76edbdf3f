#include "tenon/proxy/program.h"

#include <fmt/format.h>

#include <chrono>

#include "tenon/proxy/client.h"
#include "tenon/proxy/convert.h"

namespace tenon::proxy {

using plugin::Ref;
using wire::Decode;

namespace {

constexpr size_t kDeathsPerHour = 3;

int64_t NowS() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<std::shared_ptr<RemoteProgram>> RemoteProgram::Make(std::shared_ptr<Core> core, Source source,
                                                           wire::Executable* record) {
  std::shared_ptr<RemoteProgram> program(new RemoteProgram(std::move(core), std::move(source)));
  Result<std::shared_ptr<Session>> session = program->core_->Live();
  if (!session.ok()) return program->core_->Labelled(session.status());
  Result<wire::Executable> made = program->MakeIn(**session);
  if (!made.ok()) return program->core_->Labelled(made.status());
  *record = std::move(*made);
  program->generation_ = (*session)->generation();
  return program;
}

Result<std::shared_ptr<RemoteProgram>> RemoteProgram::MakeAt(std::shared_ptr<Core> core) const {
  wire::Executable record;
  return Make(std::move(core), source_, &record);
}

RemoteProgram::~RemoteProgram() {
  const std::shared_ptr<Session> session = core_->Last();
  if (session == nullptr || session->generation() != generation_) return;
  session->Post(wire::Verb::kDropExecutable, 0, wire::Encode(wire::DropExecutable{number_, false}));
}

Result<wire::Executable> RemoteProgram::MakeIn(Session& session) {
  std::string body;
  switch (source_.kind) {
    case Source::kCompiled: {
      TENON_ASSIGN_OR_RETURN(body, session.Call(wire::Compile{number_, source_.format, source_.code, source_.options}));
      break;
    }
    case Source::kSerialized: {
      TENON_ASSIGN_OR_RETURN(body,
                             session.Call(wire::Load{number_, source_.code, source_.has_options, source_.options}));
      break;
    }
    case Source::kAheadOfTime: {
      auto& topology = static_cast<ProxyTopology&>(*source_.topology);
      TENON_ASSIGN_OR_RETURN(const uint64_t in, topology.NumberIn(session));
      TENON_ASSIGN_OR_RETURN(
          body, session.Call(wire::CompileForTopology{in, number_, source_.format, source_.code, source_.options}));
      break;
    }
  }
  return Decode<wire::Executable>(body);
}

Result<std::shared_ptr<Session>> RemoteProgram::Ready() {
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<Session> session, core_->Live());
  if (generation_.load(std::memory_order_acquire) == session->generation()) [[likely]]
    return session;
  {
    std::lock_guard lock(deaths_mutex_);
    const int64_t now = NowS();
    while (!deaths_s_.empty() && deaths_s_.front() < now - 3600) deaths_s_.pop_front();
    if (deaths_s_.size() >= kDeathsPerHour) {
      return Unavailable(fmt::format(
          "the program ended its device process {} times within an hour; it is not run again", kDeathsPerHour));
    }
  }
  std::lock_guard lock(making_);
  if (generation_ == session->generation()) return session;
  const Result<wire::Executable> record = MakeIn(*session);
  if (!record.ok()) return record.status().WithContext("making the program in a new device process");
  generation_.store(session->generation(), std::memory_order_release);
  return session;
}

Result<std::string> RemoteProgram::Ask(wire::Question what) {
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, Ready());
  return session->Call(wire::Ask{number_, static_cast<uint8_t>(what)});
}

void RemoteProgram::Delete() {
  const std::shared_ptr<Session> session = core_->Last();
  if (session == nullptr || session->generation() != generation_) return;
  session->Post(wire::Verb::kDropExecutable, 0, wire::Encode(wire::DropExecutable{number_, true}));
}

void RemoteProgram::Blame() {
  std::lock_guard lock(deaths_mutex_);
  deaths_s_.push_back(NowS());
}

Result<std::string> ProxyExecutable::Serialize() const { return program_->Ask(wire::Question::kSerialized); }

Result<plugin::Executable::ProgramText> ProxyExecutable::OptimizedProgram() const {
  TENON_ASSIGN_OR_RETURN(const std::string body, program_->Ask(wire::Question::kOptimizedProgram));
  TENON_ASSIGN_OR_RETURN(wire::ProgramText text, Decode<wire::ProgramText>(body));
  return ProgramText{std::move(text.code), std::move(text.format)};
}

Result<Ref<plugin::LoadedExecutable>> ProxyLoadedExecutable::Make(Ref<plugin::Client> client,
                                                                  std::shared_ptr<RemoteProgram> program,
                                                                  const wire::Executable& record) {
  TENON_ASSIGN_OR_RETURN(plugin::ExecutableInfo info, ToInfo(record));
  TENON_ASSIGN_OR_RETURN(plugin::DeviceAssignment assignment, ToAssignment(record));
  for (int& id : assignment.ids) {
    id += program->core()->base().device;
    if (client->FindDevice(id) == nullptr)
      return DataLoss(fmt::format("a program for device {}, which is not there", id));
  }
  Ref<plugin::Executable> executable = plugin::MakeRef<ProxyExecutable>(program, std::move(info));
  return Ref<plugin::LoadedExecutable>(plugin::MakeRef<ProxyLoadedExecutable>(
      std::move(client), std::move(executable), std::move(assignment), std::move(program)));
}

Result<std::shared_ptr<RemoteProgram>> ProxyLoadedExecutable::ProgramFor(const plugin::ExecuteRequest& request) {
  if (!portable()) [[likely]]
    return program_;
  const std::shared_ptr<Core>& core = CoreOf(*request.devices[0].device);
  if (core == program_->core()) return program_;
  std::lock_guard lock(elsewhere_mutex_);
  for (const std::shared_ptr<RemoteProgram>& there : elsewhere_) {
    if (there->core() == core) return there;
  }
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<RemoteProgram> made, program_->MakeAt(core));
  elsewhere_.push_back(made);
  return made;
}

void ProxyLoadedExecutable::Delete() {
  program_->Delete();
  std::lock_guard lock(elsewhere_mutex_);
  for (const std::shared_ptr<RemoteProgram>& there : elsewhere_) there->Delete();
}

Result<Ref<plugin::Topology>> ProxyTopology::Make(std::shared_ptr<Core> core, wire::MakeTopology request,
                                                  const wire::Topology& record, uint64_t generation) {
  TENON_ASSIGN_OR_RETURN(Info info, ToTopologyInfo(record));
  return Ref<plugin::Topology>(
      plugin::MakeRef<ProxyTopology>(std::move(info), std::move(core), std::move(request), record, generation));
}

Result<uint64_t> ProxyTopology::NumberIn(Session& session) {
  if (request_.number == 0) return uint64_t{0};
  std::lock_guard lock(mutex_);
  if (generation_ != session.generation()) {
    TENON_RETURN_IF_ERROR(session.Call(request_).status());
    generation_ = session.generation();
  }
  return request_.number;
}

Result<std::string> ProxyTopology::Serialize() const {
  TENON_RETURN_IF_ERROR(wire::ToStatus(record_.serialize_error));
  return record_.serialized;
}

Result<uint64_t> ProxyTopology::Fingerprint() const {
  if (record_.has_fingerprint) return record_.fingerprint;
  return Topology::Fingerprint();
}

}  // namespace tenon::proxy
