"""All workloads, in the order in which they are run and reported."""
from workloads import (arrays, checksums, cold_epoch, first_batch, image_epoch, open_records, peak_memory,
                       process_start, record_epoch, scheduler)

WORKLOADS = {workload.key: workload for workload in (
    image_epoch.ANTIALIASED, image_epoch.PLAIN, first_batch.WORKLOAD, process_start.WORKLOAD,
    arrays.WORKLOAD, scheduler.WORKLOAD, peak_memory.WORKLOAD, record_epoch.WORKLOAD, checksums.WORKLOAD,
    open_records.WORKLOAD, cold_epoch.WORKLOAD)}
