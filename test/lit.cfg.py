"""Configuration of the text tests: every .mlir and .kir file below tenon/ that has RUN lines."""

import os

import lit.formats

config.name = "tenon"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".kir"]
config.test_source_root = os.path.join(config.tenon_source_dir, "tenon")
config.test_exec_root = os.path.join(config.tenon_binary_dir, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.tenon_binary_dir, "bin"), config.llvm_tools_dir, os.environ["PATH"]]
)
