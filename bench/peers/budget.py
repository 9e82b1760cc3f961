"""The memory that every loader of chunks gets, where it can be told."""
MEMORY = "256MiB"
CACHE_BYTES = 256 << 20
