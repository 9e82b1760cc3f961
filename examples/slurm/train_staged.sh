#!/usr/bin/env bash
# Copies packed shards to the disk of each node, then trains from there, one process per node.
#
#   sbatch train_staged.sh SHARDS [options of train.py]
#   sbatch --nodes=2 train_staged.sh /data/imagenet-shards --epochs 3
#
# The copy goes to $SLURM_TMPDIR, which many clusters make for each job and remove after it, or else to
# /tmp/$SLURM_JOB_ID, which this script removes. A node that is given twice copies once, and a job that was requeued on
# the same node goes on with what is there.
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=%x-%j.log
set -euo pipefail
if [ "$#" -lt 1 ]; then sed -n 4,5p "$0" >&2; exit 2; fi
shards=$1
shift
# sbatch runs a copy of this script, so the folder of train.py is asked of Slurm.
here=${PENSTOCK_EXAMPLES:-$(dirname "$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=\([^ ]*\).*/\1/p')")}

# In single quotes: each node has a $SLURM_TMPDIR of its own.
# shellcheck disable=SC2016
local_folder='folder=${SLURM_TMPDIR:-/tmp/$SLURM_JOB_ID}/shards'
clean() {
  srun --ntasks-per-node=1 bash -c 'if [ -z "${SLURM_TMPDIR:-}" ]; then rm -rf "/tmp/$SLURM_JOB_ID"; fi' || true
}
trap clean EXIT

srun --ntasks-per-node=1 bash -c "$local_folder"'; exec penstock stage "$1" "$folder"' stage "$shards"

# This script runs on the first node of the job, where the first process of the training listens.
MASTER_ADDR=$(hostname)
MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
export MASTER_ADDR MASTER_PORT
srun --ntasks-per-node=1 --kill-on-bad-exit=1 \
  bash -c "$local_folder"'; exec "${PYTHON:-python3}" "$0" "$folder" "$@"' "$here/train.py" "$@"
