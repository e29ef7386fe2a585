// A page of a shop, asked for 200 times over one connection.
const express = require("express");
const http = require("http");
const path = require("path");

const app = express();
app.set("view engine", "pug");
app.set("views", path.join(__dirname, "views"));
app.get("/:section", (request, response) => {
  const products = [1, 2, 3, 4].map((number) => ({
    number, name: `product ${number}`, price: 10 * number, reduced: number % 2 ? 9 * number : 0, marks: ["new", "light"],
  }));
  response.render("list", { title: "All products", sections: ["shoes", "bags"], current: request.params.section, products });
});

function ask(options) {
  return new Promise((resolve, reject) => {
    http.get(options, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.resume().on("end", resolve);
    }).on("error", reject);
  });
}

const server = app.listen(0, "127.0.0.1", async () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  for (let count = 0; count < 200; count++) {
    await ask({ host: "127.0.0.1", port: server.address().port, path: "/shoes", agent });
  }
  agent.destroy();
  server.close();
});
