"""All workloads, in the order in which they are run and reported."""
from workloads import arrays, first_batch, image_epoch, peak_memory, process_start, scheduler

WORKLOADS = {workload.key: workload for workload in (
    image_epoch.ANTIALIASED, image_epoch.PLAIN, first_batch.WORKLOAD, process_start.WORKLOAD,
    arrays.WORKLOAD, scheduler.WORKLOAD, peak_memory.WORKLOAD)}
