"""The harness for whole models: Relax, its passes, and the results of its builds."""
