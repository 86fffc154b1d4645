# status: 0
## perl
# needs: perl
perl -e 'use strict; use POSIX; use File::Temp; use IO::Socket::INET; use Time::HiRes "sleep"; my %h = (a => 1); print "hi $h{a} ", join(",", sort map { $_ * 2 } 1..5), "\n"; open my $p, "-|", "echo piped" or die; print <$p>; my $pid = fork; exit 4 unless $pid; waitpid $pid, 0; print $? >> 8, "\n"; $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; pause; pipe my $r, my $w; syswrite $w, "x"; sysread $r, my $b, 5; print "$b\n"; my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die; my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $s->sockport) or die; my $a = $s->accept; print $c "line\n"; print scalar <$a>; print -e "/etc/passwd" ? "yes\n" : "no\n"; opendir my $d, "/usr/share/perl"; print scalar(grep !/^\./, readdir $d), "\n"; print `echo back`; system "exit 2"; print $? >> 8, "\n"; printf "%s\n", strftime("%Y", gmtime 0);'; printf 'a 1\nb 2\n' > f; perl -i -pe 's/a/A/' f; perl -lane 'print $F[1]' f; cat f; perl -MFile::Find -e 'my $n; find(sub { $n++ }, "/usr/share/perl"); print $n > 10 ? "found\n" : "none\n"'
## ruby
# needs: ruby
cat > t.rb <<'X'
require "socket"; require "json"; require "tempfile"; require "open3"; require "fileutils"; require "digest"; require "timeout"
puts [3, 1, 2].sort.inspect, { a: 1 }.to_json, Digest::MD5.hexdigest("x"), `echo sub`.chomp, $?.exitstatus
puts Open3.capture2e("cat; echo e >&2", stdin_data: "in")[0].inspect; q = Queue.new; t = 4.times.map { |i| Thread.new { q << i } }; t.each(&:join); puts q.size; r, w = IO.pipe; pid = fork { r.close; w.puts "child"; exit! 3 }; w.close; puts r.read; puts Process.wait2(pid)[1].exitstatus
s = TCPServer.new("127.0.0.1", 0); Thread.new { c = s.accept; c.puts c.gets.upcase; c.close }; c = TCPSocket.new("127.0.0.1", s.addr[1]); c.puts "tcp"; puts c.read; trap("USR1") { puts "usr1" }; Process.kill("USR1", $$); sleep 0.1; begin; Timeout.timeout(0.1) { sleep 5 }; rescue Timeout::Error; puts "timeout"; end; Tempfile.create { |f| f.write "x"; f.flush; puts File.size(f.path) }; FileUtils.mkdir_p "a/b"; puts Dir.glob("**/*").sort.inspect; puts IO.select([r], nil, nil, 0).inspect rescue puts "closed"; a, b = UNIXSocket.pair; a.write "u"; puts b.readpartial(9); File.open("l", "w") { |f| puts f.flock(File::LOCK_EX) }; puts File.stat("l").file?, Process.clock_gettime(Process::CLOCK_MONOTONIC) > 0; Fiber.new { puts "fiber" }.resume
X
ruby t.rb; ruby -e 'exit 7' || echo $?; ruby -e 'raise "x"' 2>/dev/null || echo $?
## java
# needs: java javac
# timeout: 120
cat > T.java <<'X'
import java.util.*; import java.util.concurrent.*; import java.nio.file.*; import java.net.*; import java.io.*; import java.util.stream.*;
public class T { public static void main(String[] a) throws Exception {
  System.out.println("hello " + a.length + " " + Stream.of(3, 1, 2).sorted().map(String::valueOf).collect(Collectors.joining(","))); ExecutorService e = Executors.newFixedThreadPool(4); int s = 0; for (Future<Integer> f : e.invokeAll(IntStream.range(0, 50).mapToObj(i -> (Callable<Integer>) () -> i).toList())) s += f.get(); e.shutdown(); System.out.println(s);
  Path p = Files.createTempFile(Path.of("."), "x", "y"); Files.writeString(p, "text"); System.out.println(Files.readString(p) + Files.size(p)); try (var c = java.nio.channels.FileChannel.open(p, StandardOpenOption.READ, StandardOpenOption.WRITE)) { var m = c.map(java.nio.channels.FileChannel.MapMode.READ_WRITE, 0, 4); m.put(0, (byte) 'T'); m.force(); System.out.println(c.tryLock() != null); } System.out.println(Files.readString(p)); Files.delete(p);
  ServerSocket l = new ServerSocket(0, 5, InetAddress.getLoopbackAddress()); Thread t = new Thread(() -> { try (Socket c = l.accept()) { c.getOutputStream().write(new BufferedReader(new InputStreamReader(c.getInputStream())).readLine().toUpperCase().getBytes()); } catch (IOException x) { x.printStackTrace(); } }); t.start(); Socket c = new Socket(l.getInetAddress(), l.getLocalPort()); c.getOutputStream().write("tcp\n".getBytes()); System.out.println(new String(c.getInputStream().readAllBytes())); t.join();
  Process q = new ProcessBuilder("sh", "-c", "cat; exit 5").redirectErrorStream(true).start(); q.getOutputStream().write("via".getBytes()); q.getOutputStream().close(); System.out.println(new String(q.getInputStream().readAllBytes()) + q.waitFor()); try { Object o = null; o.hashCode(); } catch (NullPointerException x) { System.out.println("npe"); } byte[][] g = new byte[50][]; for (int i = 0; i < 500; i++) g[i % 50] = new byte[1 << 20]; System.gc(); System.out.println(Runtime.getRuntime().availableProcessors() > 0); System.exit(6); } }
X
javac T.java && java -Xmx256m T x y || echo $?; jar cf t.jar T.class && java -cp t.jar T | head -1; echo 'class S { public static void main(String[] a) { System.out.println("source"); } }' > S.java; java S.java; java -Xint -version 2>&1 | head -1
