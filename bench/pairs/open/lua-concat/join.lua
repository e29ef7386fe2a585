local lines = {}
local text = ""
for number = 1, 60000 do
  local line = "line " .. number .. "\n"
  if arg[1] then
    lines[#lines + 1] = line
  else
    text = text .. line
  end
end
if arg[1] then text = table.concat(lines) end
assert(#text > 0)
