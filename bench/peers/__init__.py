"""One module a loader. Importing a module loads that loader's libraries, so imports are timed apart.

A module offers those of these functions that its loader can do; each builds the loader (inside the
timed part) and returns a function that starts one shuffled epoch and gives its batches:

  images(batch_size, threads, antialias)   JPEG folder or records -> (float32 NCHW normalised images, labels)
  arrays(batch_size, threads)              one .npy file a sample -> float32 arrays
  arrays_of_one_file(batch_size, threads)  the same samples in one big .npy file
  small_samples(batch_size, threads)       1 KB samples of one .npy file
  stored_bytes(batch_size, threads)        records -> (bytes as they are stored, labels)

And open_records(index_folder, batch_size, threads), which opens the million records of d1m, keeps what it learns of
the shards in index_folder, and returns (what it opened, number of records).
"""
