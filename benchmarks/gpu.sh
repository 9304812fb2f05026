#!/bin/sh
# Runs what needs a GPU, and leaves its results in a folder: benchmarks/gpu.sh FOLDER PART...
#
# Parts, with what each takes on an H200 (measured, or ~ estimated):
#   tests     the tests marked gpu (~400 s)        graph   seven models, eager, graph, compile (120 s)
#   planted   planted causes are cured (~600 s)    nothing cures that do nothing (~400 s)
#   healthy   ten trials of a healthy program (250 s)      kill    trials are killed (80 s)
#   noisy     a victim beside a tenant (46 s)      record  the recorder's cost, and against Kineto (~220 s)
#   pages     the CSV pages of the kept ncu reports (10 s)  examples  the others in examples/ (~100 s)
#   profile   tailwave.profile on two programs (~100 s)
# On a machine of several GPUs, parts of different GPUs can run at once: set CUDA_VISIBLE_DEVICES and
# CUDA_DEVICE_ORDER=PCI_BUS_ID for each.
set -u
cd "$(dirname "$0")/.."
out=$1
mkdir -p "$out"
shift
python=${PYTHON:-python3}
export PYTHONPATH="src:.${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1

trials() { "$python" benchmarks/cure_trials.py --out "$out/trials_$1.json" --only "$@"; }

pages() {
    for name in planted_faults article_tests; do
        gunzip -c "tests/data/ncu/$name.ncu-rep.gz" >"/tmp/$name.ncu-rep"
        for page in raw details; do
            ncu --import "/tmp/$name.ncu-rep" --csv --page "$page" >"$out/$name.$page.csv"
        done
    done
    ncu --import /tmp/planted_faults.ncu-rep --csv --page raw --print-units base \
        >"$out/planted_faults.raw.base.csv"
    ncu --version >"$out/ncu.version"
}

examples() {
    failed=0
    for name in launch_bound starved_loader wave_tail; do
        "$python" "examples/$name.py" --json >"$out/example_$name.json" || failed=1
    done
    return $failed
}

part() {
    case $1 in
        tests)
            # shellcheck disable=SC2046  # one word a file
            "$python" -m pytest -p no:cacheprovider -p no:benchmark -m gpu -q \
                --import-mode=importlib $(grep -rl 'mark\.gpu' tests --include='*.py')
            ;;
        planted | nothing) trials "$1" ;;
        healthy) trials healthy --scripts healthy_read --repeat 10 --rounds 3 ;;
        kill) trials kill --kills 4 ;;
        graph) "$python" -m benchmarks.graph_models --out "$out/graph_models.json" ;;
        noisy) "$python" benchmarks/noisy_neighbour.py --out "$out/noisy_neighbour.json" ;;
        record)
            "$python" benchmarks/record_against_kineto.py --out "$out/record_against_kineto.json"
            "$python" benchmarks/record_overhead.py --out "$out/record_overhead.json"
            ;;
        profile) "$python" -m benchmarks.profile_programs --out "$out" ;;
        pages) pages ;;
        examples) examples ;;
        *)
            echo "gpu.sh: there is no part $1: see the head of this file" >&2
            return 64
            ;;
    esac
}

status=0
for one; do
    part "$one" >"$out/$one.log" 2>&1
    code=$?
    tail -n 20 "$out/$one.log"
    echo "== $one: exit $code, $(date -u +%H:%M:%S)"
    [ "$code" -eq 0 ] || status=1
done
exit $status
