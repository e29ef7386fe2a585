"""Reads the tags of twenty pictures, through an exiftool for each, or one that stays open."""
import sys
from pathlib import Path

import exiftool

pictures = sorted(Path(sys.argv[2]).glob("*.png"))
if sys.argv[1] == "each":
    for picture in pictures:
        with exiftool.ExifToolHelper() as one:
            one.get_metadata(str(picture))
else:
    with exiftool.ExifToolHelper() as one:
        for picture in pictures:
            one.get_metadata(str(picture))
