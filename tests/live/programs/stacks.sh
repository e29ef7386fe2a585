# Known lines that start children; bash.rs says what must be seen of them. What a line waits for is said at its end.
. "$(dirname "$0")/stacks-library.sh"

work() {
    inner
    sleep 0.021   # waits 21
}

inner() {
    local text
    text=$(sleep 0.022; echo x)   # waits 22 in a child
    for word in $(sleep 0.023; echo a); do   # waits 23 in a child
        sleep 0.024 | cat   # waits 24 for cat
    done
    # Of ( ) bash knows where it ends.
    (
        sleep 0.025   # waits 25 in a child
        :
    )   # waits for a subshell
    while read -r line; do
        sleep 0.026   # waits 26
    done < <(echo x)
}

sleep 0.1
for _ in 1 2; do
    work
    from_library
    case $(sleep 0.027; echo z) in   # waits 27 in a child
        z) sleep 0.028 ;;   # waits 28
    esac
done

while read -r line; do sleep 0.029; done < <(echo x) |
    cat
{ sleep 0.030; :; } |
    while read -r line; do :; done
trap 'sleep 0.031' EXIT
