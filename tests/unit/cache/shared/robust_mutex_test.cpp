#include "cache/shared/robust_mutex.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace penstock {
namespace {

class RobustMutexTest : public testing::Test {
 protected:
  RobustMutexTest() { mutex->init(); }
  ~RobustMutexTest() override { munmap(mutex, sizeof(RobustMutex)); }

  RobustMutex* const mutex = static_cast<RobustMutex*>(
      mmap(nullptr, sizeof(RobustMutex), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
};

TEST_F(RobustMutexTest, another_thread_gets_it_once_it_is_unlocked) {
  ASSERT_TRUE(mutex->try_lock());
  std::jthread([this] {
    EXPECT_FALSE(mutex->try_lock());
    EXPECT_FALSE(mutex->try_lock_for(std::chrono::milliseconds(1)));
  }).join();
  { const RobustMutexHold hold(*mutex); }
  std::jthread([this] {
    ASSERT_TRUE(mutex->try_lock());
    mutex->unlock();
  }).join();
}

TEST_F(RobustMutexTest, the_mutex_of_a_process_that_died_can_be_locked) {
  for (const bool waits : {false, true}) {
    const pid_t child = fork();
    if (child == 0) _exit(mutex->try_lock() ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    ASSERT_TRUE(waits ? mutex->try_lock_for(std::chrono::seconds(10)) : mutex->try_lock());
    mutex->unlock();
  }
}

}  // namespace
}  // namespace penstock
