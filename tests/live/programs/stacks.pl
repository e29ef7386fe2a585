# Known lines that sleep and compute; interpreters.rs says what must be seen of them.
package Work;

sub asleep {
    select(undef, undef, undef, 0.021); # waits 21
}

sub compute {
    my ($sum, $n) = (0, @_);
    for my $i (1 .. $n) { # computes
        $sum = ($sum * 31 + $i) % 1000003; # computes
    }
    return $sum;
}

package main;
use Time::HiRes qw(time usleep);

sub outer {
    Work::asleep();
}

sub calls_back {
    my @sorted = sort {
        usleep(22000); # waits 22
        $a <=> $b
    } 2, 1;
}

sub in_child {
    usleep(23000); # waits 23
}

usleep(100000);
for (1 .. 3) {
    outer();
    calls_back();
}
if (my $pid = fork()) {
    waitpid($pid, 0);
} else {
    in_child();
    exit(0);
}
my $ends = time() + 0.6;
Work::compute(20000) while time() < $ends;
eval("sub evaluated {\n usleep(24000);\n }\n evaluated();");
