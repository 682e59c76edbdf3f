# What is installed, in components: each is a part of `cmake --install BUILD --component NAME`, of find_package(Tenon COMPONENTS NAME)
# and a Debian package. Paths are the same below every prefix: lib, not the machine's libdir, since `tenon` looks in ../lib.
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Folder of libraries below the prefix")
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(TENON_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
set(TENON_PLUGIN_DIR lib/pjrt)  # where `discovery` looks: ../lib/pjrt beside programs, /usr/lib/pjrt, /usr/local/lib/pjrt

# tenon_component(NAME client PACKAGE libtenon-client-dev SUMMARY "..." REQUIRES core TARGETS tenon_client [DESTINATION lib/pjrt]
#                 [LINKS -pthread] [DEPENDS "package (= version)"])
# Installs targets, exported as Tenon::NAME without "tenon_". Static libraries get a pkg-config file tenon-NAME.pc with the libraries of
# what is required, then LINKS. DESTINATION is the folder of shared libraries, plugins foremost; DEPENDS names further Debian packages.
function(tenon_component)
  cmake_parse_arguments(A "" "NAME;PACKAGE;SUMMARY;DESTINATION" "REQUIRES;TARGETS;LINKS;DEPENDS" ${ARGN})
  if(NOT A_DESTINATION)
    set(A_DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  set(archives)
  foreach(target IN LISTS A_TARGETS)
    string(REGEX REPLACE "^tenon_" "" export_name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
    get_target_property(type ${target} TYPE)
    set(headers)
    if(type STREQUAL STATIC_LIBRARY)
      list(PREPEND archives -l${target})
    endif()
    get_target_property(sets ${target} HEADER_SETS)
    foreach(set IN LISTS sets)
      list(APPEND headers FILE_SET ${set} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${A_NAME})
    endforeach()
    install(TARGETS ${target} EXPORT Tenon_${A_NAME}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${A_NAME}
            LIBRARY DESTINATION ${A_DESTINATION} COMPONENT ${A_NAME}
            RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${A_NAME} ${headers})
  endforeach()
  if(A_TARGETS)
    install(EXPORT Tenon_${A_NAME} NAMESPACE Tenon:: FILE Tenon_${A_NAME}.cmake DESTINATION ${TENON_CMAKE_DIR} COMPONENT ${A_NAME})
  endif()
  set_property(GLOBAL APPEND PROPERTY TENON_COMPONENTS ${A_NAME})
  set_property(GLOBAL APPEND PROPERTY TENON_COMPONENT_TARGETS ${A_TARGETS})
  set_property(GLOBAL PROPERTY TENON_REQUIRES_${A_NAME} "${A_REQUIRES}")
  foreach(required IN LISTS A_REQUIRES)
    get_property(more GLOBAL PROPERTY TENON_ARCHIVES_${required})
    list(APPEND archives ${more})
  endforeach()
  set_property(GLOBAL PROPERTY TENON_ARCHIVES_${A_NAME} "${archives}")
  if(archives AND NOT A_NAME STREQUAL core)
    list(JOIN archives " " PC_LIBS)
    list(JOIN A_LINKS " " PC_LINKS)
    set(PC_NAME tenon-${A_NAME})
    set(PC_SUMMARY "${A_SUMMARY}")
    configure_file(${PROJECT_SOURCE_DIR}/cmake/tenon.pc.in ${PROJECT_BINARY_DIR}/tenon-${A_NAME}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/tenon-${A_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${A_NAME})
  endif()
  # The licences of Tenon and of what is compiled in lie with every package.
  install(FILES ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${A_PACKAGE} RENAME copyright COMPONENT ${A_NAME})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${A_PACKAGE} COMPONENT ${A_NAME})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/licenses DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${A_PACKAGE} COMPONENT ${A_NAME})

  string(TOUPPER ${A_NAME} upper)
  set(depends ${A_DEPENDS})
  foreach(required IN LISTS A_REQUIRES)
    get_property(package GLOBAL PROPERTY TENON_PACKAGE_${required})
    list(APPEND depends "${package} (= ${PROJECT_VERSION})")
  endforeach()
  set_property(GLOBAL PROPERTY TENON_PACKAGE_${A_NAME} ${A_PACKAGE})
  list(JOIN depends ", " depends)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${A_PACKAGE} CACHE INTERNAL "")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" CACHE INTERNAL "")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${A_SUMMARY}" CACHE INTERNAL "")
endfunction()

tenon_component(NAME core PACKAGE libtenon-core-dev TARGETS tenon_base tenon_abi tenon_discovery
                SUMMARY "Tenon: status, shapes and types, the PJRT C API as headers, and where plugins are found")
tenon_component(NAME client PACKAGE libtenon-client-dev REQUIRES core TARGETS tenon_client LINKS -ldl -pthread
                SUMMARY "Tenon: C++ library that drives any PJRT plugin")
tenon_component(NAME c PACKAGE libtenon TARGETS tenon_client_c
                SUMMARY "Tenon: shared library with a C interface that drives any PJRT plugin")
set(PC_NAME tenon)
set(PC_SUMMARY "C interface that drives any PJRT plugin")
set(PC_LIBS -ltenon)
set(PC_LINKS "")
configure_file(cmake/tenon.pc.in ${PROJECT_BINARY_DIR}/tenon.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT c)
tenon_component(NAME vhlo PACKAGE libtenon-vhlo-dev REQUIRES core TARGETS tenon_vhlo
                SUMMARY "Tenon: C++ library that reads StableHLO programs as data")
tenon_component(NAME builder PACKAGE libtenon-builder-dev REQUIRES core vhlo TARGETS tenon_builder tenon_gradient
                SUMMARY "Tenon: C++ library that writes StableHLO programs and their gradients")
tenon_component(NAME plugin PACKAGE libtenon-plugin-dev REQUIRES core TARGETS tenon_plugin LINKS -pthread
                SUMMARY "Tenon: C++ SDK for writing PJRT plugins")
install(FILES cmake/TenonAddPlugin.cmake DESTINATION ${TENON_CMAKE_DIR} COMPONENT plugin)
tenon_component(NAME trace PACKAGE tenon-trace TARGETS tenon_trace_plugin DESTINATION lib/tenon
                SUMMARY "Tenon: plugin that records the calls, lifetimes and misuse of another PJRT plugin")
if(TENON_BUILD_CPU)
  tenon_component(NAME cpu PACKAGE tenon-cpu TARGETS pjrt_plugin_tenon DESTINATION ${TENON_PLUGIN_DIR}
                  SUMMARY "Tenon: PJRT plugin for CPUs that compiles StableHLO")
endif()
if(TARGET tenon_engine_gloo)  # The plugin looks for it beside itself.
  tenon_component(NAME gloo PACKAGE tenon-gloo REQUIRES cpu TARGETS tenon_engine_gloo DESTINATION ${TENON_PLUGIN_DIR}
                  SUMMARY "Tenon: exchange by TCP for jobs whose processes are on several machines")
endif()
foreach(mpi openmpi mpich)
  if(TARGET tenon_engine_${mpi})
    tenon_component(NAME ${mpi} PACKAGE tenon-${mpi} REQUIRES cpu TARGETS tenon_engine_${mpi} DESTINATION ${TENON_PLUGIN_DIR}
                    SUMMARY "Tenon: exchange by MPI for jobs that mpirun starts")
  endif()
endforeach()
if(TARGET pjrt_plugin_tenon_vulkan)  # The loader of drivers is opened when the plugin is used.
  tenon_component(NAME vulkan PACKAGE tenon-vulkan TARGETS pjrt_plugin_tenon_vulkan DESTINATION ${TENON_PLUGIN_DIR} DEPENDS libvulkan1
                  SUMMARY "Tenon: PJRT plugin for GPUs that compiles StableHLO to SPIR-V for Vulkan drivers")
endif()
if(TARGET pjrt_plugin_tenon_isolated AND TARGET tenon-device-server)
  tenon_component(NAME isolation PACKAGE tenon-isolation TARGETS pjrt_plugin_tenon_isolated tenon-device-server DESTINATION ${TENON_PLUGIN_DIR}
                  SUMMARY "Tenon: runs any PJRT plugin in a process of its own")
  if(TARGET tenon_tls)
    # A package of its own, since it alone needs OpenSSL.
    tenon_component(NAME remote PACKAGE tenon-remote REQUIRES isolation TARGETS tenon_tls DESTINATION ${TENON_PLUGIN_DIR}
                    SUMMARY "Tenon: devices on other machines, over encrypted connections")
  endif()
endif()
if(TENON_BUILD_TOOLS)
  install(FILES cmake/TenonConformanceTest.cmake DESTINATION ${TENON_CMAKE_DIR} COMPONENT conformance)
  tenon_component(NAME conformance PACKAGE tenon-conformance TARGETS tenon-conformance
                  SUMMARY "Tenon: conformance suite for PJRT plugins")
  set(tools tenon)
  if(TENON_BUILD_CPU)
    list(APPEND tools tenon-check)
  endif()
  if(TARGET tenon-reduce)
    list(APPEND tools tenon-reduce)
  endif()
  tenon_component(NAME tools PACKAGE tenon REQUIRES trace conformance TARGETS ${tools}
                  SUMMARY "Tenon: runs, measures, traces and checks StableHLO programs on PJRT plugins, from the shell")
  install(FILES docs/cli/tenon.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  set(completions ${PROJECT_BINARY_DIR}/tools/tenon/completions)
  install(FILES ${completions}/tenon DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
  install(FILES ${completions}/_tenon DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT tools)
  install(FILES ${completions}/tenon.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
endif()

# tenon_product builds what is installed, and no test: what users of a checkout want (scripts/setup.sh).
get_property(targets GLOBAL PROPERTY TENON_COMPONENT_TARGETS)
add_custom_target(tenon_product DEPENDS ${targets})
if(TARGET tenon_completions)
  add_dependencies(tenon_product tenon_completions)
endif()

# find_package: one file that knows which components exist and which need which.
get_property(TENON_COMPONENTS GLOBAL PROPERTY TENON_COMPONENTS)
set(TENON_REQUIREMENTS "")
foreach(component IN LISTS TENON_COMPONENTS)
  get_property(requires GLOBAL PROPERTY TENON_REQUIRES_${component})
  string(APPEND TENON_REQUIREMENTS "set(_tenon_requires_${component} ${requires})\n")
endforeach()
configure_package_config_file(cmake/TenonConfig.cmake.in ${PROJECT_BINARY_DIR}/TenonConfig.cmake INSTALL_DESTINATION ${TENON_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# They lie in core, which the others need: find_package is for those who have a library of it.
install(FILES ${PROJECT_BINARY_DIR}/TenonConfig.cmake ${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
        DESTINATION ${TENON_CMAKE_DIR} COMPONENT core)

include(TenonPackages)
