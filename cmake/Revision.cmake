# cmake -DSOURCE=FOLDER -DVERSION=X.Y.Z -DOUTPUT=FILE.h -P Revision.cmake: writes TENON_VERSION and TENON_REVISION when they changed.
execute_process(COMMAND git describe --always --dirty --exclude=* WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(revision unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[#pragma once
#define TENON_VERSION "@VERSION@"
#define TENON_REVISION "@revision@"
]] @ONLY)
