# Compiler settings of every target: warnings are errors, ccache and mold where they are there.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(muster_warnings INTERFACE)
target_compile_options(muster_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast> -Werror)
add_compile_options(-ffp-contract=off -fno-omit-frame-pointer)
add_compile_definitions(MSGPACK_NO_BOOST SPDLOG_COMPILED_LIB_GUARD)
include_directories(${PROJECT_SOURCE_DIR})

set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_C_FLAGS_RELEASE "-O2")
if(MUSTER_SANITIZE)
  add_compile_options(-fsanitize=${MUSTER_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MUSTER_SANITIZE})
  # Optimising costs almost half of a sanitizer build; only what the simulator runs for long gets it.
  # A null pointer ends a test anyway, and these checks are a quarter of what compiling a test costs, the fuzzers'
  # counters a fifth. The same for main files, which read options. The libraries have them all.
  set(muster_test_sanitizers -fno-sanitize=null,alignment,vptr,object-size)
  set(muster_optimised_sanitized controller_core worker_core base_session base_message sim_cluster)
endif()
if(MUSTER_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  list(APPEND muster_test_sanitizers -fno-sanitize=fuzzer-no-link)
endif()
if(MUSTER_TIDY)
  set(CMAKE_CXX_CLANG_TIDY clang-tidy --warnings-as-errors=*)
endif()
