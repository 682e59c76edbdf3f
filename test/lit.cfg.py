"""Configuration of the text tests: every .mlir and .kir file with RUN lines below tenon/ (suite "tenon") and test/lit (suite "test/lit")."""

import os

import lit.formats

config.name = config.tenon_suite
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".kir"]
config.test_source_root = os.path.join(config.tenon_source_dir, config.tenon_suite)
config.test_exec_root = os.path.join(config.tenon_binary_dir, "test", "lit" if config.tenon_suite == "test/lit" else "")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.tenon_binary_dir, "bin"), config.llvm_tools_dir, os.environ["PATH"]]
)
# The compiler checks its graph after every phase.
config.environment["TENON_VERIFY"] = "1"
