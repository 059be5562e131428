#!/bin/bash
# --install: our own static server goes over the log-in to a host that has none, and needs nothing there. The far host is
# a directory that holds busybox and nothing else of a system; the log-in's command is run inside it.
#
# By hand, for another system: E2E_ROOT=DIR runs what any system must do in that directory instead, such as what
# `debootstrap --variant=minbase bullseye DIR` makes.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "only root may chroot"
machine=$(uname -m)
static=$MCDTP_BIN/mcdtp-server.$machine
[ -x "$static" ] || skip "there is no $static: scripts/build-static makes it"
e2e_directory
export XDG_CACHE_HOME=/dev/null/none # each run says that there is no server
root=$dir/root

make_root() {
  local file
  mkdir -p "$root/bin" "$root/dev" "$root/home" "$root/tmp"
  cp "$(command -v busybox)" "$root/bin/busybox"
  # What it is linked to, where it is.
  for file in $(ldd "$root/bin/busybox" 2>/dev/null | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$file")" && cp "$file" "$root$file"
  done
  for file in $("$root/bin/busybox" --list); do [ "$file" = busybox ] || ln -s busybox "$root/bin/$file"; done
  mknod -m 666 "$root/dev/null" c 1 3 2>/dev/null || install -m 666 /dev/null "$root/dev/null"
}
if [ -n "${E2E_ROOT-}" ]; then root=$E2E_ROOT; else make_root; fi
cat >"$dir/enter" <<END
#!/bin/sh
exec env -i PATH=/usr/bin:/bin HOME=/home SHELL=/bin/sh E2E_TOKEN=$e2e_token SSH_CONNECTION="\$SSH_CONNECTION" \
  "$(command -v chroot)" "$root" /bin/sh -c "\$SSH_ORIGINAL_COMMAND"
END
chmod +x "$dir/enter"
e2e_start "ForceCommand $dir/enter"
port=$(sed -n 's/^ *Port //p' "$e2e_config")
installed() { find "$root/home/.cache" -type f 2>/dev/null; }
plain="mcdtp-shim: no mcdtp-server on far: going on over plain ssh"

step "never without being asked"
status 3 shim far 'echo plain; exit 3' </dev/null
out_is plain && err_is "$plain"
same "files" "" "$(installed)"

step "asked for: one log-in, and all that the command gets"
pattern 500000 >"$dir/bytes"
before=$(logins)
held_until "proved, UDP to 127.0.0.1" "$root"
status 4 shim -v --install far "cat; echo err >&2; $held; exit 4" <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
err_has "^mcdtp-shim: installing mcdtp-server on far ($machine, [0-9]* bytes)" && err_has "^err$"
same "log-ins" $((before + 1)) "$(logins)"
same_file "the file" "$static" "$(installed)"

step "it stays, and is used by who asks for it"
status 5 shim -v --install --bootstrap ssh far 'exit 5' </dev/null
err_lacks installing && err_has "trying UDP and TCP\|the server does not know its address"
mkdir -p "$dir/own/mcdtp" && printf 'Host far\n  Install yes\n' >"$dir/own/mcdtp/config"
XDG_CONFIG_HOME=$dir/own status 5 shim -v far 'exit 5' </dev/null
err_lacks "plain ssh"
XDG_CONFIG_HOME=$dir/own status 5 shim --install=no far 'exit 5' </dev/null
err_is "$plain"

step "what is damaged is sent anew"
truncate -s 1000 "$(installed)"
status 4 shim -v --install far "cat; exit 4" <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
same_file "the file" "$static" "$(installed)"

step "either way to log in"
for way in ssh libssh2; do
  rm -r "$root/home/.cache"
  status 0 shim --install --bootstrap "$way" far cat <"$dir/bytes"
  same_file "through cat" "$dir/bytes" "$dir/out"
  same_file "the file" "$static" "$(installed)"
done

[ -z "${E2E_ROOT-}" ] || { rm -r "$root/home/.cache"; nothing_left; passed; exit; }

step "names are the far host's getent's affair"
status 0 bounded bash -c '"$0" -F "$1" --install -W "127.0.0.1:$2" far </dev/null | head -c 4' "$SHIM" "$e2e_config" "$port"
out_is "SSH-"
printf '#!/bin/sh\n[ "$1 $2" = "ahosts far-service" ] && echo "127.0.0.1 STREAM x"\n' >"$root/bin/getent"
chmod +x "$root/bin/getent"
status 0 bounded bash -c '"$0" -F "$1" --install -W "far-service:$2" far </dev/null | head -c 4' "$SHIM" "$e2e_config" "$port"
out_is "SSH-"

step "where it cannot be kept the command runs all the same, with its whole stdin"
rm -r "$root/home/.cache" && : >"$root/home/.cache"
status 0 shim --install far cat <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
same "stderr" "mcdtp-server cannot be installed as /home/.cache
$plain" "$(sed 's,\(/home/.cache\).*,\1,' "$dir/err" | LC_ALL=C sort)"
rm "$root/home/.cache"
rm "$root/bin/sha256sum" "$root/bin/openssl" 2>/dev/null
mv "$root/bin/busybox" "$root/bin/box" && for file in "$root"/bin/*; do [ ! -L "$file" ] || ln -sf box "$file"; done
status 0 shim --install far cat <"$dir/bytes"
same_file "without any means to check it" "$dir/bytes" "$dir/out"
err_has "^mcdtp-server could not be installed as /home/.cache/"
same "files" "" "$(installed)"
rm -r "$root/bin" && make_root
if mount -t tmpfs -o noexec none "$root/home" 2>/dev/null; then
  status 0 shim --install far cat <"$dir/bytes"
  umount -l "$root/home"
  same_file "where nothing may be run" "$dir/bytes" "$dir/out"
  err_has "^mcdtp-server could not be installed as /home/.cache/"
else
  echo "  (where nothing may be run: not tried, nothing can be mounted here)"
fi

step "no server for that machine"
mkdir "$dir/bin" && cp "$SHIM" "$dir/bin/" && cp "$static" "$dir/bin/mcdtp-server.other"
status 0 bounded "$dir/bin/mcdtp-shim" -F "$e2e_config" --install far cat <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
same "stderr" "$plain
mcdtp-shim: there is no server to install on far ($machine)" "$(LC_ALL=C sort "$dir/err")"
rm "$dir/bin/mcdtp-server.other"
status 0 bounded "$dir/bin/mcdtp-shim" -F "$e2e_config" --install far true </dev/null
err_has "^mcdtp-shim: there is nothing to install"
nothing_left
passed
