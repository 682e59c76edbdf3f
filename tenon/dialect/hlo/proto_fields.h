#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::hlo {

/// The fields of one protobuf message, with the first mistake kept: a field whose wire type is not the one asked for.
/// protozero throws its exceptions on bytes that end early or lie about lengths; whoever uses Fields catches them once,
/// outside.
class Fields {
 public:
  Fields(protozero::pbf_reader reader, Status* error) : reader_(reader), error_(error) {}

  /// Moves to the next field; false at the end or after a mistake.
  bool Next() { return error_->ok() && reader_.next(); }
  uint32_t tag() const { return reader_.tag(); }
  void Skip() { reader_.skip(); }

  int64_t Int() { return Expect(protozero::pbf_wire_type::varint, "an integer") ? reader_.get_int64() : 0; }
  int32_t Int32() { return static_cast<int32_t>(Int()); }
  bool Bool() { return Int() != 0; }
  float Float() { return Expect(protozero::pbf_wire_type::fixed32, "a float") ? reader_.get_float() : 0; }
  double Double() { return Expect(protozero::pbf_wire_type::fixed64, "a double") ? reader_.get_double() : 0; }
  /// Views the input.
  std::string_view Bytes() {
    if (!Expect(protozero::pbf_wire_type::length_delimited, "bytes")) return {};
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }
  std::string Text() { return std::string(Bytes()); }
  Fields Message() {
    return {Expect(protozero::pbf_wire_type::length_delimited, "a message") ? reader_.get_message()
                                                                            : protozero::pbf_reader(),
            error_};
  }
  /// A repeated integer, packed or not; calls use(int64_t) for each.
  template <class F>
  void Ints(F use) {
    if (reader_.wire_type() == protozero::pbf_wire_type::length_delimited) {
      for (int64_t v : reader_.get_packed_int64()) use(v);
    } else {
      use(Int());
    }
  }
  void Ints(std::vector<int64_t>& to) {
    Ints([&](int64_t v) { to.push_back(v); });
  }
  /// A repeated float or double, packed or not, as the bytes it has on the wire.
  void Fixed(size_t width, std::string& to) {
    if (reader_.wire_type() == protozero::pbf_wire_type::length_delimited) {
      to.append(Bytes());
    } else if (width == 4) {
      const float v = Float();
      to.append(reinterpret_cast<const char*>(&v), sizeof(v));
    } else {
      const double v = Double();
      to.append(reinterpret_cast<const char*>(&v), sizeof(v));
    }
  }

 private:
  bool Expect(protozero::pbf_wire_type type, std::string_view what) {
    if (reader_.wire_type() == type) return true;
    if (error_->ok()) *error_ = InvalidArgument(fmt::format("field {} is not {}", reader_.tag(), what));
    reader_.skip();
    return false;
  }

  protozero::pbf_reader reader_;
  Status* error_;
};

}  // namespace tenon::hlo
