#!/bin/sh
# Builds the fuzz targets and runs each for the given number of seconds; fails on any finding, which
# is left in fuzz/findings. A finding that is fixed goes to fuzz/regressions, which the unit tests
# replay.
#
#   fuzz/run.sh SECONDS [TARGET...]
set -eu
cd "$(dirname "$0")/.."
seconds=${1:?how many seconds for each target}
shift
[ $# -gt 0 ] || set -- npy jpeg png webp file_index tar tfrecord example npz json manifest record_index http_response zarr_metadata shard_index tiff \
  codec_chain blosc_frame
python=.venv/bin/python
[ -x "$python" ] || python=python3
"$python" -W ignore fuzz/make_corpus.py
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz
mkdir -p fuzz/findings
failed=0
for target in "$@"; do
  program=build/fuzz/fuzz/fuzz_$target
  if [ ! -x "$program" ]; then
    echo "fuzz $target: not in this build"
    continue
  fi
  mkdir -p "build/fuzz/corpus/$target"
  # Made by make_corpus.py, kept where they are written by hand, or the files of the tests.
  seeds=fuzz/corpus/$target
  [ -d "$seeds" ] || seeds=fuzz/seeds/$target
  [ -d "$seeds" ] || seeds=tests/golden/$target
  log=build/fuzz/$target.log
  if "$program" -max_total_time="$seconds" -rss_limit_mb=512 -timeout=5 -max_len=20000 -print_final_stats=1 \
      -artifact_prefix="fuzz/findings/$target-" "build/fuzz/corpus/$target" "$seeds" \
      fuzz/regressions >"$log" 2>&1; then
    echo "fuzz $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no finding"
  else
    echo "fuzz $target: FINDING"
    tail -40 "$log"
    failed=1
  fi
done
exit $failed
