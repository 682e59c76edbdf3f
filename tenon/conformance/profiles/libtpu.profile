# Google's TPU plugin on a machine without TPUs: it describes topologies and compiles for them.
name libtpu
match file libtpu.so
device none
topology v5e:2x2
env ALLOW_MULTIPLE_LIBTPU_LOAD=1
env TPU_SKIP_MDS_QUERY=1
known structs.caller.Plugin_Attributes.24 : refuses the size that callers before 0.74 send
known events.set_twice : a second Set ends the process (a CHECK)
known events.error_not_ready : asking an event that is not ready for its error ends the process (a CHECK)
known bad_input.null.DeviceDescription_* : descriptions that are NULL are used
known bad_input.null.TopologyDescription_* : topologies that are NULL are used
known extensions.phase_run : its second phase takes two programs and is given the nine that the first makes
