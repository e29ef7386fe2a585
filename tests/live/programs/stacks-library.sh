# A file that stacks.sh reads; lines are counted anew here.

from_library() {
    sleep 0.032   # waits 32
}
