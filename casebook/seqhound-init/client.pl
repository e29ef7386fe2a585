#!/usr/bin/perl
# Adds up the lengths of sequences, by a call of the remote interface for each.
use strict;
use warnings;
use HTTP::Tiny;

my ($port, $path, $count) = @ARGV;
my $http = HTTP::Tiny->new(keep_alive => 0, no_proxy => ['127.0.0.1']);
my $sum = 0;

sub remote_call {
    my ($gi) = @_;
    my $answer = $http->post_form("http://127.0.0.1:$port$path", [fnct => 'SHoundGetSequenceLength', gi => $gi]);
    die "$answer->{status} $answer->{reason}\n" unless $answer->{success};
    return $answer->{content};
}

$sum += remote_call(($_ * 801 % 50000) * 3 + 1) for 0 .. $count - 1;
print "$sum\n";
