"""mean.py OUT.pt A.pt B.pt ...   writes the mean of the weights of checkpoints of one training."""
import sys

import torch

all_ = [torch.load(p) for p in sys.argv[2:]]
torch.save({k: sum(w[k] for w in all_) / len(all_) for k in all_[0]}, sys.argv[1])
