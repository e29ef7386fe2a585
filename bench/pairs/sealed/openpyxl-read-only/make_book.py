"""Writes a workbook with one sheet of 400 rows of 18 cells."""

from openpyxl import Workbook

book = Workbook()
sheet = book.active
for row in range(400):
    sheet.append([f"part {row}", *(row * column for column in range(17))])
book.save("parts.xlsx")
