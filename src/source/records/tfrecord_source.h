// TFRecord shards of tf.train.Example or SequenceExample. Each feature is one field.
#pragma once

#include "source/source_formats.h"

namespace penstock {

// Whether the name has the ending .tfrecord, or the form that TensorFlow's own scripts use:
// "train-00000-of-01024".
bool is_tfrecord_name(std::string_view name);
Result<SourcePtr> open_tfrecord(OpenRequest request, const OpenOptions& options);

}  // namespace penstock
