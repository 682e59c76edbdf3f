/* run PLUGIN PROGRAM: runs examples/program.mlir and prints what it gives. */
#include <stdio.h>
#include <stdlib.h>
#include <tenon.h>

/* Ends the program when a call failed. */
static void check(tenon_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s: %s\n", tenon_code_name(tenon_status_code(status)), tenon_status_message(status));
  tenon_status_free(status);
  exit(1);
}

static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* text = malloc(1 << 20);
  if (file == NULL || text == NULL) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  *size = fread(text, 1, 1 << 20, file);
  fclose(file);
  return text;
}

static tenon_buffer* to_device(const tenon_client* client, const float* data, int64_t rows, int64_t columns) {
  const int64_t dims[2] = {rows, columns};
  const tenon_array array = {data, TENON_F32, 2, dims, NULL};
  tenon_buffer* buffer;
  check(tenon_buffer_from_host(client, NULL, &array, &buffer));
  return buffer;
}

int main(int argc, char** argv) {
  const float x[] = {1, 2, 3, 4, 5, 6}, w[] = {0.1f, -0.2f, 0.3f, 0.05f, -0.15f, 0.25f};
  tenon_plugin* plugin;
  tenon_client* client;
  tenon_executable* program;
  size_t size;
  if (argc < 3) {
    fprintf(stderr, "usage: %s PLUGIN PROGRAM\n", argv[0]);
    return 2;
  }
  char* text = read_file(argv[2], &size);

  check(tenon_plugin_load(argv[1], &plugin));
  check(tenon_client_create(plugin, NULL, &client));
  check(tenon_compile(client, text, size, NULL, NULL, &program));

  tenon_buffer* arguments[] = {to_device(client, x, 2, 3), to_device(client, w, 3, 2)};
  tenon_buffer* outputs[2];
  check(tenon_execute(program, (const tenon_buffer* const*)arguments, 2, NULL, outputs, 2, NULL));

  float y[4], sum;
  check(tenon_buffer_to_host(outputs[0], y, sizeof(y)));
  check(tenon_buffer_to_host(outputs[1], &sum, sizeof(sum)));
  printf("%.6f %.6f %.6f %.6f sum %.6f\n", y[0], y[1], y[2], y[3], sum);

  for (int i = 0; i < 2; ++i) {
    tenon_buffer_free(arguments[i]);
    tenon_buffer_free(outputs[i]);
  }
  tenon_executable_free(program);
  tenon_client_free(client);
  tenon_plugin_free(plugin);
  free(text);
  return 0;
}
