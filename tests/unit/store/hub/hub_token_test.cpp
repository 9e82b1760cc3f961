#include "store/hub/hub_token.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/temporary_folder.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

// Sets variables of the environment for a test, and restores them.
class HubToken : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) {
      const char* const value = std::getenv(name);
      before_.emplace_back(name, value != nullptr ? std::optional<std::string>(value) : std::nullopt);
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const auto& [name, value] : before_)
      if (value)
        setenv(name, value->c_str(), 1);
      else
        unsetenv(name);
  }

  static constexpr const char* kNames[] = {"HF_TOKEN", "HF_TOKEN_PATH", "HF_HOME", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
  TemporaryFolder folder_;
};

TEST_F(HubToken, is_that_of_the_environment_or_of_the_file) {
  EXPECT_EQ(*find_hub_token(), "");
  folder_.write(".cache/huggingface/token", bytes_of("hf_home\n"));
  setenv("HOME", folder_.path().c_str(), 1);
  EXPECT_EQ(*find_hub_token(), "hf_home");
  folder_.write("other/token", bytes_of(" hf_other "));
  setenv("HF_HOME", (folder_.path() + "/other").c_str(), 1);
  EXPECT_EQ(*find_hub_token(), "hf_other");
  setenv("HF_TOKEN", "hf_set", 1);
  EXPECT_EQ(*find_hub_token(), "hf_set");
}

TEST_F(HubToken, cannot_smuggle_a_header_into_a_request) {
  setenv("HF_TOKEN", "hf_x\r\nHost: elsewhere", 1);
  const auto token = find_hub_token();
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().message.find("hf_x"), std::string::npos);
}

}  // namespace
}  // namespace penstock
