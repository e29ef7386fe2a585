# Six jobs of 50 ms, two at a time. $ARGV[0] is the sleep between two looks at whether one has ended.
use strict;
use warnings;
use Parallel::ForkManager;

my $jobs = Parallel::ForkManager->new(2);
$jobs->set_waitpid_blocking_sleep($ARGV[0]) if @ARGV;
for my $n (1 .. 6) {
    $jobs->start and next;
    select undef, undef, undef, 0.05;
    $jobs->finish;
}
$jobs->wait_all_children;
