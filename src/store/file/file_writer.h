// Writes a file so that readers see either the old contents or the new ones, also after a crash.
//
// The bytes go to a temporary file in the same folder, which commit() syncs and renames over the old one. A process
// that is killed leaves at most the temporary file behind ("<path>.<process>-<number>.tmp").
#pragma once

#include <memory>
#include <string>

#include "store/file/file_calls.h"
#include "store/object_writer.h"

namespace penstock {

// Makes missing folders, and the temporary file.
Result<std::unique_ptr<ObjectWriter>> create_file(const std::string& path, const CreateOptions& options,
                                                  std::shared_ptr<const FileCalls> calls);

}  // namespace penstock
