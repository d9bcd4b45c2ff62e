"""What the process has done of which every service of the tests is a fork (forking.py)."""

import onnxruntime  # noqa: F401

import holdfast.service.cli.app
import holdfast.service.cli.serve
import holdfast.service.http.serving  # noqa: F401
from holdfast.language.regex import compile_all

compile_all()
