printf 'fn main() {}\n' > a.rs
n=0
while [ $n -lt 60 ]; do
	bat -pp --color=always a.rs > /dev/null
	n=$((n + 1))
done
