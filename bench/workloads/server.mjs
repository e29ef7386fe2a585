// A server of a small page that counts its requests: server.mjs PORT.
import http from "node:http";

const page = "x".repeat(2700);
let requests = 0;
http.createServer((request, response) => {
  if (request.url === "/requests") return response.end(String(requests));
  requests += 1;
  response.end(page);
}).listen(Number(process.argv[2]), "127.0.0.1");
