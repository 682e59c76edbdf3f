#!/usr/bin/env python3
"""Counts the constraints of the StableHLO specification that the dialect checks, by the labels beside the checks.

A label is OP_cN: constraint (CN) of OP. Exit status 1 if a label names no constraint, or a constraint is neither labelled nor
listed below as one that is not checked. With --tests also lists constraints that no negative test names.
"""

import pathlib
import re
import sys

# Constraints per op in the specification (1.20).
COUNTS = {
    "abs": 2, "add": 7, "all_gather": 6, "all_reduce": 7, "all_to_all": 9, "and": 1, "async_done": 1,
    "async_start": 4, "atan2": 1, "batch_norm_grad": 5, "batch_norm_inference": 7, "batch_norm_training": 7,
    "bitcast_convert": 2, "broadcast_in_dim": 6, "case": 4, "cbrt": 1, "ceil": 1, "cholesky": 3, "clamp": 4,
    "collective_broadcast": 6, "collective_permute": 5, "collective_reduce": 4, "compare": 3, "complex": 3,
    "composite": 4, "concatenate": 6, "constant": 1, "convert": 1, "convolution": 34, "cosine": 1,
    "count_leading_zeros": 1, "divide": 1, "dot_general": 24, "dynamic_broadcast_in_dim": 10, "dynamic_conv": 34,
    "dynamic_gather": 14, "dynamic_iota": 2, "dynamic_pad": 4, "dynamic_reshape": 4, "dynamic_slice": 5,
    "dynamic_update_slice": 6, "exponential": 1, "exponential_minus_one": 1, "fft": 5, "floor": 1, "gather": 23,
    "get_dimension_size": 1, "get_tuple_element": 2, "if": 3, "imag": 2, "infeed": 3, "iota": 1, "is_finite": 1,
    "log": 1, "log_plus_one": 1, "logistic": 1, "map": 4, "maximum": 1, "minimum": 1, "multiply": 1, "negate": 1,
    "not": 1, "optimization_barrier": 1, "or": 1, "pad": 4, "popcnt": 1, "power": 1, "real": 2, "recv": 5,
    "reduce": 8, "reduce_precision": 3, "reduce_scatter": 9, "reduce_window": 16, "remainder": 1, "reshape": 3,
    "reverse": 3, "rng": 3, "rng_bit_generator": 2, "round_nearest_afz": 1, "round_nearest_even": 1, "rsqrt": 1,
    "scatter": 25, "select": 2, "select_and_scatter": 12, "send": 5, "shift_left": 1, "shift_right_arithmetic": 1,
    "shift_right_logical": 1, "sign": 1, "sine": 1, "slice": 5, "sort": 5, "sqrt": 1, "subtract": 1, "tan": 1,
    "tanh": 1, "transpose": 4, "triangular_solve": 4, "tuple": 1, "uniform_dequantize": 2, "uniform_quantize": 2,
    "while": 3, "xor": 1,
}

# Not checked, and why.
PROCESSES = "needs the number of processes"
RUN_TIME = "needs values that exist at run time"
FIELD = "programs in the field break it"
NOT_CHECKED = {
    "all_gather_c3": PROCESSES,
    "all_reduce_c2": PROCESSES,
    "all_to_all_c6": PROCESSES,
    "collective_broadcast_c6": RUN_TIME,
    "compare_c3": FIELD,
    "convolution_c27": FIELD,
    "dot_general_c13": FIELD,
    "dynamic_conv_c27": FIELD,
    "dynamic_gather_c8": RUN_TIME,
    "dynamic_gather_c12": RUN_TIME,
    "dynamic_pad_c3": RUN_TIME,
    "reduce_scatter_c4": PROCESSES,
}

# Ops whose constraints are those of another op, number by number, and checked by the same code.
ALIASES = {"dynamic_conv": "convolution"}

LABEL = re.compile(r"\b([a-z][a-z0-9_]*?_c\d+)\b")


def labels(paths):
    found = set()
    for path in paths:
        found |= set(LABEL.findall(path.read_text()))
    for alias, op in ALIASES.items():
        found |= {label.replace(op + "_c", alias + "_c") for label in found if re.fullmatch(op + r"_c\d+", label)}
    return found


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "tenon/dialect/stablehlo"
    constraints = {f"{op}_c{n}" for op, count in COUNTS.items() for n in range(1, count + 1)}
    found = labels([p for p in folder.iterdir() if p.suffix in (".cc", ".h", ".td")])
    unknown = sorted(found - constraints)
    missing = sorted(constraints - found - NOT_CHECKED.keys())
    checked = (constraints & found) - NOT_CHECKED.keys()
    print(f"{len(constraints)} constraints of {len(COUNTS)} ops: {len(checked)} checked, {len(NOT_CHECKED)} not (listed with reasons)")
    if "--tests" in sys.argv:
        untested = sorted(checked - labels((folder / "test").glob("*.mlir")))
        print(f"{len(checked) - len(untested)} named in negative tests; not named:", *untested)
    for label in unknown:
        print(f"error: {label} is no constraint of the specification")
    for label in missing:
        print(f"error: {label} is neither checked nor listed")
    return 1 if unknown or missing else 0


if __name__ == "__main__":
    sys.exit(main())
