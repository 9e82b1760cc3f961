#!/bin/sh
# Builds the fuzz targets and runs each for the given number of seconds, as many at a time as there
# are processors; fails on any finding, which is left in fuzz/findings. A finding that is fixed goes
# to fuzz/regressions, which the unit tests replay.
#
#   fuzz/run.sh SECONDS [TARGET...]
set -eu
cd "$(dirname "$0")/.."

# fuzz/run.sh --one SECONDS TARGET: what the script calls for each target. Prints in one piece, so
# that targets that run beside each other do not mix their lines.
if [ "${1:-}" = --one ]; then
  seconds=$2
  target=$3
  program=build/asan/fuzz/fuzz_$target
  if [ ! -x "$program" ]; then
    echo "fuzz $target: not in this build"
    exit 0
  fi
  mkdir -p "build/asan/corpus/$target"
  # What an hour of fuzzing found worth keeping (fuzz/README.md).
  tar -xJf fuzz/corpus.tar.xz -C build/asan/corpus --strip-components=1 "merged/$target" 2>/dev/null || true
  # Made by make_corpus.py, kept where they are written by hand, or the files of the tests.
  seeds=fuzz/corpus/$target
  [ -d "$seeds" ] || seeds=fuzz/seeds/$target
  [ -d "$seeds" ] || seeds=tests/golden/$target
  log=build/asan/$target.log
  if "$program" -max_total_time="$seconds" -rss_limit_mb=512 -timeout=5 -max_len=20000 -print_final_stats=1 \
      -artifact_prefix="fuzz/findings/$target-" "build/asan/corpus/$target" "$seeds" \
      fuzz/regressions >"$log" 2>&1; then
    echo "fuzz $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no finding"
    exit 0
  fi
  printf 'fuzz %s: FINDING\n%s\n' "$target" "$(tail -40 "$log")"
  exit 1
fi

seconds=${1:?how many seconds for each target}
shift
[ $# -gt 0 ] || set -- npy jpeg png webp file_index tar tfrecord example npz json manifest record_index http_response \
  zarr_metadata shard_index tiff tiff_axes codec_chain blosc_frame tiff_image bmp gif pnm qoi pack_record jpeg_restarts mds portable_index pack_manifest stage_records s3_xml hub_answers azure_answers
python=.venv/bin/python
[ -x "$python" ] || python=python3
"$python" -W ignore fuzz/make_corpus.py
cmake --preset asan >/dev/null
cmake --build --preset asan
mkdir -p fuzz/findings
printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" fuzz/run.sh --one "$seconds"
