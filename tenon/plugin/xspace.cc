#include "tenon/plugin/xspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>

namespace tenon::plugin {
namespace {

// Fields of the messages, by their names in the format.
namespace xspace {
constexpr int kPlanes = 1, kWarnings = 3;
}
namespace xplane {
constexpr int kId = 1, kName = 2, kLines = 3, kEventMetadata = 4, kStatMetadata = 5;
}
namespace xline {
constexpr int kId = 1, kName = 2, kTimestampNs = 3, kEvents = 4;
}
namespace xevent {
constexpr int kMetadataId = 1, kOffsetPs = 2, kDurationPs = 3, kStats = 4;
}
namespace xstat {
constexpr int kMetadataId = 1, kDouble = 2, kInt64 = 4, kRef = 7;
}
namespace metadata {  // Of events and of stats alike; entries of maps are {1: key, 2: value}.
constexpr int kId = 1, kName = 2, kKey = 1, kValue = 2, kEventStats = 5;
}

class PlaneWriter {
 public:
  explicit PlaneWriter(std::string_view name) {
    plane_.add_int64(xplane::kId, 1);
    plane_.add_string(xplane::kName, name.data(), name.size());
  }

  void AddLine(const activity::Thread& thread) {
    std::string bytes;
    protozero::pbf_writer line(bytes);
    const int64_t start = thread.events.empty() ? 0 : thread.events.front().start_ns;
    line.add_int64(xline::kId, thread.id);
    line.add_string(xline::kName, !thread.is_thread     ? thread.name
                                  : thread.name.empty() ? fmt::format("thread {}", thread.id)
                                                        : fmt::format("{}/{}", thread.name, thread.id));
    line.add_int64(xline::kTimestampNs, start);
    for (const activity::Event& e : thread.events) {
      protozero::pbf_writer event(line, xline::kEvents);
      event.add_int64(xevent::kMetadataId, IdOf(*e.label));
      event.add_int64(xevent::kOffsetPs, (e.start_ns - start) * 1000);
      event.add_int64(xevent::kDurationPs, (e.end_ns - e.start_ns) * 1000);
      if (e.run != 0) {
        protozero::pbf_writer stat(event, xevent::kStats);
        stat.add_int64(xstat::kMetadataId, StatId("run_id"));
        stat.add_int64(xstat::kInt64, e.run);
      }
    }
    plane_.add_message(xplane::kLines, bytes);
  }

  std::string Take() {
    for (const auto& [label, id] : labels_) {
      std::string bytes;
      protozero::pbf_writer event(bytes);
      event.add_int64(metadata::kId, id);
      event.add_string(metadata::kName, label->name);
      for (const auto& [name, value] : label->numbers) {
        protozero::pbf_writer stat(event, metadata::kEventStats);
        stat.add_int64(xstat::kMetadataId, StatId(name));
        stat.add_double(xstat::kDouble, value);
      }
      for (const auto& [name, value] : label->texts) {
        protozero::pbf_writer stat(event, metadata::kEventStats);
        stat.add_int64(xstat::kMetadataId, StatId(name));
        stat.add_uint64(xstat::kRef, static_cast<uint64_t>(StatId(value)));
      }
      AddEntry(xplane::kEventMetadata, id, bytes);
    }
    for (const auto& [name, id] : stats_) {
      std::string bytes;
      protozero::pbf_writer stat(bytes);
      stat.add_int64(metadata::kId, id);
      stat.add_string(metadata::kName, name);
      AddEntry(xplane::kStatMetadata, id, bytes);
    }
    return std::move(bytes_);
  }

 private:
  void AddEntry(int field, int64_t key, const std::string& value) {
    protozero::pbf_writer entry(plane_, static_cast<protozero::pbf_tag_type>(field));
    entry.add_int64(metadata::kKey, key);
    entry.add_message(metadata::kValue, value);
  }
  // Ids start at 1.
  int64_t IdOf(const activity::Label& label) {
    return labels_.try_emplace(&label, static_cast<int64_t>(labels_.size()) + 1).first->second;
  }
  int64_t StatId(const std::string& name) {
    return stats_.try_emplace(name, static_cast<int64_t>(stats_.size()) + 1).first->second;
  }

  std::string bytes_;
  protozero::pbf_writer plane_{bytes_};
  std::map<const activity::Label*, int64_t> labels_;
  std::map<std::string, int64_t> stats_;
};

}  // namespace

std::string ToXSpace(const activity::Record& record, std::string_view plane) {
  std::string bytes;
  protozero::pbf_writer space(bytes);
  PlaneWriter writer(plane);
  for (const activity::Thread& thread : record.threads) writer.AddLine(thread);
  space.add_message(xspace::kPlanes, writer.Take());
  if (record.dropped > 0) {
    space.add_string(xspace::kWarnings,
                     fmt::format("{} events of {} are missing: there was no room for more", record.dropped, plane));
  }
  return bytes;
}

}  // namespace tenon::plugin
