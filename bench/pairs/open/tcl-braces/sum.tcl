proc bare {rounds} {
	set sum 0
	for {set n 0} {$n < $rounds} {incr n} {
		set sum [expr $sum + $n * 3 % 7]
	}
	return $sum
}
proc braced {rounds} {
	set sum 0
	for {set n 0} {$n < $rounds} {incr n} {
		set sum [expr {$sum + $n * 3 % 7}]
	}
	return $sum
}
puts [[lindex $argv 0] 400000]
