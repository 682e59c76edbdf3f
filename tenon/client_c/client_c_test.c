/* client_c_test PLUGIN: every function of tenon.h, as a C program uses it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"

static int failures = 0;

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      ++failures;                                                               \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                           \
  } while (0)

/* The call succeeds. */
#define OK(call)                                                                                          \
  do {                                                                                                    \
    tenon_status* status_ = (call);                                                                       \
    if (status_ != NULL) {                                                                                \
      ++failures;                                                                                         \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, tenon_code_name(tenon_status_code(status_)), \
              tenon_status_message(status_));                                                             \
      tenon_status_free(status_);                                                                         \
    }                                                                                                     \
  } while (0)

/* The call fails with this code and a message that holds this text. */
static void expect_error(tenon_status* status, tenon_code code, const char* text, int line) {
  if (tenon_status_code(status) != code || strstr(tenon_status_message(status), text) == NULL) {
    ++failures;
    fprintf(stderr, "line %d: wanted %s with '%s', got %s: %s\n", line, tenon_code_name(code), text,
            tenon_code_name(tenon_status_code(status)), tenon_status_message(status));
  }
  tenon_status_free(status);
}
#define FAILS(call, code, text) expect_error((call), (code), (text), __LINE__)

static const char kProgram[] =
    "func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32> {jax.buffer_donor = true}) -> (tensor<2x3xf32>, "
    "tensor<3xf32>) {\n"
    "  %0 = stablehlo.add %x, %y : tensor<2x3xf32>\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, "
    "tensor<f32>) -> tensor<3xf32>\n"
    "  return %0, %1 : tensor<2x3xf32>, tensor<3xf32>\n"
    "}\n";

static const int64_t kDims[2] = {2, 3};
static const float kX[6] = {1, 2, 3, 4, 5, 6};

static tenon_array array_of(const float* data) {
  tenon_array array;
  memset(&array, 0, sizeof(array));
  array.data = data;
  array.dtype = TENON_F32;
  array.rank = 2;
  array.dims = kDims;
  return array;
}

static void count_call(void* context) { ++*(int*)context; }
static void take_status(tenon_status* status, void* context) {
  *(int*)context = status == NULL ? 1 : -1;
  tenon_status_free(status);
}

static void test_values(void) {
  CHECK(tenon_abi_version() == TENON_ABI_VERSION);
  CHECK(strlen(tenon_version()) >= 5);
  CHECK(tenon_status_code(NULL) == TENON_OK);
  CHECK(strcmp(tenon_status_message(NULL), "") == 0);
  CHECK(strcmp(tenon_code_name(TENON_NOT_FOUND), "NOT_FOUND") == 0);
  CHECK(strcmp(tenon_dtype_name(TENON_BF16), "bf16") == 0);
  CHECK(strcmp(tenon_dtype_name((tenon_dtype)99), "invalid") == 0);
  CHECK(tenon_dtype_size(TENON_C128) == 16);
  CHECK(tenon_dtype_size((tenon_dtype)99) == 0);
  CHECK(tenon_bytes_data(NULL) == NULL && tenon_bytes_size(NULL) == 0);
  tenon_status_free(NULL);
  tenon_bytes_free(NULL);
  tenon_plugin_free(NULL);
  tenon_client_free(NULL);
  tenon_device_free(NULL);
  tenon_compile_options_free(NULL);
  tenon_executable_free(NULL);
  tenon_buffer_free(NULL);
  tenon_hold_free(NULL);
  tenon_event_free(NULL);
}

static void test_errors(void) {
  tenon_plugin* plugin = (tenon_plugin*)&failures;
  tenon_client* client = NULL;
  FAILS(tenon_plugin_load("/nowhere/plugin.so", &plugin), TENON_NOT_FOUND, "/nowhere/plugin.so");
  CHECK(plugin == NULL);
  FAILS(tenon_plugin_load("cpu", NULL), TENON_INVALID_ARGUMENT, "NULL");
  FAILS(tenon_client_create(NULL, NULL, &client), TENON_INVALID_ARGUMENT, "NULL");
  FAILS(tenon_buffer_await(NULL), TENON_INVALID_ARGUMENT, "NULL");
  FAILS(tenon_event_await(NULL), TENON_INVALID_ARGUMENT, "NULL");
}

static void test_devices(tenon_client* client) {
  size_t count = 0;
  int id = -1;
  tenon_bytes* text = NULL;
  tenon_device* device = NULL;
  OK(tenon_client_platform_name(client, &text));
  CHECK(tenon_bytes_size(text) > 0 && tenon_bytes_data(text)[tenon_bytes_size(text)] == 0);
  tenon_bytes_free(text);
  OK(tenon_client_platform_version(client, &text));
  tenon_bytes_free(text);
  OK(tenon_client_num_devices(client, &count));
  CHECK(count >= 1);
  OK(tenon_client_device(client, 0, &device));
  OK(tenon_device_id(device, &id));
  CHECK(id >= 0);
  OK(tenon_device_kind(device, &text));
  tenon_bytes_free(text);
  OK(tenon_device_to_string(device, &text));
  tenon_bytes_free(text);
  tenon_device_free(device);
  FAILS(tenon_client_device(client, count, &device), TENON_OUT_OF_RANGE, "");
  CHECK(device == NULL);
}

/* Runs the program on x and y; gives the sums of the columns. */
static void run(const tenon_executable* program, const tenon_buffer* x, const tenon_buffer* y, float sums[3]) {
  const tenon_buffer* arguments[2];
  tenon_buffer* outputs[2] = {NULL, NULL};
  tenon_event* done = NULL;
  arguments[0] = x;
  arguments[1] = y;
  OK(tenon_execute(program, arguments, 2, NULL, outputs, 2, &done));
  OK(tenon_event_await(done));
  OK(tenon_buffer_to_host(outputs[1], sums, 3 * sizeof(float)));
  tenon_event_free(done);
  tenon_buffer_free(outputs[0]);
  tenon_buffer_free(outputs[1]);
}

static void test_compile(tenon_client* client, tenon_executable** program) {
  tenon_executable* bad = NULL;
  tenon_executable* loaded = NULL;
  tenon_compile_options* options = NULL;
  tenon_bytes* bytes = NULL;
  tenon_dtype dtype = TENON_INVALID;
  int64_t dims[2] = {0, 0};
  size_t rank = 0, count = 0;
  FAILS(tenon_compile(client, "nonsense", 8, NULL, NULL, &bad), TENON_INVALID_ARGUMENT, "");
  CHECK(bad == NULL);
  OK(tenon_compile_options_create(&options));
  OK(tenon_compile_options_set_replicas(options, 1));
  OK(tenon_compile_options_set_partitions(options, 1));
  OK(tenon_compile_options_set_device(options, 0));
  OK(tenon_compile_options_set_bool(options, "xla_cpu_enable_fast_math", 0));
  FAILS(tenon_compile_options_set_string(options, "x", NULL), TENON_INVALID_ARGUMENT, "NULL");
  FAILS(tenon_compile_options_set_int(NULL, "x", 1), TENON_INVALID_ARGUMENT, "NULL");
  FAILS(tenon_compile_options_set_double(options, NULL, 1), TENON_INVALID_ARGUMENT, "NULL");
  OK(tenon_compile(client, kProgram, strlen(kProgram), "mlir", options, program));
  tenon_compile_options_free(options);
  OK(tenon_executable_num_outputs(*program, &count));
  CHECK(count == 2);
  OK(tenon_executable_num_devices(*program, &count));
  CHECK(count == 1);
  OK(tenon_executable_name(*program, &bytes));
  tenon_bytes_free(bytes);
  OK(tenon_executable_output(*program, 1, &dtype, dims, 2, &rank));
  CHECK(dtype == TENON_F32 && rank == 1 && dims[0] == 3);
  FAILS(tenon_executable_output(*program, 2, &dtype, dims, 2, &rank), TENON_OUT_OF_RANGE, "no output 2");
  OK(tenon_executable_serialize(*program, &bytes));
  OK(tenon_executable_load(client, tenon_bytes_data(bytes), tenon_bytes_size(bytes), &loaded));
  tenon_bytes_free(bytes);
  tenon_executable_free(*program); /* what was loaded serves from here on */
  *program = loaded;
  { /* Plugins differ in the code. */
    tenon_status* status = tenon_executable_load(client, "nonsense", 8, &loaded);
    CHECK(status != NULL && loaded == NULL);
    tenon_status_free(status);
  }
}

static void test_buffers(tenon_client* client, const tenon_executable* program) {
  tenon_array host = array_of(kX);
  tenon_buffer *x = NULL, *y = NULL, *copy = NULL, *back = NULL;
  tenon_device* device = NULL;
  tenon_hold* hold = NULL;
  tenon_event* event = NULL;
  const void* data = NULL;
  void* managed = NULL;
  float sums[3] = {0, 0, 0}, all[6];
  size_t size = 0, rank = 0;
  int64_t dims[2] = {0, 0};
  int64_t strides[2] = {4, 8};
  int deleted = -1, ready = -1, released = 0, told = 0;
  tenon_dtype dtype = TENON_INVALID;
  OK(tenon_buffer_from_host(client, NULL, &host, &x));
  OK(tenon_buffer_dtype(x, &dtype));
  CHECK(dtype == TENON_F32);
  OK(tenon_buffer_dims(x, dims, 2, &rank));
  CHECK(rank == 2 && dims[0] == 2 && dims[1] == 3);
  OK(tenon_buffer_size(x, &size));
  CHECK(size == 24);
  OK(tenon_buffer_device(x, &device));
  OK(tenon_buffer_copy_to(x, device, &copy));
  OK(tenon_buffer_await(copy));

  run(program, x, copy, sums);
  CHECK(sums[0] == 10 && sums[1] == 14 && sums[2] == 18);
  FAILS(tenon_buffer_to_host(x, sums, sizeof(sums)), TENON_INVALID_ARGUMENT,
        "f32[2,3] takes 24 bytes, but there is room for 12");

  /* Strides: the transposed array. */
  host.byte_strides = strides;
  OK(tenon_buffer_from_host(client, device, &host, &y));
  OK(tenon_buffer_to_host_async(y, all, sizeof(all), &event));
  OK(tenon_event_await(event));
  OK(tenon_event_is_ready(event, &ready));
  CHECK(ready == 1);
  OK(tenon_event_on_ready(event, take_status, &told));
  CHECK(told == 1);
  tenon_event_free(event);
  CHECK(all[0] == 1 && all[1] == 3 && all[2] == 5 && all[3] == 2);
  tenon_buffer_free(y);
  host.byte_strides = NULL;

  /* Where the host's memory is the device's: no copies, and the memory is given back. */
  OK(tenon_buffer_from_host_view(client, NULL, &host, count_call, &released, &y));
  run(program, x, y, sums);
  CHECK(sums[0] == 10);
  tenon_buffer_free(y);
  CHECK(released == 1);
  host.dtype = (tenon_dtype)99;
  FAILS(tenon_buffer_from_host_view(client, NULL, &host, count_call, &released, &y), TENON_INVALID_ARGUMENT, "got 99");
  CHECK(released == 1 && y == NULL);
  host.dtype = TENON_F32;

  OK(tenon_buffer_hold(x, &data, &hold));
  CHECK(data != NULL && memcmp(data, kX, sizeof(kX)) == 0);
  tenon_hold_free(hold);
  OK(tenon_buffer_to_dlpack(x, &managed));
  OK(tenon_buffer_from_dlpack(client, NULL, managed, &back));
  run(program, back, copy, sums);
  CHECK(sums[2] == 18);
  tenon_buffer_free(back);

  /* A donated argument is gone. */
  {
    const int64_t second[1] = {1};
    const tenon_buffer* arguments[2];
    tenon_buffer* outputs[2] = {NULL, NULL};
    tenon_execute_options options;
    memset(&options, 0, sizeof(options));
    arguments[0] = x;
    arguments[1] = copy;
    FAILS(tenon_execute(program, arguments, 2, &options, outputs, 2, NULL), TENON_INVALID_ARGUMENT, "struct_size");
    options.struct_size = sizeof(options);
    options.donate = second;
    options.num_donate = 1;
    FAILS(tenon_execute(program, arguments, 2, &options, outputs, 1, NULL), TENON_INVALID_ARGUMENT,
          "2 outputs, but there is room for 1");
    FAILS(tenon_execute(program, arguments, 1, &options, outputs, 2, NULL), TENON_INVALID_ARGUMENT,
          "argument 1 is to be donated, but there are 1");
    OK(tenon_execute_on_devices(program, arguments, 1, 2, &options, outputs, 2));
    OK(tenon_buffer_ready_event(outputs[0], &event));
    OK(tenon_event_await(event));
    tenon_event_free(event);
    OK(tenon_buffer_is_deleted(copy, &deleted));
    CHECK(deleted == 1);
    tenon_buffer_free(outputs[0]);
    tenon_buffer_free(outputs[1]);
    FAILS(tenon_execute(program, arguments, 2, NULL, outputs, 2, NULL), TENON_INVALID_ARGUMENT, "");
    arguments[1] = NULL;
    FAILS(tenon_execute(program, arguments, 2, NULL, outputs, 2, NULL), TENON_INVALID_ARGUMENT, "argument 1 is NULL");
  }
  tenon_device_free(device);
  tenon_buffer_free(copy);
  tenon_buffer_free(x);
}

int main(int argc, char** argv) {
  const char* path = argc > 1 && argv[1][0] != 0 ? argv[1] : getenv("TENON_XLA_PJRT_PLUGIN");
  tenon_plugin* plugin = NULL;
  tenon_client* client = NULL;
  tenon_executable* program = NULL;
  tenon_bytes* lines = NULL;
  test_values();
  test_errors();
  OK(tenon_find_plugins(&lines));
  tenon_bytes_free(lines);
  if (path == NULL || path[0] == 0) {
    printf("SKIPPED: no plugin: this build has none, and TENON_XLA_PJRT_PLUGIN names none\n");
    return failures;
  }
  OK(tenon_plugin_load(path, &plugin));
  if (plugin == NULL) return 1;
  CHECK(strcmp(tenon_plugin_path(plugin), path) == 0);
  CHECK(strlen(tenon_plugin_name(plugin)) > 0);
  CHECK(tenon_plugin_version(plugin)[0] == '0');
  FAILS(tenon_client_create(plugin, "=", &client), TENON_INVALID_ARGUMENT, "");
  OK(tenon_client_create(plugin, NULL, &client));
  if (client == NULL) return 1;
  tenon_plugin_free(plugin);
  test_devices(client);
  test_compile(client, &program);
  if (program != NULL) test_buffers(client, program);
  tenon_client_free(client); /* before the program: order is free */
  tenon_executable_free(program);
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
