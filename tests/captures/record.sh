#!/bin/sh
# Records the captures anew on a machine with a GPU: builds every program (or takes those in $BUILD), runs each twice,
# and writes <topic>.<gpu>.txt here (or into the folder given) if both runs agree.
#   tests/captures/record.sh [FOLDER]      BUILD=folder of binaries, TOPICS="a b c", GPU=h200
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
gpu=${GPU:-h200}
build=${BUILD:-$(mktemp -d)}
nvcc=${NVCC:-nvcc}
header="# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1 | sed 's/, /, driver /'), CUDA \
$($nvcc --version | sed -n 's/.*release .*, V//p'), recorded $(date -u +%Y-%m-%d)"
failed=0

# Runs a program to its end; a case that breaks the CUDA context (its line says `error`) ends one process, and the next
# one goes on after it.
record() {
  : >"$2"
  after=
  while :; do
    rc=0
    if [ -z "$after" ]; then
      timeout 60 "$build/$1" >"$2.part" 2>"$2.err" || rc=$?
    else
      timeout 60 "$build/$1" --after "$after" >"$2.part" 2>"$2.err" || rc=$?
    fi
    cat "$2.part" >>"$2"
    [ $rc -ne 0 ] || return 0
    case $(tail -n 1 "$2.part") in
      *": error "*) after=$(tail -n 1 "$2.part" | sed 's/: error .*//') ;;
      *) echo "$1: ended with $rc after $(tail -n 1 "$2" | cut -d: -f1): $(head -n 1 "$2.err")"; failed=1; return 0 ;;
    esac
  done
}

for source in "$here"/*.cu; do
  topic=$(basename "$source" .cu)
  case " ${TOPICS:-$topic} " in *" $topic "*) ;; *) continue ;; esac
  if [ ! -x "$build/$topic" ]; then
    $nvcc -gencode 'arch=compute_90a,code=[sm_90a,compute_90a]' -cudart shared -lcuda -std=c++17 \
      -o "$build/$topic" "$source"
  fi
  for run in 1 2; do
    record "$topic" "$build/$topic.$run.out"
  done
  { echo "$header"; cat "$build/$topic.1.out"; } >"$out/$topic.$gpu.txt"
  if ! cmp -s "$build/$topic.1.out" "$build/$topic.2.out"; then
    echo "$topic: two runs differ:"
    diff "$build/$topic.1.out" "$build/$topic.2.out" | head -5
    failed=1
  fi
  echo "$topic: $(grep -c : "$build/$topic.1.out") cases"
done
exit $failed
