%% Writes 120,000 lines into a file, each with a call of file:write/2.
-module(lines).
-export([main/1]).

main([Form]) ->
    Modes = case Form of
        "each" -> [write];
        "delayed" -> [write, delayed_write]
    end,
    {ok, File} = file:open("lines.txt", Modes),
    lists:foreach(fun(N) -> ok = file:write(File, ["line ", integer_to_list(N), "\n"]) end, lists:seq(1, 120000)),
    ok = file:close(File),
    halt().
