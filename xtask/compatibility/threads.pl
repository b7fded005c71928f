# Perl's interpreter threads: shared variables, queues, semaphores, condition waits.
use strict;
use warnings;
use threads;
use threads::shared;
use Thread::Queue;
use Thread::Semaphore;

my $count : shared = 0;
$_->join for map { threads->create(sub { for (1 .. 1000) { lock $count; $count++ } }) } 1 .. 4;
my $queue = Thread::Queue->new;
my @adders = map { threads->create(sub { my $sum = 0; while (defined(my $item = $queue->dequeue)) { $sum += $item } $sum }) } 1 .. 3;
$queue->enqueue($_) for 1 .. 100;
$queue->end;
my $sum = 0;
$sum += $_->join for @adders;
my $semaphore = Thread::Semaphore->new(0);
my $ready : shared = 0;
my $waiter = threads->create(sub { $semaphore->down; lock $ready; cond_wait $ready until $ready; $ready });
$semaphore->up;
{ lock $ready; $ready = 1; cond_broadcast $ready }
print "$count $sum ", $waiter->join, "\n";
