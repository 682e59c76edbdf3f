// fuzz: data=22083361 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<1x1x1x1xf32>, %arg1: tensor<1x1xcomplex<f64>>, %arg2: tensor<1x1xi16>) -> tensor<1x1x2xi1> {
    %0 = stablehlo.bitcast_convert %arg2 : (tensor<1x1xi16>) -> tensor<1x1x2xf8E4M3FN>
    %cst = stablehlo.constant dense<-2.000000e+00> : tensor<1x1x2xf8E4M3FN>
    %1 = stablehlo.compare  LT, %0, %cst,  TOTALORDER : (tensor<1x1x2xf8E4M3FN>, tensor<1x1x2xf8E4M3FN>) -> tensor<1x1x2xi1>
    return %1 : tensor<1x1x2xi1>
  }
}

