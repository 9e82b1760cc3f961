// A .npy file in a store: its header, checked against the size of the file.
#pragma once

#include <string>

#include "decode/npy.h"
#include "store/store.h"

namespace penstock {

struct NpyFile {
  NpyHeader header;
  ObjectVersion version;
};

// Errors name `uri`.
Result<NpyFile> open_npy_file(const Store& store, const std::string& uri, const std::string& key);

}  // namespace penstock
