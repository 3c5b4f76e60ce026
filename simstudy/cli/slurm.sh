#!/bin/bash
# The study {{name}} on Slurm, in {{shares}} shares and a job that joins them.
# Made by: {{made_by}}
#
#   bash THIS_FILE             submits all of it
#   bash THIS_FILE 3,17-20     submits these shares again, and the job that joins all
#
# No job talks to another: a share follows from its place in the array. Every finished block is
# kept, whatever becomes of its job, and whoever runs next goes on from there: a share that was
# requeued, one submitted again, or the last job, which draws what no share has drawn. Where that
# is more than one share draws, the last job draws nothing, and prints the command that does.
set -euo pipefail

command=({{command}})      # what a job runs, beside its share
shares={{shares}}
asked=({{asked}})          # of Slurm, for each job; see man sbatch
warning=120                # seconds before the end of its time in which a job finishes its blocks
script=$(readlink -f "$0")
cd {{folder}}              # where results belong

# ------------------------------------------------ in a job
# Slurm warns this shell, which tells the command to finish what it has begun. It then ends with
# status 75, and the job goes back into the queue. bash runs a trap only between commands, hence
# the command in the background, and a wait for it that is taken up again after every signal.
work() {
    local child status=0 again=yes
    "${command[@]}" "$@" &
    child=$!
    trap 'again=yes; kill -USR1 "$child" 2>/dev/null || true' USR1
    trap 'again=yes; kill -TERM "$child" 2>/dev/null || true' TERM
    while [ -n "$again" ]; do
        again=
        status=0
        wait "$child" || status=$?
    done
    if [ "$status" = 75 ]; then
        local job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
        echo "job ${job:=$SLURM_JOB_ID} is out of time and goes back into the queue"
        scontrol requeue "$job" && sleep 60 # Slurm ends this shell meanwhile
    fi
    exit "$status"
}

case "${SLURM_JOB_ID:+${1:-}}" in
    share) work "shard=auto/$shares" ;;
    join) SIMSTUDY_SCRIPT=${2:-} work "join=$shares" ;;
esac

# ------------------------------------------------ where jobs are submitted
logs=slurm/{{name}}
mkdir -p "$logs"
submit() {
    sbatch --parsable --requeue --open-mode=append --signal="B:USR1@$warning" \
        --job-name={{name}} --output="$logs/%A_%a.out" "${asked[@]}" "$@"
}

limit=$(scontrol show config 2>/dev/null | sed -n 's/^MaxArraySize *= *//p' || true)
if [ -n "$limit" ] && [ "$shares" -ge "$limit" ]; then
    echo "shares=$shares: Slurm takes at most $((limit - 1)) jobs in an array here (MaxArraySize);" \
        "nothing was submitted. Write the script again with fewer shares." >&2
    exit 2
fi
array=$(submit --array="${1:-1-$shares}" "$script" share)
join=$(submit --output="$logs/%j.out" --dependency="afterany:$array" "$script" join "$script")
echo "submitted: shares as $array, the job that joins them as $join; logs in $PWD/$logs"
