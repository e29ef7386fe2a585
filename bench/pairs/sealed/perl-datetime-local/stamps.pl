# Makes 20,000 time stamps in the local time zone, which is determined for each or once for all.
use strict;
use warnings;
use DateTime;
use DateTime::TimeZone;

my $zone = @ARGV ? DateTime::TimeZone->new(name => 'local') : 'local';
for my $number (1 .. 20000) {
    my $now = DateTime->now(time_zone => $zone);
    print "$number ", $now->epoch, ' ', $now->time_zone->name, "\n";
}
