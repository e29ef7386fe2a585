{
	if (own) {
		day = strftime("%Y-%m-%d", $1)
	} else {
		command = "date -d @" $1 " +%Y-%m-%d"
		command | getline day
		close(command)
	}
	count[day]++
}
END { for (day in count) print day, count[day] | "sort" }
