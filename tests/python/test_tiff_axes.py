"""Axes of TIFF volumes: those that tifffile finds in the same file, or an error that says what to write."""

import itertools
import json

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch

tifffile = pytest.importorskip("tifffile")

Y, X = 12, 10


def stack_of(*shape, dtype=np.uint16):
    return np.random.default_rng(0).integers(0, 250, (*shape, Y, X)).astype(dtype)


def whole(path, **options):
    """The volume, put together from its only patch."""
    shape = options.pop("shape")
    return epoch(ps.Patches(path, shape, **options), fields=["image"], batch_size=1)[0]


def assert_as_tifffile(path, axes=None):
    with tifffile.TiffFile(path) as file:
        expected, found = file.series[0].asarray(), file.series[0].axes
    if axes:
        assert found == axes
    assert_same(whole(path, shape=expected.shape), expected)


# -- ImageJ -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, axes", [((3, 4, 2), "TZC"), ((4, 2), "ZC"), ((3, 2), "TC"), ((3, 4), "TZ"), ((5,), "Z"),
                                         ((2,), "C"), ((2, 1, 3), "TZC")])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_hyperstacks_of_imagej(tmp_path, shape, axes, dtype):
    path = tmp_path / "v.tif"
    tifffile.imwrite(path, stack_of(*shape, dtype=dtype), imagej=True, metadata={"axes": axes + "YX"})
    assert_as_tifffile(path, "".join(a for a, n in zip(axes, shape) if n > 1) + "YX")


@pytest.mark.parametrize("order", ["".join(p) for p in itertools.permutations("czt")])
def test_orders_of_imagej(tmp_path, order):
    """Pages as they stand, described by hand: `order` names the fastest axis first."""
    sizes = {"c": 2, "z": 3, "t": 4}
    path = tmp_path / "v.tif"
    text = f"ImageJ=1.53k\nimages=24\nchannels=2\nslices=3\nframes=4\nhyperstack=true\norder={order}\nloop=false\n"
    with tifffile.TiffWriter(path) as writer:
        for page in stack_of(24):
            writer.write(page, description=text, metadata=None, contiguous=False)
    assert_as_tifffile(path)
    source = ps.Patches(path, (Y, X))
    assert epoch(source, fields=["image"])[0].shape == tuple(sizes[axis] for axis in reversed(order)) + (Y, X)


def test_colour_planes_of_imagej(tmp_path):
    path = tmp_path / "v.tif"
    data = np.random.default_rng(0).integers(0, 250, (4, Y, X, 3)).astype(np.uint8)
    tifffile.imwrite(path, data, imagej=True, metadata={"axes": "ZYXS"})
    assert_as_tifffile(path, "ZYXS")


# -- OME --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["TZC", "TCZ", "CTZ", "ZCT", "CZT", "ZTC", "ZC", "TZ", "C", "Z"])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_ome(tmp_path, axes, compression):
    sizes = {"T": 2, "Z": 4, "C": 3}
    path = tmp_path / "v.ome.tif"
    tifffile.imwrite(path, stack_of(*(sizes[a] for a in axes)), ome=True, metadata={"axes": axes + "YX"},
                     compression=compression, photometric="minisblack")
    assert_as_tifffile(path, axes + "YX")


def test_ome_in_colour(tmp_path):
    path = tmp_path / "v.ome.tif"
    data = np.random.default_rng(0).integers(0, 250, (2, 4, Y, X, 3)).astype(np.uint8)
    tifffile.imwrite(path, data, ome=True, metadata={"axes": "TZYXS"}, photometric="rgb")
    assert_as_tifffile(path, "TZYXS")


def ome_xml(order="XYZCT", z=3, c=2, t=1, x=X, y=Y, data="<TiffData/>", before="", prefix="", pixels=1):
    one = (f'<{prefix}Image ID="Image:0"><{prefix}Pixels ID="Pixels:0" DimensionOrder="{order}" Type="uint16" SizeX="{x}" '
           f'SizeY="{y}" SizeZ="{z}" SizeC="{c}" SizeT=\'{t}\'>{data}</{prefix}Pixels></{prefix}Image>')
    return (f'<?xml version="1.0" encoding="UTF-8"?>{before}<{prefix}OME xmlns="http://www.openmicroscopy.org/Schemas/'
            f'OME/2016-06">{one * pixels}</{prefix}OME>')


def write_pages(path, pages, description):
    with tifffile.TiffWriter(path) as writer:
        for page in stack_of(pages):
            writer.write(page, description=description, metadata=None, contiguous=False)
    return path


def test_ome_by_hand(tmp_path):
    comment = '<!-- Warning: <Pixels SizeZ="99"/> --><!-- a > b -->'
    path = write_pages(tmp_path / "v.tif", 6, ome_xml(before=comment, data='<Channel ID="a>b"/><TiffData IFD="0" PlaneCount="6"/>'))
    assert_as_tifffile(path, "CZYX")
    runs = "".join(f'<TiffData IFD="{i}" FirstZ="{i % 3}" FirstC="{i // 3}" PlaneCount="1"/>' for i in range(6))
    assert_as_tifffile(write_pages(tmp_path / "w.tif", 6, ome_xml(data=runs)), "CZYX")


@pytest.mark.parametrize("text, message", [
    (ome_xml(z=30), "Z 30 = 60 pages, the file has 6"),
    (ome_xml(x=7), r"12 x 7 pixels, the pages have 12 x 10"),
    (ome_xml(order="XYZCZ"), "DimensionOrder"),
    (ome_xml(z="0"), "SizeZ"),
    (ome_xml(z="&big;"), "SizeZ"),
    (ome_xml(z="99999999999999999999"), "SizeZ"),
    (ome_xml(data='<TiffData IFD="5" FirstZ="0"/>'), "another order"),
    (ome_xml(pixels=2), "2 images"),
    (ome_xml(before='<!DOCTYPE a [<!ENTITY b "cc"><!ENTITY c "&b;&b;">]>').replace("<OME", "<OME a=''", 1), None),
    ('<OME><BinaryOnly MetadataFile="a.companion.ome"/></OME>', "another file"),
])
def test_ome_that_contradicts_the_pages(tmp_path, text, message):
    path = write_pages(tmp_path / "v.tif", 6, text)
    if message is None:  # No entity is ever expanded: a text with a DOCTYPE is no OME-XML for us.
        assert whole(path, shape=(6, Y, X)).shape == (6, Y, X)
        return
    with pytest.raises(ps.Error, match=message) as caught:
        ps.Patches(path, (1, Y, X))
    assert caught.value.uri == str(path) and "\n" not in str(caught.value)
    assert_same(whole(path, shape=(6, Y, X), axes="ZYX"), stack_of(6))


# -- tifffile's own shapes --------------------------------------------------------------------------


@pytest.mark.parametrize("shape, axes", [((3, 4), None), ((3, 4, 2), None), ((3, 4), "ZC"), ((1, 5), None), ((6,), None)])
def test_shapes_of_tifffile(tmp_path, shape, axes):
    path = tmp_path / "v.tif"
    tifffile.imwrite(path, stack_of(*shape), photometric="minisblack", metadata={"axes": axes + "YX"} if axes else {})
    assert_as_tifffile(path)


def test_pages_written_one_by_one_are_one_stack(tmp_path):
    path = tmp_path / "v.tif"
    with tifffile.TiffWriter(path) as writer:
        for page in stack_of(6):
            writer.write(page)
    assert_same(whole(path, shape=(6, Y, X)), stack_of(6))
    plain = write_pages(tmp_path / "p.tif", 6, "a description that says nothing")
    assert_same(whole(plain, shape=(6, Y, X)), stack_of(6))


def test_shapes_that_contradict_the_pages(tmp_path):
    path = write_pages(tmp_path / "v.tif", 6, json.dumps({"shape": [3, 4, Y, X]}))
    with pytest.raises(ps.Error, match=r"3 x Q 4 = 12 pages, the file has 6.*axes="):
        ps.Patches(path, (1, Y, X))
    lying = write_pages(tmp_path / "i.tif", 6, "ImageJ=1.53k\nimages=6\nslices=2\nchannels=2\n")
    with pytest.raises(ps.Error, match=r"Z 2 x C 2 = 4 pages, the file has 6.*axes="):
        ps.Patches(lying, (1, Y, X))
    nonsense = write_pages(tmp_path / "n.tif", 6, "ImageJ=1.53k\nimages=6\nslices=many\n")
    with pytest.raises(ps.Error, match="slices=many"):
        ps.Patches(nonsense, (1, Y, X))


# -- what the user says -----------------------------------------------------------------------------


def test_axes_of_the_user_win(tmp_path):
    data = stack_of(6)
    path = write_pages(tmp_path / "v.tif", 6, "ImageJ=1.53k\nimages=6\nslices=3\nchannels=2\n")
    for axes, shape in (("ZYX", (6,)), ({"Z": 2, "C": 3}, (2, 3)), ({"C": None, "Z": 2}, (3, 2)), ("CZYX", (2, 3)),
                        ({"T": 1, "Z": 6}, (1, 6)), ("zcyx", (3, 2))):
        assert_same(whole(path, shape=(*shape, Y, X), axes=axes), data.reshape(*shape, Y, X))
    plain = write_pages(tmp_path / "p.tif", 6, "")
    assert_same(whole(plain, shape=(3, 2, Y, X), axes={"Z": 3, "C": 2}), data.reshape(3, 2, Y, X))


def test_axes_that_cannot_be_are_said(tmp_path):
    path = write_pages(tmp_path / "v.tif", 6, "")

    def refused(axes, match, error=ps.Error):
        with pytest.raises(error, match=match) as caught:
            ps.Patches(path, (1, Y, X), axes=axes)
        assert "\n" not in str(caught.value)

    refused("ZCYX", "give sizes")
    refused({"Z": 4, "C": 2}, "Z 4 x C 2 = 8 pages, the file has 6")
    refused({"Z": None, "C": 4}, "= 4 pages, the file has 6")
    refused("ZC", "YX", ValueError)
    refused("ZZYX", "YX", ValueError)
    refused({"Z": 0}, "at least 1", ValueError)
    refused(3, "dict", TypeError)
    np.save(tmp_path / "v.npy", stack_of(6))
    with pytest.raises(ps.Error, match="axes= is for TIFF"):
        ps.Patches(tmp_path / "v.npy", (1, Y, X), axes="ZYX")
    hyper = tmp_path / "h.tif"
    tifffile.imwrite(hyper, stack_of(8, 2), imagej=True, metadata={"axes": "ZCYX"})
    with pytest.raises(ps.Error, match=r"axes ZCYX.* is smaller than size"):
        ps.Patches(hyper, (4, Y, X))


# -- several files ----------------------------------------------------------------------------------


def test_planes_come_in_natural_order(tmp_path):
    data = stack_of(12)
    folder = tmp_path / "planes"
    folder.mkdir()
    names = [f"p{i}.tif" for i in range(11)] + ["p011.tif"]
    for name, plane in zip(names, data):
        tifffile.imwrite(folder / name, plane)
    for volume in (folder, folder / "*.tif", folder / "p*.tif"):
        assert_same(whole(volume, shape=(12, Y, X)), data)


def test_files_with_several_channels_have_an_axis_of_files(tmp_path):
    data = stack_of(4, 2)
    folder = tmp_path / "planes"
    folder.mkdir()
    for i, planes in enumerate(data):
        tifffile.imwrite(folder / f"z{i}.tif", planes, imagej=True, metadata={"axes": "CYX"})
    assert_same(whole(folder, shape=(4, 2, Y, X)), tifffile.imread(sorted(folder.iterdir())))
    stacks = tmp_path / "stacks"
    stacks.mkdir()
    for i, planes in enumerate(data):
        tifffile.imwrite(stacks / f"z{i}.tif", planes, imagej=True, metadata={"axes": "ZYX"})
    assert_same(whole(stacks, shape=(8, Y, X)), data.reshape(8, Y, X))
    tifffile.imwrite(folder / "z9.tif", stack_of(2), imagej=True, metadata={"axes": "ZYX"})
    with pytest.raises(ps.Error, match="one stack|Z 2") as caught:
        ps.Patches(folder, (1, Y, X))
    assert caught.value.uri.endswith("z9.tif")


def test_sets_of_ome_files(tmp_path):
    """Every file of such a set describes all planes of the set."""
    uuid = "".join(f'<TiffData FirstZ="{i}" IFD="0" PlaneCount="1"><UUID FileName="z{i}.tif">u{i}</UUID></TiffData>' for i in range(3))
    for i, plane in enumerate(stack_of(3)):
        tifffile.imwrite(tmp_path / f"z{i}.tif", plane, description=ome_xml(z=3, c=1, data=uuid), metadata=None)
    assert_same(whole(tmp_path, shape=(3, Y, X)), stack_of(3))
    with pytest.raises(ps.Error, match="Z 3 = 3 pages, the file has 1 .*other files"):
        ps.Patches(tmp_path / "z0.tif", (1, Y, X))


def test_a_labelled_hyperstack(tmp_path):
    data, labels = stack_of(6, 2), (stack_of(6, 1) % 3).astype(np.uint8)
    tifffile.imwrite(tmp_path / "v.tif", data, imagej=True, metadata={"axes": "ZCYX"})
    tifffile.imwrite(tmp_path / "l.tif", labels, photometric="minisblack")
    source = ps.Patches(tmp_path / "v.tif", (3, 2, 5, 5), axes="ZCYX")
    patches, origins = epoch(source, batch_size=2)
    for patch, (z, c, y, x) in zip(patches, origins):
        assert_same(patch, data[z:z + 3, c:c + 2, y:y + 5, x:x + 5])
