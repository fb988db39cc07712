"""What kinlearn is measured with: speed against the peers, quality by protocol.

``python -m benchmarks.speed`` and ``python -m benchmarks.quality`` run from the
root of a checkout; the guide "Benchmarks" says how to read and extend them.
"""
