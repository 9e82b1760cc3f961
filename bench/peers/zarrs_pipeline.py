"""zarrs: zarr-python with a codec pipeline in Rust."""
import zarr
import zarrs  # noqa: F401  (registers the pipeline)


def use(threads):
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "threading.max_workers": threads})
