#include "store/hub/hub_token.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace penstock {
namespace {

constexpr std::size_t kMaxTokenBytes = 4096;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string token_file() {
  if (const std::string path = environment("HF_TOKEN_PATH"); !path.empty()) return path;
  if (const std::string home = environment("HF_HOME"); !home.empty()) return home + "/token";
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) return cache + "/huggingface/token";
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.cache/huggingface/token";
}

}  // namespace

Result<std::string> find_hub_token() {
  std::string token = environment("HF_TOKEN");
  if (const std::string path = token.empty() ? token_file() : ""; !path.empty()) {
    std::ifstream file(path);
    std::string text(kMaxTokenBytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    token = text;
  }
  const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!token.empty() && is_blank(token.back())) token.pop_back();
  token.erase(token.begin(), std::ranges::find_if_not(token, is_blank));
  if (std::ranges::any_of(token, [](char c) { return c <= 0x20 || c >= 0x7F; }))
    return fail(ErrorCode::kInvalidArgument, "the token of the Hub (HF_TOKEN, or its file) has characters that no token has");
  return token;
}

}  // namespace penstock
