"""The folder that goes in front of PYTHONPATH, so that Python finds its ``sitecustomize``."""
