// Packing as a whole: into memory and files, in parts, again after every fault.
#include "penstock/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "penstock/loader.h"
#include "source/open_source_by_store.h"
#include "store/memory_store.h"
#include "store/store_of_uri.h"
#include "support/encode_images.h"
#include "support/fault_store.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {
}  // namespace
}  // namespace penstock
