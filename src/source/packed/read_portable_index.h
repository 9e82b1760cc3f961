// Reads the index beside a shard, and checks that it fits the shard. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "source/index/record_index.h"
#include "source/packed/pack_description.h"
#include "source/packed/portable_index.h"
#include "store/store.h"

namespace penstock {

std::string portable_index_of(const std::string& shard);  // its key

// Whether an index lies beside the shard. A server that refuses to tell has none.
Result<bool> has_portable_index(const Store& store, const std::string& shard);

// Returns nothing if no index lies beside the shard. Fails with kChanged if it belongs to a shard of another size, and
// otherwise as PortableIndex::parse(); errors name the index. Memory is reserved from the opening of this thread while
// the file is parsed.
Result<std::optional<PortableIndex>> read_portable_index(const Store& store, const std::string& shard,
                                                         const ObjectVersion& version);

// The same for a shard of the packed data set of this description. Fails with kNotFound without an index, and with kChanged
// if it is of another data set.
Result<std::optional<PortableIndex>> read_index_of_pack(const Store& store, const std::string& shard,
                                                        const ObjectVersion& version, const std::string& description);

// The contents of the shard as a scan would find them. Fails with kNoMemory.
Status take_contents(PortableIndex index, ShardContents& out);

}  // namespace penstock
