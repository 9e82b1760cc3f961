# Cross-compiles for 64-bit ARM with Debian's compiler and runs the programs under qemu (`make test-arm`).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../../build/arm-sysroot)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})
# qemu-user knows no robust mutexes, so a mutex whose owner was killed stays locked for ever; and it tells a forked
# process another start time than other processes see, so that living owners of a claim look dead.
set(PENSTOCK_EMULATOR_FAILS
  "RobustMutexTest.the_mutex_of_a_process_that_died_can_be_locked:EntryTable.processes_that_are_killed_leave_a_valid_table:EntryTable.what_is_given_up_without_the_lock_may_be_claimed_again:DiskTier.threads_and_processes_fill_it_together")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
