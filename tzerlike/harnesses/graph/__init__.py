"""The harness for whole models: Relax, its passes, and what its builds compute."""
