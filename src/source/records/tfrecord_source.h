// TFRecord shards of tf.train.Example or SequenceExample; a field a feature.
#pragma once

#include "source/index/shard_index.h"

namespace penstock {

Result<SourcePtr> open_tfrecord_shards(std::shared_ptr<const Store> store, const ShardSet& shards,
                                       const OpenOptions& options);

}  // namespace penstock
