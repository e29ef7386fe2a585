// Prices orders by the settings in a file, which is loaded for each order (again) or kept (once).
"use strict";
const fs = require("fs");

let kept = null;

function loadSettings() {
	return JSON.parse(fs.readFileSync("settings.json", "utf8"));
}

function settings(mode) {
	if (mode === "again") return loadSettings();
	kept = kept || loadSettings();
	return kept;
}

function priceOrder(order, mode) {
	const articles = settings(mode);
	let sum = 0;
	for (const name of order) sum += articles[name].price * (1 + articles[name].tax);
	return sum;
}

let total = 0;
for (let number = 0; number < 150; number++) {
	const order = [];
	for (let item = 0; item < 20; item++) order.push("article " + ((number * 31 + item * 7) % 6000));
	total += priceOrder(order, process.argv[2]);
}
console.log(total.toFixed(2));
