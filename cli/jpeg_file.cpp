#include "jpeg_file.h"

#include <jpeglib.h>
#include <cerrno>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace penstock::cli {
namespace {

struct ErrorExit {
  jpeg_error_mgr manager;  // first member, because libjpeg passes a pointer to it to the handlers
  std::jmp_buf jump;
};

// This function has only plain C objects, so that the jump out of libjpeg skips no destructor.
bool encode(const Picture& picture, int quality, unsigned char** bytes, unsigned long* size) {
  jpeg_compress_struct jpeg;
  ErrorExit errors;
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = [](j_common_ptr info) {
    std::longjmp(reinterpret_cast<ErrorExit*>(info->err)->jump, 1);
  };
  if (setjmp(errors.jump) != 0) {
    jpeg_destroy_compress(&jpeg);
    return false;
  }
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, bytes, size);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    const std::size_t at = std::size_t{jpeg.next_scanline} * static_cast<std::size_t>(picture.width) * 3;
    JSAMPROW row = const_cast<JSAMPROW>(picture.rgb.data() + at);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  return true;
}

std::unexpected<Error> cannot_write(const std::string& path) {
  return fail(ErrorCode::kIo, std::string("cannot write it (") + std::strerror(errno) + ")",
              {path, -1, -1, -1});
}

}  // namespace

Status write_jpeg(const Picture& picture, int quality, const std::string& path) {
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool encoded = encode(picture, quality, &bytes, &size);
  const std::unique_ptr<unsigned char, void (*)(void*)> owned(bytes, std::free);
  if (!encoded) return fail(ErrorCode::kIo, "libjpeg cannot encode it", {path, -1, -1, -1});

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
  if (!file) return cannot_write(path);
  if (std::fwrite(bytes, 1, size, file.get()) != size || std::fflush(file.get()) != 0)
    return cannot_write(path);
  return {};
}

}  // namespace penstock::cli
