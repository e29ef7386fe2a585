use strict;
use warnings;
use LWP::UserAgent;

my $agent = LWP::UserAgent->new(keep_alive => $ARGV[0]);
for (1 .. 1500) {
    my $answer = $agent->get("http://127.0.0.1:18500/");
    $answer->is_success or die $answer->status_line;
}
