#include "pack/formats/tar_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::ElementsAre;
using namespace std::string_literals;

FieldInfo field(std::string name, FieldKind kind, bool is_class = false) {
  FieldInfo info{std::move(name), kind};
  info.is_class = is_class;
  return info;
}

TEST(TarNames, the_ending_of_an_image_is_left_out_and_other_dots_are_escaped) {
  EXPECT_THAT(tar_names_of({"cats/1.jpg", "v1.2/a.b.png", "plain", "100%"}),
              ElementsAre("cats/1", "v1.2/a%2Eb", "plain", "100%25"));
}

TEST(TarNames, keys_that_would_share_a_name_keep_their_endings) {
  EXPECT_THAT(tar_names_of({"a.jpg", "a.png", "b.jpg"}), ElementsAre("a%2Ejpg", "a%2Epng", "b"));
}

TEST(TarNames, equal_keys_get_numbers) {
  EXPECT_THAT(tar_names_of({"a", "a", "b", "a"}), ElementsAre("a", "a%_1", "b", "a%_2"));
}

TEST(TarNames, names_cannot_leave_the_folder_they_are_extracted_to) {
  EXPECT_THAT(tar_names_of({"/etc/x.jpg", "../../y.jpg", "a//b", "c/", "", "./d"}),
              ElementsAre("%2Fetc/x", "%2E%2E/%2E%2E/y", "a/%2Fb", "c%2F", "%", "%2E/d"));
}

TEST(TarNames, bytes_that_are_not_text_are_escaped) {
  EXPECT_THAT(tar_names_of({"\xFF"s, "a\nb", "\xC3\xA4"s}), ElementsAre("%FF", "a%0Ab", "\xC3\xA4"));
}

TEST(TarEndings, fields_of_a_folder_get_the_usual_names) {
  EXPECT_THAT(tar_endings_of({field("image", FieldKind::kImage), field("mask", FieldKind::kMask),
                              field("label", FieldKind::kInteger, true)}),
              ElementsAre("", "mask", "cls"));
}

TEST(TarEndings, fields_of_a_tar_keep_their_names) {
  EXPECT_THAT(tar_endings_of({field("jpg", FieldKind::kImage), field("seg.png", FieldKind::kMask),
                              field("cls", FieldKind::kInteger), field("txt", FieldKind::kText),
                              field("json", FieldKind::kJson), field("npy", FieldKind::kArray),
                              field("pyd", FieldKind::kBytes), field("left.jpeg", FieldKind::kImage)}),
              ElementsAre("", "seg", "cls", "txt", "json", "npy", "pyd", "left"));
}

TEST(TarEndings, other_fields_get_an_ending_of_their_kind) {
  EXPECT_THAT(tar_endings_of({field("image/encoded", FieldKind::kImage), field("image/height", FieldKind::kInteger),
                              field("Caption", FieldKind::kText), field("npz/weights", FieldKind::kArray),
                              field("mask", FieldKind::kImage)}),
              ElementsAre("image_encoded", "image_height.count", "caption.txt", "npz_weights.npy", "mask.image"));
}

TEST(TarEndings, no_two_fields_share_an_ending) {
  EXPECT_THAT(tar_endings_of({field("a b", FieldKind::kText), field("a_b", FieldKind::kText)}),
              ElementsAre("a_b.txt", "field1.a_b.txt"));
}

TEST(TarEndings, an_image_has_the_ending_of_its_format) {
  EXPECT_EQ(image_ending("", FieldKind::kImage, "image", {"jpg", "jpeg"}), "jpg");
  EXPECT_EQ(image_ending("", FieldKind::kImage, "jpeg", {"jpg", "jpeg"}), "jpeg");
  EXPECT_EQ(image_ending("seg", FieldKind::kMask, "seg.png", {"png"}), "seg.png");
}

}  // namespace
}  // namespace penstock
