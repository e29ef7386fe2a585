"""Prints the first column of a sheet: cell by cell, or with "rows" row by row."""

import sys

from openpyxl import load_workbook

book = load_workbook("parts.xlsx", read_only=True, data_only=True)
sheet = book.active
if sys.argv[1:] == ["rows"]:
    for (cell,) in sheet.iter_rows(max_col=1):
        print(cell.value)
else:
    for row in range(1, sheet.max_row + 1):
        print(sheet.cell(row, 1).value)
