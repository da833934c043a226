"""Models as files of other frameworks: written by rows of our own, so that TVM's importers can be judged."""
