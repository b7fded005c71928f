# Mutexes, bounded queues, monitors, condition variables and timeouts of Ruby.
require 'monitor'
require 'timeout'
mutex, count = Mutex.new, 0
8.times.map { Thread.new { 1000.times { mutex.synchronize { count += 1 } } } }.each(&:join)
queue, sum, sums = SizedQueue.new(4), 0, Mutex.new
consumers = 4.times.map do
  Thread.new { while (item = queue.pop) != :end do sums.synchronize { sum += item } end }
end
(1..1000).each { |item| queue << item }
4.times { queue << :end }
consumers.each(&:join)
monitor = Monitor.new
waiting = monitor.new_cond
turns = 0
20.times.map do |i|
  Thread.new { monitor.synchronize { waiting.wait_until { turns >= i }; turns += 2; waiting.broadcast } }
end.each(&:join)
begin
  Timeout.timeout(0.05) { Queue.new.pop }
rescue Timeout::Error
  puts "#{count} #{sum} #{turns}"
end
