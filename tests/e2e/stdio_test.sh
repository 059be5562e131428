#!/bin/bash
# Whatever stands on 0, 1 and 2: bytes arrive, ends arrive both ways, flags are left as found.
. "$(dirname "$0")/lib.sh"
e2e_start
pattern 10000000 >"$dir/ten"
pattern 300000 2 >"$dir/some"

step "files, /dev/null and -n"
status 0 shim far cat <"$dir/ten"
same_file "a file through cat" "$dir/ten" "$dir/out"
status 0 shim far cat </dev/null
out_is ""
status 0 shim -n far 'cat; echo end' <"$dir/ten"
out_is end
: >"$dir/empty"
status 0 shim far 'wc -c' <"$dir/empty"
out_is 0
shim far 'cat >/dev/null; echo all' <"$dir/some" >/dev/null 2>&1 || fail "with stdout on /dev/null"
echo before >"$dir/appended"
shim far 'echo after' </dev/null >>"$dir/appended" || fail "with stdout appended"
same "an appended file" $'before\nafter' "$(cat "$dir/appended")"

step "a named pipe whose writer has gone"
mkfifo "$dir/named"
for bytes in 4 0 10000000; do
  head -c "$bytes" "$dir/ten" >"$dir/named" &
  status 0 shim far 'cat; echo end >&2' <"$dir/named"
  head -c "$bytes" "$dir/ten" | cmp - "$dir/out" || fail "$bytes bytes of a named pipe"
  err_is end
done

step "closed descriptors"
same "without stdin" end "$(shim far 'cat; echo end' <&-)"
shim far 'echo lost' </dev/null >&- 2>"$dir/err" || fail "without stdout: status $?"
same "without stderr" out "$(shim far 'echo out; echo err >&2' </dev/null 2>&-)"
shim far 'exit 9' <&- >&- 2>&-
same "without any" 9 $?

step "10 MB on stderr beside 10 MB on stdout"
status 0 shim far 'cat /dev/zero | head -c 10000000 & cat >&2; wait' <"$dir/ten"
same_file stderr "$dir/ten" "$dir/err"
head -c 10000000 /dev/zero | cmp - "$dir/out" || fail "stdout differs"

step "half-close, and output after the end of stdin"
printf '3\n1\n2\n' | status 0 shim far sort -n
out_is $'1\n2\n3'
status 0 shim far 'cat >/dev/null; head -c 3000000 /dev/zero; echo done >&2' <"$dir/some"
same "bytes after the end of stdin" 3000000 "$(wc -c <"$dir/out")"
err_is done

step "early closes"
same "yes cut off here" y "$(shim far yes | head -n 1)"
# As with ssh, the shim that nobody reads ends by the command's SIGPIPE.
shim far yes 2>"$dir/err" | head -n 1 >/dev/null
ended=("${PIPESTATUS[@]}")
real_ssh far yes 2>/dev/null | head -n 1 >/dev/null
same "the status of yes cut off here" "${PIPESTATUS[0]}" "${ended[0]}"
same "a word on stderr" "" "$(cat "$dir/err")"
status 0 shim far 'yes | head -n 1' </dev/null
out_is y
yes | status 0 shim far 'head -n 1'
out_is y
yes | status 0 shim far 'exec <&-; sleep 0.2; echo closed'
out_is closed

step "a background child that holds stdout is waited for, as by ssh"
# It waits until the shell has gone: what has ended has no program any more.
status 0 shim far 'while [ -e /proc/$$/exe ]; do sleep 0.05; done && echo late & echo early' </dev/null
out_is $'early\nlate'
status 4 shim far 'sleep 100 >/dev/null 2>&1 & echo $!; exit 4' </dev/null
background=$(cat "$dir/out")
kill "$background" || fail "a background job was ended"

step "a full disk"
shim far 'head -c 1000000 /dev/zero' >/dev/full 2>"$dir/err" </dev/null
same "the status" 255 $?
same "the words" "mcdtp-shim: write standard output: No space left on device" "$(cat "$dir/err")"
status 3 shim far 'echo out; echo err >&2; exit 3' </dev/null
shim far 'echo err >&2; exit 3' </dev/null 2>/dev/full
same "the status where stderr is lost, as with ssh" 3 $?
shim far 'head -c 10000000 /dev/zero >&2; echo "wrote: $?"; exit 3' </dev/null 2>/dev/full >"$dir/out"
same "the status where much of stderr is lost" 3 $?
out_is "wrote: 0"

step "sockets, and flags left as found"
bounded python3 - "$SHIM" "$e2e_config" 2>"$dir/err" <<'END' || fail "$(tail -n 1 "$dir/err")"
import fcntl, os, select, socket, subprocess, sys, threading, time
def shim(command, **stdio):
    return subprocess.Popen([sys.argv[1], "-F", sys.argv[2], "far", command], **stdio)
def read_all(sock):
    return b"".join(iter(lambda: sock.recv(65536), b""))
nonblocking = lambda fd: bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK)

# One socket on 0 and 1, as scp and sftp give it.
ours, theirs = socket.socketpair()
process = shim("cat; echo end", stdin=theirs, stdout=theirs)
ours.sendall(b"x" * 100000)
ours.shutdown(socket.SHUT_WR)
got = b""
while not got.endswith(b"end\n"):
    part = ours.recv(65536)
    assert part, "the socket ended early"
    got += part
assert got == b"x" * 100000 + b"end\n", "one socket on 0 and 1: %d bytes" % len(got)
assert process.wait() == 0
assert not nonblocking(theirs.fileno()), "O_NONBLOCK was left on a socket"
theirs.close()
assert read_all(ours) == b""

# A socket that is non-blocking already, as rsync gives it, and slow to be read.
ours, theirs = socket.socketpair()
theirs.setblocking(False)
process = shim("head -c 5000000 /dev/zero", stdin=subprocess.DEVNULL, stdout=theirs)
theirs_copy = theirs.dup()
theirs.close()
size = 0
while size < 5000000:
    part = ours.recv(4096 if size < 100000 else 65536)
    assert part, "the socket ended early"
    size += len(part)
assert process.wait() == 0
assert nonblocking(theirs_copy.fileno()), "O_NONBLOCK was taken away"

# What stands on 2 is the caller's too: its flags are not touched, not even while the run lasts.
read_end, write_end = os.pipe()
process = shim("echo one >&2; cat; echo two >&2", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=write_end)
assert os.read(read_end, 100) == b"one\n"
assert not nonblocking(write_end), "O_NONBLOCK is on stderr during the run"
process.stdin.write(b"word\n")
process.stdin.close()
assert os.read(read_end, 100) == b"two\n" and process.stdout.read() == b"word\n"
assert process.wait() == 0
assert not nonblocking(write_end), "O_NONBLOCK was left on stderr"

# An EPIPE is no end of the other direction: who reads no stdout may still have its stdin read to the end.
process = shim("trap '' PIPE; echo out; sum=$(cksum); echo more 2>/dev/null; echo $sum >&2; exit 6",
               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
assert process.stdout.readline() == b"out\n"
process.stdout.close()
process.stdin.write(b"y" * 3000000)
process.stdin.close()
assert process.stderr.read().split()[1:] == [b"3000000"] and process.wait() == 6

# Who reads stdout to its end before stderr gets that end, though stderr is full and there is one thing more to say.
read_end, write_end = os.pipe()
process = shim("head -c 300000 /dev/zero >&2 & echo out; read word; kill -KILL $PPID",
               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=write_end)
assert process.stdout.readline() == b"out\n"
while select.select([], [write_end], [], 0)[1]:
    time.sleep(0.05)
# To the last byte: its last page may have room.
own = os.open("/proc/self/fd/%d" % write_end, os.O_WRONLY | os.O_NONBLOCK)
try:
    while os.write(own, b"x"):
        pass
except BlockingIOError:
    os.close(own)
process.stdin.write(b"word\n")
process.stdin.close()
assert process.stdout.read() == b"" and process.wait() == 255

# Blocking pipes stay blocking.
read_end, write_end = os.pipe()
process = shim("echo word", stdin=subprocess.DEVNULL, stdout=write_end)
assert os.read(read_end, 100) == b"word\n"
assert process.wait() == 0
assert not nonblocking(write_end), "O_NONBLOCK was left on a pipe"
# So they do for the second of two that begins while the first has them otherwise, and ends after it.
two = []
for _ in range(2):
    two.append(shim("echo up; read word; echo $word", stdin=subprocess.PIPE, stdout=write_end))
    assert os.read(read_end, 100) == b"up\n"
    assert not nonblocking(write_end), "O_NONBLOCK is on a pipe during the run"
for process, name in zip(two, (b"first", b"second")):
    process.communicate(name + b"\n")
    assert process.returncode == 0 and os.read(read_end, 100) == name + b"\n"
assert not nonblocking(write_end), "O_NONBLOCK was left on a pipe by the second"

# Messages stay whole: of what a read has no room for the system throws the rest away.
message = bytes(range(250)) * 12
for kind in ("packets", "pipe"):
    if kind == "packets":
        ours, theirs = (end.detach() for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    else:
        theirs, ours = os.pipe2(os.O_DIRECT)
    process = shim("cat", stdin=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    read = []
    reader = threading.Thread(target=lambda: read.append(process.stdout.read()))
    reader.start()
    for _ in range(300):
        os.write(ours, message)
    os.close(ours)
    reader.join()
    assert read == [message * 300] and process.wait() == 0, "bytes of %s are missing" % kind
END
step "a far command that writes messages into its pipe"
status 0 shim far "dd if='$dir/ten' bs=1000 oflag=direct status=none" </dev/null
same_file "by dd" "$dir/ten" "$dir/out"
nothing_left
passed
