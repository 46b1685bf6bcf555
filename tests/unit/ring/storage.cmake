# rpma_storage_test(OBJECT FACT [libraries and link options ...]): the program of FACT.c, with the
# reactor, and with a double of the libraries that know devices; the ring and the disk are real

include_guard(GLOBAL)

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
set(rpma_turn_dir ${CMAKE_CURRENT_LIST_DIR})
add_library(rpma_turn STATIC ${rpma_turn_dir}/turn.c)
target_include_directories(rpma_turn PUBLIC ${rpma_turn_dir} ${PROJECT_SOURCE_DIR})
target_link_libraries(rpma_turn PUBLIC PkgConfig::LIBUV PkgConfig::CMOCKA)
target_include_directories(rpma_turn PUBLIC ${PROJECT_SOURCE_DIR}/include)

# in place of ring.c: a ring and files that do what a test orders
add_library(rpma_ring_double OBJECT ${PROJECT_SOURCE_DIR}/tests/double/ring_double.c)
target_include_directories(rpma_ring_double PUBLIC ${PROJECT_SOURCE_DIR}
	${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests/double)
target_link_libraries(rpma_ring_double PUBLIC PkgConfig::LIBUV)

function(rpma_storage_test object fact)
	set(target unit-${object}-${fact})
	add_executable(${target} ${fact}.c)
	target_link_libraries(${target} PRIVATE ${ARGN}
		$<LINK_GROUP:RESCAN,rpma_turn,rpma_uv_static,rpma_static,rpma_unit_common,rpma_double>)
	add_test(NAME unit/${object}/${fact} COMMAND ${target})
	set_tests_properties(unit/${object}/${fact} PROPERTIES LABELS unit TIMEOUT 60
		SKIP_RETURN_CODE 77)
endfunction()
