"""Golden runs: a model trained by plain PyTorch, and everything it computed on the way in one bundle of files.

Nothing of the exporter or of WarpForge takes part in the computation: the programs are written afterwards, from the
same module, and only so that another runtime can be judged by what PyTorch computed.
"""
