#!/usr/bin/env bash
# Packs a data set with a job array, each task one part, and then finishes it with a job that waits for the array.
#
#   ./pack_array.sh SRC DST PARTS [options of `penstock pack`]
#   ./pack_array.sh /data/imagenet/train /data/imagenet-shards 16 --shuffle-seed 0
#
# Submits both jobs and prints their numbers. Options of sbatch come from the environment (SBATCH_PARTITION, ...). After
# a failure run the same line again: finished shards are skipped. To repeat single parts of an array:
#
#   PENSTOCK_PARTS=16 PENSTOCK_FIRST_TASK=0 sbatch --array=3,7 pack_array.sh SRC DST 16 [the same options]
#
# Arrays may count from 0 or from 1 (sbatch --array=1-16); parts of penstock count from 0.
#SBATCH --job-name=pack
#SBATCH --output=%x-%A_%a.log
set -euo pipefail
if [ "$#" -lt 3 ]; then sed -n 4,5p "$0" >&2; exit 2; fi
source=$1 destination=$2 parts=$3
shift 3

if [ -z "${SLURM_JOB_ID:-}" ]; then  # not in a job: submit
  array=$(sbatch --parsable --array="0-$((parts - 1))" "$0" "$source" "$destination" "$parts" "$@")
  # A part that fails leaves the second job waiting for ever, unless Slurm may cancel it.
  finish=$(sbatch --parsable --job-name=pack-finish --output=%x-%j.log --dependency="afterok:${array%%;*}" \
    --kill-on-invalid-dep=yes --wrap="penstock pack --finish '$destination'")
  echo "array $array, finish $finish"
  exit 0
fi

count=${PENSTOCK_PARTS:-$SLURM_ARRAY_TASK_COUNT}
first=${PENSTOCK_FIRST_TASK:-$SLURM_ARRAY_TASK_MIN}
part=$((SLURM_ARRAY_TASK_ID - first))
exec penstock pack "$source" "$destination" --part "$part/$count" "$@"
