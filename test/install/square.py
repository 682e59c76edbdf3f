"""The package `tenon` with the plugin of the wheel beside it, by its name."""

import numpy as np
import tenon

client = tenon.Client('tenon')
square = client.compile('func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> { %0 = stablehlo.multiply %x, %x : tensor<3xi32> return %0 : tensor<3xi32> }')
print(square(np.arange(3, dtype=np.int32))[0].numpy().tolist())
