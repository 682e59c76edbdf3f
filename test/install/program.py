"""examples/program.mlir in Python: prints the line that the programs in C, Go and Rust print."""
import sys

import numpy
import tenon

x = numpy.array([[1, 2, 3], [4, 5, 6]], numpy.float32)
w = numpy.array([[0.1, -0.2], [0.3, 0.05], [-0.15, 0.25]], numpy.float32)
with open(sys.argv[1], encoding='utf-8') as file:
    y, total = tenon.Client('tenon').compile(file.read())(x, w)
print(*(f'{v:.6f}' for v in y.numpy().ravel()), f'sum {total.numpy():.6f}')
