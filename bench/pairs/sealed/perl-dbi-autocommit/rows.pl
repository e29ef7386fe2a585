use strict;
use warnings;
use DBI;

my $db = DBI->connect("dbi:SQLite:dbname=rows.db", "", "", { RaiseError => 1 });
$db->do("create table t(a, b)");
$db->begin_work if @ARGV;
my $insert = $db->prepare("insert into t values (?, ?)");
$insert->execute($_, "row $_") for 1 .. 1500;
$db->commit if @ARGV;
