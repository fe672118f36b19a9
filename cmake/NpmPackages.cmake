# SPDX-License-Identifier: BSD-2-Clause
# ktraced_npm_packages(STAMP WHAT): fetches the packages of the lock file in this source directory into this binary directory, when
# the lock file has changed and only then. STAMP is set to a file that is newer than all of them.

find_program(NODE NAMES node nodejs)
find_program(NPM npm)
if(NOT NODE OR NOT NPM)
  message(FATAL_ERROR "the HTML report needs Node.js and npm to be built: install the packages nodejs and npm, or configure with -DKTRACED_HTML=OFF")
endif()

# No package needs a script of its own to be installed: npm need not run any.
function(ktraced_npm_packages stamp what)
  set(${stamp} ${CMAKE_CURRENT_BINARY_DIR}/packages.stamp PARENT_SCOPE)
  set(log ${CMAKE_CURRENT_BINARY_DIR}/npm.log)
  file(RELATIVE_PATH here ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/packages.stamp
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/package.json ${CMAKE_CURRENT_SOURCE_DIR}/package-lock.json
            ${CMAKE_CURRENT_SOURCE_DIR}/.npmrc ${CMAKE_CURRENT_BINARY_DIR}
    COMMAND sh -c "'${NPM}' ci --ignore-scripts >'${log}' 2>&1 || { cat '${log}' >&2; echo 'npm could not fetch the packages of ${here}/package-lock.json; is there a network, or else configure with -DKTRACED_HTML=OFF' >&2; exit 1; }"
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_CURRENT_BINARY_DIR}/packages.stamp
    DEPENDS package.json package-lock.json .npmrc
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    COMMENT "Fetching the packages of ${what}" VERBATIM)
endfunction()
