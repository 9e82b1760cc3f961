// A Store of the files in repositories of the Hugging Face Hub. It reads and lists, and does not write.
//
// Keys are "hf://datasets/owner/name@revision/path" (hub_location.h). A revision is looked up once, and from then on the
// store reads that commit, so that what it lists and reads stays the same while the repository changes. A read asks the
// Hub where the object is, and the engine remembers the answer while it is valid: one such request per object.
// The token goes to the Hub alone. kNotFound means that the repository has no such file at this revision; a missing
// repository or revision is kInvalidArgument. Thread-safe.
#pragma once

#include <memory>

#include "store/http/http_store.h"

namespace penstock {

struct HubOptions {
  std::string endpoint;  // "": the Hub itself
  std::string token;     // "": none
  std::vector<std::string> headers;
};

// HF_ENDPOINT, and the token of the user.
Result<HubOptions> find_hub_options();

// No request is sent. `http` sets the retries; its other members are replaced.
Result<std::shared_ptr<const Store>> make_hub_store(const std::string& uri, HubOptions options, HttpOptions http = {});

}  // namespace penstock
