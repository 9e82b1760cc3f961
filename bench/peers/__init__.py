"""One module a loader. Importing a module loads that loader's libraries, so imports are timed apart.

A module offers those of these functions that its loader can do; each builds the loader (inside the
timed part) and returns a function that starts one shuffled epoch and gives its batches:

  images(batch_size, threads, antialias)   JPEG folder or records -> (float32 NCHW normalised images, labels)
  arrays(batch_size, threads)              one .npy file a sample -> float32 arrays
  arrays_of_one_file(batch_size, threads)  the same samples in one big .npy file
  small_samples(batch_size, threads)       1 KB samples of one .npy file
  stored_bytes(batch_size, threads)        records -> (bytes as they are stored, labels)
  cached_images(batch_size, threads)       images without antialiasing, decoded once and kept in memory; Penstock's is
                                           told how large its cache is

For Zarr arrays (see zarr_stores) a module offers one of these:

  reader(store, threads)                   -> function(indices) that reads a batch of these samples
  loader(store, batch_size, threads)       -> what starts a shuffled epoch of batches whenever it is iterated over

can_read(store) tells which stores it reads, if not all; `threads` are requests where the store has a URL, for which
loaders offer remote_loader(store, batch_size, requests). For patches:

  patches(location, batch_size, threads, memory_mib)   -> iterator over float32 batches, without end

And open_records(index_folder, batch_size, threads), which opens the million records of d1m, keeps what it learns of
the shards in index_folder, and returns (what it opened, number of records).
"""
