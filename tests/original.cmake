# The library that ours replaces, as Debian packages it (librpma-dev, librpma0), to be compared with ours
# and run against: RPMA_ORIGINAL_HEADER and RPMA_ORIGINAL_LIBRARY, false where there is none. No target of
# this project is built with it, save for the programs in compat/.

find_program(DPKG_QUERY dpkg-query)
set(place)
if(DPKG_QUERY)
	execute_process(COMMAND ${DPKG_QUERY} -L librpma0 OUTPUT_VARIABLE place ERROR_QUIET)
	string(REGEX MATCH "[^\n]+/librpma\\.so\\.0" place "${place}")
endif()
if(NOT place) # not a package, but where one would be
	set(place /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/librpma.so.0)
endif()
get_filename_component(place ${place} DIRECTORY)
find_file(RPMA_ORIGINAL_HEADER librpma.h PATHS /usr/include NO_DEFAULT_PATH)
find_file(RPMA_ORIGINAL_LIBRARY librpma.so.0 PATHS ${place} NO_DEFAULT_PATH)
mark_as_advanced(DPKG_QUERY RPMA_ORIGINAL_HEADER RPMA_ORIGINAL_LIBRARY)
if(NOT RPMA_ORIGINAL_HEADER OR NOT RPMA_ORIGINAL_LIBRARY)
	message(STATUS "no librpma-dev: ours is not compared with the original")
endif()
