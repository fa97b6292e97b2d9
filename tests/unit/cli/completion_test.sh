#!/bin/bash
# Completion against the built commands: options, choices, verbs. Usage: completion_test.sh SOURCE_DIR BUILD_DIR
set -u
PATH=$2/bin:$PATH
source "$1/contrib/completion/gpuqueue"
failed=0

# expect "words typed…" "what is offered, with spaces"
expect() {
  local -a words
  read -ra words <<<"$1"
  [[ $1 == *" " ]] && words+=("")
  COMP_WORDS=("${words[@]}")
  COMP_CWORD=$((${#words[@]} - 1))
  _muster "${words[0]}" "${words[COMP_CWORD]}" "${words[COMP_CWORD - 1]}"
  if [[ "${COMPREPLY[*]}" != "$2" ]]; then
    echo "\"$1\": offered \"${COMPREPLY[*]}\", expected \"$2\""
    failed=1
  fi
}

expect "gpusubmit --gpus-per-" "--gpus-per-node --gpus-per-socket --gpus-per-task"
expect "gpusubmit --launch " "script tasks torchrun"
expect "gpusubmit --open-mode a" "append"
expect "gpujob re" "release requeue"
expect "gpuadmin node dr" "drain"
expect "gpuadmin jou" "journal"
expect "gpuqueue --wa" "--watch"
expect "gpulogs --fol" "--follow"
exit $failed
