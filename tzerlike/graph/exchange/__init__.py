"""Models as files of other frameworks: written by our own rows, so that TVM's importers can be judged."""
