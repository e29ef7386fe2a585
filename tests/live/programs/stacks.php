<?php
# Known lines that sleep and compute; interpreters.rs says what must be seen of them.
class Work
{
    public function asleep()
    {
        usleep(21000); # waits 21
    }

    public static function compute($n)
    {
        $sum = 0;
        for ($i = 0; $i < $n; $i++) { # computes
            $sum = ($sum * 31 + $i) % 1000003; # computes
        }
        return $sum;
    }
}

function outer($work)
{
    $work->asleep();
}

function calls_back()
{
    array_map(function ($x) {
        usleep(22000); # waits 22
    }, [1]);
}

function in_child()
{
    usleep(23000); # waits 23
}

usleep(100000);
for ($i = 0; $i < 3; $i++) {
    outer(new Work());
    calls_back();
}
if (pcntl_fork() == 0) {
    in_child();
    exit(0);
}
pcntl_wait($status);
$until = microtime(true) + 0.6;
while (microtime(true) < $until) {
    Work::compute(100000);
}
eval("function evaluated()\n{ usleep(24000); }\nevaluated();");
