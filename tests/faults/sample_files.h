// The files that are damaged: twenty samples each, and a map of which bytes are structure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "damage.h"
#include "support/temporary_folder.h"

namespace penstock {

constexpr int kSamples = 20;

struct SampleFile {
  std::string name;  // "samples.tar.gz"
  std::vector<std::byte> bytes;
  FileMap map;
  // Tar: the data of members, by their ending.
  struct Member {
    std::size_t begin = 0, end = 0;
    std::string ending;
  };
  std::vector<Member> members;
  std::vector<std::size_t> record_ends;  // TFRecord: where a cut leaves whole records
  // Zarr: the folder that is opened, and the other file in it, which stays whole.
  std::string folder, other_name;
  std::vector<std::byte> other_bytes;
};

// Members jpg, png, cls, json, npy and npz; headers are the structure, and the marker at the end.
SampleFile make_tar_file();
// Features image, numbers, label, text; the frames are the structure.
SampleFile make_tfrecord_file();
// One array of all samples; its header is the structure.
SampleFile make_npy_file();
// Columns image, label, caption; the lines' ends, quotes and separators are the structure.
SampleFile make_csv_file();
SampleFile make_json_lines_file();
// The pictures that the manifests name.
void write_pictures(const TemporaryFolder& folder);

// A shard of one chunk for each sample, each with a checksum; the index is the structure.
SampleFile make_zarr_shard_file();
// The metadata of the same array; all of it is structure.
SampleFile make_zarr_metadata_file();

// Compressed: all of it is structure. zstd streams carry their checksum, as the program's do.
SampleFile gzipped(const SampleFile& file);
SampleFile zstd_compressed(const SampleFile& file);  // without bytes where the build has no zstd

}  // namespace penstock
