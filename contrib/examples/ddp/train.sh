#!/bin/bash
# Four ranks on two nodes train one network together. Submit it where train.py lies:
#   cd contrib/examples/ddp && gpusubmit train.sh
# Arguments go to train.py; --checkpoints DIR says where it saves (default: checkpoints/job-ID in this directory).
#GPU --name ddp
#GPU --nodes 2 --gpus-per-node 2
#GPU --launch tasks
#GPU --time 10m
exec "${MUSTER_PYTHON:-/usr/bin/python3}" -u train.py "$@"
