// Buffers of every element type, and layouts and strides of host arrays.
#include <numeric>
#include <string>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

// Every bit pattern that one host byte of the type may have, or bytes that count for wider types.
Bytes Pattern(DType type, size_t elements) {
  int width = ByteWidth(type);
  Bytes bytes(elements * static_cast<size_t>(width));
  int bits = DTypeBits(type);
  for (size_t i = 0; i < bytes.size(); ++i) {
    int value = static_cast<int>(i * 37 + 11);
    if (type == DType::kPred) value = static_cast<int>(i % 2);
    if (bits < 8) {
      value &= (1 << bits) - 1;
      // A signed integer lies in its byte with its sign.
      if (IsSigned(type) && (value >> (bits - 1)) != 0) value -= 1 << bits;
    }
    bytes[i] = static_cast<char>(value);
  }
  return bytes;
}

// Compares what was read back. Sub-byte signed integers may come back without their sign's upper bits: XLA does so.
bool SameBits(DType type, const Bytes& got, const Bytes& want) {
  if (got.size() != want.size()) return false;
  int bits = DTypeBits(type);
  int mask = bits < 8 ? (1 << bits) - 1 : 0xff;
  for (size_t i = 0; i < got.size(); ++i) {
    if (((got[i] ^ want[i]) & mask) != 0) return false;
  }
  return true;
}

std::vector<float> Iota(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

Bytes ToHost(Env& env, PJRT_Buffer* buffer, PJRT_Buffer_MemoryLayout* layout) {
  auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  args.host_layout = layout;
  env.Ok(args);
  Bytes bytes(args.dst_size);
  args.dst = bytes.data();
  env.Ok(args);
  Event event(env, args.event);
  Status status = env.Await(event);
  env.Expect(status.ok(), status.ToString());
  return bytes;
}

std::vector<float> AsFloats(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

}  // namespace

void AddTypeTests(Suite& suite) {
  for (int number = 1; number < kNumDTypes; ++number) {
    auto type = static_cast<DType>(number);
    if (type == DType::kToken) continue;
    auto c_type = static_cast<PJRT_Buffer_Type>(number);
    std::string name(DTypeName(type));
    suite.Add("types." + name, Needs::kClient, "Values of " + name + " come back bit for bit", kHeader, [=](Env& env) {
      if (number >= 32 && env.minor() < 114) env.Unsupported("the type is newer than the plugin");
      if (number >= 30 && env.minor() < 91) env.Unsupported("the type is newer than the plugin");
      Bytes bytes = Pattern(type, 35);
      Buffer buffer = env.Upload(c_type, bytes.data(), {5, 7});
      env.Equal(env.BufferType(buffer), c_type, "type");
      env.Expect(SameBits(type, env.Download(buffer), bytes), "the bytes differ");
    });
  }
  for (DType type : {DType::kS4, DType::kU4, DType::kS2, DType::kU2}) {
    std::string name(DTypeName(type));
    suite.Add("types.host_bytes." + name, Needs::kClient, name + " takes one byte per element on the host", kReference,
              [=](Env& env) {
                Bytes bytes = Pattern(type, 8);
                Buffer buffer = env.Upload(static_cast<PJRT_Buffer_Type>(type), bytes.data(), {8});
                auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
                args.src = buffer;
                env.Ok(args);
                env.Equal(args.dst_size, 8, "bytes");
              });
  }
  suite.Add("types.s4_sign", Needs::kClient, "A negative s4 comes back with its sign", "numpy reads the whole byte",
            [](Env& env) {
              const signed char values[] = {-8, -1, 0, 7};
              Buffer buffer = env.Upload(PJRT_Buffer_Type_S4, values, {4});
              Bytes bytes = env.Download(buffer);
              env.Equal(bytes.size(), 4, "bytes");
              for (size_t i = 0; i < 4; ++i)
                env.Equal(static_cast<int>(static_cast<signed char>(bytes[i])), static_cast<int>(values[i]), "element");
            });
}

void AddLayoutTests(Suite& suite) {
  suite.Add("layouts.strides_row_major", Needs::kClient, "Strides of dense row-major data are accepted", kHeader,
            [](Env& env) {
              Buffer buffer = env.Upload<float>(Iota(6), {2, 3}, {.byte_strides = {12, 4}});
              env.ExpectValues(buffer, {0, 1, 2, 3, 4, 5});
            });
  suite.Add("layouts.strides_transposed", Needs::kClient, "Strides describe a transposed array", kHeader, [](Env& env) {
    Buffer buffer = env.Upload<float>(Iota(6), {3, 2}, {.byte_strides = {4, 12}});
    env.ExpectValues(buffer, {0, 3, 1, 4, 2, 5});
  });
  suite.Add("layouts.strides_padded", Needs::kClient, "Strides skip padding between rows", kHeader, [](Env& env) {
    Buffer buffer = env.Upload<float>(Iota(10), {2, 3}, {.byte_strides = {20, 4}});
    env.ExpectValues(buffer, {0, 1, 2, 5, 6, 7});
  });
  suite.Add("layouts.strides_negative", Needs::kClient, "A negative stride walks backwards from data",
            "NumPy views such as a[::-1]", [](Env& env) {
              std::vector<float> values = Iota(4);
              Buffer buffer = env.Upload(PJRT_Buffer_Type_F32, values.data() + 3, {4}, {.byte_strides = {-4}});
              env.ExpectValues(buffer, {3, 2, 1, 0});
            });
  suite.Add("layouts.strides_zero", Needs::kClient, "A stride of 0 repeats elements", "NumPy's broadcast_to",
            [](Env& env) {
              Buffer buffer = env.Upload<float>(Iota(3), {2, 3}, {.byte_strides = {0, 4}});
              env.ExpectValues(buffer, {0, 1, 2, 0, 1, 2});
            });
  suite.Add("layouts.strides_rank_4", Needs::kClient, "Strides of a four-dimensional permutation are followed", kHeader,
            [](Env& env) {
              std::vector<float> values = Iota(120), want;
              // The host array is [5][4][3][2] in memory; the buffer is its reversal of dimensions.
              for (int a = 0; a < 2; ++a) {
                for (int b = 0; b < 3; ++b) {
                  for (int c = 0; c < 4; ++c) {
                    for (int d = 0; d < 5; ++d) want.push_back(static_cast<float>(((d * 4 + c) * 3 + b) * 2 + a));
                  }
                }
              }
              Buffer buffer = env.Upload<float>(values, {2, 3, 4, 5}, {.byte_strides = {4, 8, 24, 96}});
              env.ExpectValues(buffer, want);
            });
  suite.Add("layouts.strides_one_byte", Needs::kClient, "Strides count bytes, also of one-byte elements", kHeader,
            [](Env& env) {
              const uint8_t values[] = {1, 2, 3, 4, 5, 6, 7, 8};
              Buffer buffer = env.Upload(PJRT_Buffer_Type_U8, values, {4}, {.byte_strides = {2}});
              Bytes bytes = env.Download(buffer);
              for (size_t i = 0; i < 4; ++i)
                env.Equal(static_cast<int>(bytes.at(i)), static_cast<int>(2 * i + 1), "element");
            });
  suite.Add(
      "layouts.host_row_major", Needs::kClient, "ToHostBuffer obeys a row-major host layout", kHeader, [](Env& env) {
        Buffer buffer = env.Upload<float>(Iota(6), {2, 3});
        std::vector<int64_t> order;
        PJRT_Buffer_MemoryLayout layout = RowMajor(2, &order);
        env.Expect(AsFloats(ToHost(env, buffer, &layout)) == std::vector<float>({0, 1, 2, 3, 4, 5}), "another order");
      });
  suite.Add("layouts.host_column_major", Needs::kClient, "ToHostBuffer obeys a column-major host layout", kHeader,
            [](Env& env) {
              Buffer buffer = env.Upload<float>(Iota(6), {2, 3});
              std::vector<int64_t> order;
              PJRT_Buffer_MemoryLayout layout = ColumnMajor(2, &order);
              env.Expect(AsFloats(ToHost(env, buffer, &layout)) == std::vector<float>({0, 3, 1, 4, 2, 5}),
                         "another order");
            });
  suite.Add("layouts.host_permuted_3d", Needs::kClient, "ToHostBuffer obeys a permuted layout of three dimensions",
            kHeader, [](Env& env) {
              Buffer buffer = env.Upload<float>(Iota(24), {2, 3, 4});
              std::vector<int64_t> order;
              PJRT_Buffer_MemoryLayout layout = RowMajor(3, &order);
              order = {1, 2, 0};  // The middle dimension fastest, then the last.
              layout.tiled.minor_to_major = order.data();
              std::vector<float> want;
              for (int i = 0; i < 2; ++i) {
                for (int k = 0; k < 4; ++k) {
                  for (int j = 0; j < 3; ++j) want.push_back(static_cast<float>((i * 3 + j) * 4 + k));
                }
              }
              env.Expect(AsFloats(ToHost(env, buffer, &layout)) == want, "another order");
            });
  suite.Add("layouts.device_column_major", Needs::kClient,
            "An upload with a column-major device layout keeps the logical values", kHeader, [](Env& env) {
              std::vector<int64_t> order;
              PJRT_Buffer_MemoryLayout layout = ColumnMajor(2, &order);
              Buffer buffer = env.Upload<float>(Iota(6), {2, 3}, {.layout = &layout});
              env.ExpectValues(buffer, Iota(6));
            });
  suite.Add("layouts.device_layout_reported", Needs::kClient,
            "GetMemoryLayout names the device layout that was asked for", kHeader, [](Env& env) {
              std::vector<int64_t> order;
              PJRT_Buffer_MemoryLayout layout = ColumnMajor(2, &order);
              Buffer buffer = env.Upload<float>(Iota(6), {2, 3}, {.layout = &layout});
              auto args = New<PJRT_Buffer_GetMemoryLayout_Args>();
              args.buffer = buffer;
              env.Ok(args);
              env.Equal(args.layout.type, PJRT_Buffer_MemoryLayout_Type_Tiled, "kind of layout");
              env.Expect(Dims(args.layout.tiled.minor_to_major,
                              args.layout.tiled.minor_to_major + args.layout.tiled.minor_to_major_size) == Dims{0, 1},
                         "another order");
            });
  suite.Add("layouts.default_is_row_major", Needs::kClient, "Without a layout a buffer lies row-major", kHeader,
            [](Env& env) {
              Buffer buffer = env.Upload<float>(Iota(24), {2, 3, 4});
              auto args = New<PJRT_Buffer_GetMemoryLayout_Args>();
              args.buffer = buffer;
              env.Ok(args);
              env.Equal(args.layout.type, PJRT_Buffer_MemoryLayout_Type_Tiled, "kind of layout");
              env.Expect(
                  Dims(args.layout.tiled.minor_to_major,
                       args.layout.tiled.minor_to_major + args.layout.tiled.minor_to_major_size) == Dims{2, 1, 0},
                  "another order");
              env.Equal(args.layout.tiled.num_tiles, 0, "tiles");
            });
  suite.Add("layouts.bad_permutation", Needs::kClient, "A layout that is no permutation gives INVALID_ARGUMENT",
            kRobust, [](Env& env) {
              std::vector<int64_t> order;
              PJRT_Buffer_MemoryLayout layout = ColumnMajor(2, &order);
              order = {0, 0};
              layout.tiled.minor_to_major = order.data();
              std::vector<float> values = Iota(6);
              env.CheckFailure(env.TryUpload(PJRT_Buffer_Type_F32, values.data(), {2, 3}, {.layout = &layout}).status(),
                               {Code::kInvalidArgument}, "the upload", "dimension 0 appears twice");
            });
  suite.Add("layouts.bad_dimension", Needs::kClient,
            "A layout that names a dimension that is not there gives INVALID_ARGUMENT", kRobust, [](Env& env) {
              std::vector<int64_t> order;
              PJRT_Buffer_MemoryLayout layout = ColumnMajor(2, &order);
              order = {0, 7};
              layout.tiled.minor_to_major = order.data();
              std::vector<float> values = Iota(6);
              env.CheckFailure(env.TryUpload(PJRT_Buffer_Type_F32, values.data(), {2, 3}, {.layout = &layout}).status(),
                               {Code::kInvalidArgument}, "the upload", "there is no dimension 7");
            });
  suite.Add(
      "layouts.bad_rank", Needs::kClient, "A layout of another rank gives INVALID_ARGUMENT", kRobust, [](Env& env) {
        std::vector<int64_t> order;
        PJRT_Buffer_MemoryLayout layout = ColumnMajor(3, &order);
        std::vector<float> values = Iota(6);
        env.CheckFailure(env.TryUpload(PJRT_Buffer_Type_F32, values.data(), {2, 3}, {.layout = &layout}).status(),
                         {Code::kInvalidArgument}, "the upload", "the layout has three dimensions, the array two");
      });
  suite.Add("layouts.strided_device_layout", Needs::kClient,
            "A device layout by strides gives INVALID_ARGUMENT or is obeyed", kReference, [](Env& env) {
              const int64_t strides[] = {12, 4};
              PJRT_Buffer_MemoryLayout layout;
              std::memset(static_cast<void*>(&layout), 0, sizeof(layout));
              layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
              layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
              layout.strides.struct_size = PJRT_Buffer_MemoryLayout_Strides_STRUCT_SIZE;
              layout.strides.byte_strides = strides;
              layout.strides.num_byte_strides = 2;
              std::vector<float> values = Iota(6);
              Result<Buffer> buffer = env.TryUpload(PJRT_Buffer_Type_F32, values.data(), {2, 3}, {.layout = &layout});
              if (buffer.ok()) {
                env.ExpectValues(*buffer, values);
              } else {
                env.CheckFailure(buffer.status(), {Code::kInvalidArgument, Code::kUnimplemented}, "the upload",
                                 "the layout has strides");
              }
            });
  suite.Add("layouts.execute_permuted_argument", Needs::kClient,
            "An argument in another device layout is used by its logical values or refused", kRobust, [](Env& env) {
              Loaded loaded =
                  env.Compile(R"(module @m { func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
                %0 = stablehlo.add %arg0, %arg0 : tensor<2x3xf32>
                return %0 : tensor<2x3xf32> } })");
              std::vector<int64_t> order;
              PJRT_Buffer_MemoryLayout layout = ColumnMajor(2, &order);
              Buffer buffer = env.Upload<float>(Iota(6), {2, 3}, {.layout = &layout});
              Result<Run> run = env.TryExecute(loaded, {{buffer}});
              if (!run.ok()) {
                env.CheckFailure(run.status(), {Code::kInvalidArgument}, "Execute", "the layout is another");
                return;
              }
              env.ExpectValues(run->outputs[0][0], {0, 2, 4, 6, 8, 10});
            });
}

}  // namespace tenon::conformance
