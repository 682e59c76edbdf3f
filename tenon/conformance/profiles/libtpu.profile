# Google's TPU plugin on a machine without TPUs: it describes topologies and compiles for them.
name libtpu
match file libtpu.so
device none
topology v5e:2x2
