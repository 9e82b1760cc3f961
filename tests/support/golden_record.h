// The files of tests/golden/records, as they lie there.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace penstock {

inline std::string golden_record(const std::string& name) {
  std::ifstream in(std::string(PENSTOCK_GOLDEN_DIR) + "/records/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace penstock
