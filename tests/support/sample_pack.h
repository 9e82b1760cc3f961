// A small index, and a description of a packed data set, for tests of those who read them.
#pragma once

#include "source/packed/pack_description.h"
#include "source/packed/pack_manifest.h"
#include "source/packed/portable_index.h"

namespace penstock {

// Two shards, five samples, an image and a class.
inline PackDescription sample_description() {
  PackDescription description;
  description.format = "tar";
  description.source_fingerprint = 0x1234;
  description.samples = 5;
  description.shards = 2;
  description.options = "name=shard";
  PackedField image, label, array;
  image.name = "image";
  image.kind = FieldKind::kImage;
  label.name = "label";
  label.kind = FieldKind::kInteger;
  label.is_class = true;
  label.stored_as = "cls";
  array.name = "x";
  array.kind = FieldKind::kArray;
  array.stored_as = "x.npy";
  array.is_everywhere = false;
  array.elements = ArraySpec{DType::kFloat32, {2, 3}};
  description.fields = {image, label, array};
  description.classes = {"cat", "dog"};
  return description;
}

// The first shard of it, with two samples of two members.
inline PortableIndex sample_portable_index() {
  PortableIndex index;
  index.shard = "shard-000000.tar";
  index.shard_bytes = 10'240;
  index.shard_checksum = 0xAABBCCDD;
  index.description = sample_description().to_text();
  index.names = {{"jpg", 0}, {"cls", 1}};
  index.offsets = {512, 2048, 3072, 5120};
  index.lengths = {1000, 1, 1500, 2};
  index.checksums = {1, 2, 3, 4};
  index.name_of_member = {0, 1, 0, 1};
  index.first_members = {0, 2};
  index.keys = "cat/1.jpgdog/2.jpg";
  index.key_ends = {9, 18};
  return index;
}

inline PackManifest sample_manifest() {
  PackManifest manifest{sample_description(), {}};
  manifest.shards = {
      {0, 2, {{"shard-000000.tar", 10'240, 0xAABBCCDD, "shard-000000.tar.index", 500, 7}}},
      {2, 3, {{"shard-000001.tar", 20'480, 0x00000001, "shard-000001.tar.index", 600, 8}}},
  };
  return manifest;
}

}  // namespace penstock
