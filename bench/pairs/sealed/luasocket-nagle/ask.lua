-- Sends 50 questions, each as a head and a body, and waits for the answer to each.
local socket = require "socket"

local peer = assert(socket.connect("127.0.0.1", tonumber(os.getenv("PORT"))))
if arg[1] == "nodelay" then
    peer:setoption("tcp-nodelay", true)
end
for n = 1, 50 do
    local body = "question " .. n
    assert(peer:send(#body .. "\n"))
    assert(peer:send(body))
    assert(peer:receive("*l"))
end
peer:close()
