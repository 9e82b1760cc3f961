"""All workloads, in the order in which they are run and reported."""
from workloads import (arrays, cache_budget, cache_disk, cache_ratio, cache_shared, cache_time, checksums, cold_epoch,
                       first_batch, http_first_batch, image_epoch, large_chunks, long_run, million_chunks,
                       open_records, peak_memory, process_start, record_epoch, same_draws, scheduler, volume_patches,
                       zarr_batches, zarr_http)

WORKLOADS = {workload.key: workload for workload in (
    image_epoch.ANTIALIASED, image_epoch.PLAIN, first_batch.WORKLOAD, process_start.WORKLOAD,
    arrays.WORKLOAD, scheduler.WORKLOAD, peak_memory.WORKLOAD, record_epoch.WORKLOAD, checksums.WORKLOAD,
    open_records.WORKLOAD, cold_epoch.WORKLOAD, zarr_batches.WORKLOAD, large_chunks.WORKLOAD, same_draws.CHUNKS, long_run.WORKLOAD,
    million_chunks.WORKLOAD, zarr_http.WORKLOAD, http_first_batch.WORKLOAD, volume_patches.WORKLOAD,
    same_draws.PATCHES,
    cache_ratio.WORKLOAD, cache_time.WORKLOAD, cache_budget.WORKLOAD, cache_shared.WORKLOAD, cache_disk.WORKLOAD)}
