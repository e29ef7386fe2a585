#!/bin/bash
# Starts a program for each of many items, in one line of a function.

look_up() {
	local item
	for item in {1..400}; do
		/bin/true "$item" # here
	done
}

look_up
