# SPDX-License-Identifier: BSD-2-Clause
# Where the programs, the configuration, the service, and what the daemon writes are. They follow
# CMAKE_INSTALL_PREFIX as GNUInstallDirs has it; any of them can be chosen: -DCMAKE_INSTALL_…DIR, -DKTRACED_UNIT_DIR.
#
# What changes while the daemon runs is below /run and /var for the prefix /usr/local too: there is
# no /usr/local/var on most systems, and systemd makes the directories of a service nowhere else.

if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
  if(NOT DEFINED CMAKE_INSTALL_LOCALSTATEDIR)
    set(CMAKE_INSTALL_LOCALSTATEDIR /var)
  endif()
  if(NOT DEFINED CMAKE_INSTALL_RUNSTATEDIR)
    set(CMAKE_INSTALL_RUNSTATEDIR /run)
  endif()
  set(systemd_parent ${CMAKE_INSTALL_PREFIX}/lib)
else()
  set(systemd_parent /etc)  # below other prefixes systemd does not look
endif()
if(NOT DEFINED KTRACED_UNIT_DIR)
  set(KTRACED_UNIT_DIR ${systemd_parent}/systemd/system)
endif()
set(KTRACED_SYSUSERS_DIR ${systemd_parent}/sysusers.d)
set(KTRACED_TMPFILES_DIR ${systemd_parent}/tmpfiles.d)
include(GNUInstallDirs)

# Where shells look for completions; zsh only below the prefixes /usr and /usr/local.
set(KTRACED_COMPLETION_DIR_bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
set(KTRACED_COMPLETION_NAME_bash ktracectl)
set(KTRACED_COMPLETION_DIR_zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "functions of zsh")
set(KTRACED_COMPLETION_NAME_zsh _ktracectl)
set(KTRACED_COMPLETION_DIR_fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
set(KTRACED_COMPLETION_NAME_fish ktracectl.fish)

set(KTRACED_CONFIG_DIR ${CMAKE_INSTALL_FULL_SYSCONFDIR}/ktraced)
set(KTRACED_STATE_DIR ${CMAKE_INSTALL_FULL_LOCALSTATEDIR}/lib/ktraced)
set(KTRACED_LOG_DIR ${CMAKE_INSTALL_FULL_LOCALSTATEDIR}/log/ktraced)
set(KTRACED_RUN_DIR ${CMAKE_INSTALL_FULL_RUNSTATEDIR}/ktraced)

# What systemd makes for the service, if it is where systemd makes it; systemd-tmpfiles makes all, for a daemon that is no service.
set(KTRACED_SERVICE_DIRECTORIES "")
set(KTRACED_TMPFILES_DIRECTORIES "")
function(ktraced_service_directory setting directory systemd_parent)
  if(directory STREQUAL "${systemd_parent}/ktraced")
    set(line "${setting}=ktraced")
  else()
    set(line "ReadWritePaths=${directory}")
  endif()
  set(KTRACED_TMPFILES_DIRECTORIES "${KTRACED_TMPFILES_DIRECTORIES}d ${directory} 0750 ktraced ktrace -\n" PARENT_SCOPE)
  set(KTRACED_SERVICE_DIRECTORIES "${KTRACED_SERVICE_DIRECTORIES}${line}\n" PARENT_SCOPE)
endfunction()
ktraced_service_directory(StateDirectory ${KTRACED_STATE_DIR} /var/lib)
ktraced_service_directory(LogsDirectory ${KTRACED_LOG_DIR} /var/log)

# The paths in the files of configs/.
set(KTRACED_SOURCE_STATE_DIR /var/lib/ktraced)
set(KTRACED_SOURCE_LOG_DIR /var/log/ktraced)
set(KTRACED_SOURCE_RUN_DIR /run/ktraced)

# ktraced_configure_paths(FILE): FILE of configs/ with the paths of this build, as configs/FILE of the
# build directory. In the source they are those of the prefix /usr, so that it can be used as it is.
function(ktraced_configure_paths file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/configs/${file})
  file(READ ${PROJECT_SOURCE_DIR}/configs/${file} text)
  string(REPLACE ${KTRACED_SOURCE_STATE_DIR} ${KTRACED_STATE_DIR} text "${text}")
  string(REPLACE ${KTRACED_SOURCE_LOG_DIR} ${KTRACED_LOG_DIR} text "${text}")
  string(REPLACE ${KTRACED_SOURCE_RUN_DIR} ${KTRACED_RUN_DIR} text "${text}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/configs/${file} CONTENT "${text}" @ONLY)
endfunction()
ktraced_configure_paths(ktraced.json)
ktraced_configure_paths(ktraced.schema.json)
foreach(file ktraced.service ktraced.socket ktraced-metrics.socket ktraced.tmpfiles)
  configure_file(${PROJECT_SOURCE_DIR}/configs/${file}.in ${PROJECT_BINARY_DIR}/configs/${file} @ONLY)
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/configured_paths.h.in ${PROJECT_BINARY_DIR}/generated/configured_paths.h @ONLY)
