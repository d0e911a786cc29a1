# Read by cmake right after oneDNN's own project() call, to keep the build short without touching the source.
#
# Left out are the sources of primitives that are switched off: ONEDNN_ENABLE_PRIMITIVE only takes them out of the lists
# of implementations, and compiling what no list names costs minutes. The lists themselves stay, and so does everything
# that other primitives include; a symbol that went missing would be seen when the crate's tests are linked.
#
# Sources that only write machine code are compiled with -O1: what they write is the same, and it is where time goes.
set(warpforge_unused "/rnn/|lrn|batch_normalization|group_normalization|instance_normalization")
string(APPEND warpforge_unused "|resampling|shuffle|prelu|deconv|inner_product")
set(warpforge_generators "_kernel|_kern_|injector|copy_utils|brgemm/jit_|/ir/")

function(warpforge_select)
  foreach(target dnnl_cpu dnnl_cpu_x64)
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    set(kept "")
    set(generators "")
    foreach(source IN LISTS sources)
      if(source MATCHES "${warpforge_unused}" AND NOT source MATCHES "_list\\.cpp$|inner_product_utils")
        continue()
      endif()
      list(APPEND kept "${source}")
      if(source MATCHES "/x64/.*(${warpforge_generators}).*\\.cpp$")
        list(APPEND generators "${source}")
      endif()
    endforeach()
    list(LENGTH sources before)
    list(LENGTH kept after)
    message(STATUS "${target}: ${after} of ${before} sources")
    set_property(TARGET ${target} PROPERTY SOURCES ${kept})
    if(generators AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
      set_source_files_properties(${generators} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS -O1)
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL warpforge_select)
