// run PLUGIN PROGRAM: runs examples/program.mlir by Tenon's C interface and prints what it gives.
package main

/*
#cgo LDFLAGS: -ltenon
#include <stdlib.h>
#include <tenon.h>

// Builds the array here: Go may not pass structs that hold its pointers.
static tenon_status* to_device(const tenon_client* client, const float* data, int64_t rows, int64_t columns, tenon_buffer** buffer) {
  const int64_t dims[2] = {rows, columns};
  const tenon_array array = {data, TENON_F32, 2, dims, NULL};
  return tenon_buffer_from_host(client, NULL, &array, buffer);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"
)

// check makes a Go error of a status and frees it.
func check(status *C.tenon_status) error {
	if status == nil {
		return nil
	}
	defer C.tenon_status_free(status)
	code := C.GoString(C.tenon_code_name(C.tenon_status_code(status)))
	return errors.New(code + ": " + C.GoString(C.tenon_status_message(status)))
}

func toHost(buffer *C.tenon_buffer, values []float32) error {
	return check(C.tenon_buffer_to_host(buffer, unsafe.Pointer(&values[0]), C.size_t(len(values)*4)))
}

func run(pluginName, programPath string) error {
	text, err := os.ReadFile(programPath)
	if err != nil {
		return err
	}
	name := C.CString(pluginName)
	defer C.free(unsafe.Pointer(name))
	var plugin *C.tenon_plugin
	if err := check(C.tenon_plugin_load(name, &plugin)); err != nil {
		return err
	}
	defer C.tenon_plugin_free(plugin)
	var client *C.tenon_client
	if err := check(C.tenon_client_create(plugin, nil, &client)); err != nil {
		return err
	}
	defer C.tenon_client_free(client)
	var program *C.tenon_executable
	code := (*C.char)(unsafe.Pointer(&text[0]))
	if err := check(C.tenon_compile(client, code, C.size_t(len(text)), nil, nil, &program)); err != nil {
		return err
	}
	defer C.tenon_executable_free(program)

	x := []float32{1, 2, 3, 4, 5, 6}
	w := []float32{0.1, -0.2, 0.3, 0.05, -0.15, 0.25}
	var arguments, outputs [2]*C.tenon_buffer
	defer func() {
		for i := range arguments {
			C.tenon_buffer_free(arguments[i])
			C.tenon_buffer_free(outputs[i])
		}
	}()
	if err := check(C.to_device(client, (*C.float)(&x[0]), 2, 3, &arguments[0])); err != nil {
		return err
	}
	if err := check(C.to_device(client, (*C.float)(&w[0]), 3, 2, &arguments[1])); err != nil {
		return err
	}
	if err := check(C.tenon_execute(program, &arguments[0], 2, nil, &outputs[0], 2, nil)); err != nil {
		return err
	}
	y, sum := make([]float32, 4), make([]float32, 1)
	if err := toHost(outputs[0], y); err != nil {
		return err
	}
	if err := toHost(outputs[1], sum); err != nil {
		return err
	}
	fmt.Printf("%.6f %.6f %.6f %.6f sum %.6f\n", y[0], y[1], y[2], y[3], sum[0])
	return nil
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintf(os.Stderr, "usage: %s PLUGIN PROGRAM\n", os.Args[0])
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
