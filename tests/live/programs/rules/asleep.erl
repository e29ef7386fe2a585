#!/usr/bin/env escript
%% Forty pauses of a process in Erlang between rounds of work; and a process that waits for the results of another one, which computes.
%%! -noinput
-mode(compile).

main(["fires"]) ->
    rounds(40);
main(["silent"]) ->
    Self = self(),
    spawn(fun() -> [Self ! {result, checksum(300000, N)} || N <- lists:seq(1, 40)] end),
    [receive {result, Sum} -> Sum after 60000 -> late end || _ <- lists:seq(1, 40)].

rounds(0) ->
    ok;
rounds(N) ->
    checksum(100000, N),
    timer:sleep(15 + N rem 5),
    rounds(N - 1).

checksum(0, Sum) ->
    Sum;
checksum(N, Sum) ->
    checksum(N - 1, (Sum * 31 + N) rem 1000003).
