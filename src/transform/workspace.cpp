#include "transform/workspace.h"

namespace penstock {

Result<MutableBytes> Workspace::pixels_beside(const View& view, std::size_t bytes, int& buffer) {
  for (buffer = kScratchPixels0; buffer == view.buffer || buffer == keep_buffer;) ++buffer;
  return scratch.get(buffer, bytes);
}

}  // namespace penstock
