"""Coverage-guided fuzzing of TVM's tensor-level compiler."""

__version__ = "0.1.0"
