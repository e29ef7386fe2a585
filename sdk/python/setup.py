# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The extension: one file of C and the header for tags of C, which a source package has a copy of."""

import pathlib
import shutil

from setuptools import Extension, setup

here = pathlib.Path(__file__).resolve().parent
shared = here.parent / "c" / "timesink.h"
if shared.exists():
    shutil.copyfile(shared, here / "timesink.h")

setup(
    ext_modules=[
        Extension(
            "timesink_tags._tags",
            sources=["timesink_tags/_tags.c"],
            depends=["timesink.h"],
            include_dirs=["."],
        )
    ]
)
