# Read by cmake right after oneDNN's own project() call, to keep the build short without touching the source.
#
# Left out are the sources of primitives that are switched off: ONEDNN_ENABLE_PRIMITIVE only takes them out of the lists
# of implementations, and compiling what no list names costs minutes. The lists themselves stay, and so does everything
# that other primitives include; a symbol that went missing would be seen when the crate's tests are linked.
#
# What is for x86-64 writes machine code and hands it work: it is compiled with -O1, what it writes is the same. Only the
# drivers of its older matrix product pack numbers themselves.
#
# Much of a compilation is reading the same headers again, so several sources share one, but for those that define the same
# names. Which those are holds for this version.
set(warpforge_unused "/rnn/|lrn|batch_normalization|group_normalization|instance_normalization")
string(APPEND warpforge_unused "|resampling|shuffle|prelu|deconv|inner_product")
set(warpforge_numeric "/gem[mv]_[a-z]*\\.cpp$")
set(warpforge_apart "_list\\.cpp$|/cpu/[^/]*\\.cpp$|/gemm/|/brgemm/|/matmul/|/x64/ir/")
string(APPEND warpforge_apart "|reduction|_kernel|x8s8s32x_1x1")

function(warpforge_select)
  foreach(target dnnl_cpu dnnl_cpu_x64)
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    set(kept "")
    set(numeric "")
    set(apart "")
    foreach(source IN LISTS sources)
      if(source MATCHES "${warpforge_unused}" AND NOT source MATCHES "_list\\.cpp$|inner_product_utils")
        continue()
      endif()
      list(APPEND kept "${source}")
      if(source MATCHES "${warpforge_numeric}")
        list(APPEND numeric "${source}")
      endif()
      if(source MATCHES "${warpforge_apart}")
        list(APPEND apart "${source}")
      endif()
    endforeach()
    list(LENGTH sources before)
    list(LENGTH kept after)
    message(STATUS "${target}: ${after} of ${before} sources")
    set_property(TARGET ${target} PROPERTY SOURCES ${kept})
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
      continue()
    endif()
    if(target STREQUAL dnnl_cpu_x64)
      target_compile_options(${target} PRIVATE -O1)
      set_source_files_properties(${numeric} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS -O3)
    endif()
    if(PROJECT_VERSION VERSION_EQUAL 3.14.1)
      set_property(TARGET ${target} PROPERTY UNITY_BUILD ON)
      set_property(TARGET ${target} PROPERTY UNITY_BUILD_BATCH_SIZE 8)
      set_source_files_properties(${apart} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL warpforge_select)
