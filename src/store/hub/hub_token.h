// The user's token for the Hugging Face Hub.
#pragma once

#include <string>

#include "penstock/result.h"

namespace penstock {

// HF_TOKEN, or what the file of huggingface-cli holds: HF_TOKEN_PATH, $HF_HOME/token, ~/.cache/huggingface/token. Empty:
// there is none, and public repositories are read without. Fails with kInvalidArgument for a token that cannot be sent.
Result<std::string> find_hub_token();

}  // namespace penstock
