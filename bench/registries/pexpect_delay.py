"""pexpect 4.9 sleeps 50 ms before each line that it sends, unless it is told not to."""
import sys

import pexpect

child = pexpect.spawn("cat", encoding="ascii", echo=False)
if sys.argv[1] == "after":
    child.delaybeforesend = None
for number in range(30):
    child.sendline(f"line {number}")
    child.expect_exact(f"line {number}\r\n")
child.sendeof()
child.expect(pexpect.EOF)
