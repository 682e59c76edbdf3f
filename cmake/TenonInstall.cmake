# cmake --install BUILD --component client: the client library for find_package(Tenon COMPONENTS client).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(name base abi discovery client)
  set_target_properties(tenon_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS tenon_${name} EXPORT TenonClientTargets COMPONENT client
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT client)
endforeach()
set(TENON_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
install(EXPORT TenonClientTargets NAMESPACE Tenon:: DESTINATION ${TENON_CMAKE_DIR} COMPONENT client)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TenonConfig.cmake.in ${PROJECT_BINARY_DIR}/TenonConfig.cmake
                              INSTALL_DESTINATION ${TENON_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TenonConfig.cmake ${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
        DESTINATION ${TENON_CMAKE_DIR} COMPONENT client)
