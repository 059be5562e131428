# Bash library: a private sshd with throw-away keys, for root and for ordinary users. Source it.
#
#   sshd_start DIR [ADDRESS] [LINE...]  starts one that keeps everything in DIR (made when missing), listens on
#                                       ADDRESS (default 127.0.0.1) and has the LINEs first in its sshd_config;
#                                       returns when it answers
#   ssh -F DIR/ssh_config far           then logs the calling user in
#   sshd_stop DIR                       ends it; may be called twice
#
# SSHD_NETNS=PATH runs it in that network namespace (wan_up sets $WAN_FAR), SSHD_PORT=N takes that port instead
# of a free one, SSHD_PATH is put in front of the PATH of remote commands (default: MCDTP_BIN, or build/bin).
# mcdtp-shim gives up on a silent far side after ConnectTimeout, here 30 s, so that a slow one is not taken for it;
# SSHD_PATIENCE=none leaves that at its own five seconds. It dies with the calling script. Its log is DIR/sshd.log.

sshd_say() { echo "sshd: $*" >&2; }

sshd_in_netns() {
  if [ -n "${SSHD_NETNS-}" ]; then nsenter --net="$SSHD_NETNS" -- "$@"; else "$@"; fi
}

sshd_keys() {
  local key
  for key in host_key user_key; do
    [ -f "$1/$key" ] || ssh-keygen -q -t ed25519 -N '' -C "$key" -f "$1/$key" || return 1
  done
  cp "$1/user_key.pub" "$1/authorized_keys"
}

# sshd refuses a locked account ("!" as its password), as root's often is, unless PAM judges it.
sshd_use_pam() {
  if grep -q "^$(id -un):!" /etc/shadow 2>/dev/null; then echo yes; else echo no; fi
}

sshd_write_config() {
  local dir=$1 address=$2 port=$3
  local server_dir=${SSHD_PATH:-${MCDTP_BIN:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/bin}}
  shift 3
  [ $# -eq 0 ] || printf '%s\n' "$@"
  cat <<END
ListenAddress $address
Port $port
HostKey "$dir/host_key"
PidFile "$dir/sshd.pid"
AuthorizedKeysFile "$dir/authorized_keys"
AuthenticationMethods publickey
PermitRootLogin yes
StrictModes no
UsePAM $(sshd_use_pam)
UseDNS no
PrintMotd no
ClientAliveInterval 60
ClientAliveCountMax 5
MaxStartups 200
MaxSessions 200
AcceptEnv LANG LC_*
SetEnv "PATH=$server_dir:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
Subsystem sftp internal-sftp
END
}

sshd_write_client_config() {
  local dir=$1 address=$2 port=$3
  echo "[$address]:$port $(cut -d' ' -f1,2 "$dir/host_key.pub")" >"$dir/known_hosts"
  cat >"$dir/ssh_config" <<END
Host far
  HostName $address
  Port $port
  User $(id -un)
  IdentityFile "$dir/user_key"
  IdentitiesOnly yes
  UserKnownHostsFile "$dir/known_hosts"
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
END
  [ "${SSHD_PATIENCE-}" = none ] || echo "  ConnectTimeout 30" >>"$dir/ssh_config"
}

# Does the sshd of that pid answer on that port? 1: it has ended, or is silent for ten seconds.
sshd_wait() {
  local pid=$1 address=$2 port=$3 tries=0
  while kill -0 "$pid" 2>/dev/null && [ $((tries += 1)) -le 200 ]; do
    sshd_in_netns bash -c 'exec 3<>"/dev/tcp/$0/$1" && read -r -t 5 line <&3 && [[ $line == SSH-* ]]' \
      "$address" "$port" 2>/dev/null && kill -0 "$pid" 2>/dev/null && return 0
    sleep 0.05
  done
  return 1
}

# One attempt on one port. The command is started here without a function around it, so that it is this
# script's own child and dies with it.
sshd_try() {
  local dir=$1 address=$2 port=$3 prefix=()
  shift 3
  [ -z "${SSHD_NETNS-}" ] || prefix=(nsenter --net="$SSHD_NETNS" --)
  sshd_write_config "$dir" "$address" "$port" "$@" >"$dir/sshd_config"
  sshd_write_client_config "$dir" "$address" "$port"
  setpriv --pdeathsig TERM "${prefix[@]}" "$(sshd_program)" -D -e -f "$dir/sshd_config" \
    </dev/null >"$dir/sshd.log" 2>&1 &
  echo "$!" >"$dir/sshd.started"
  sshd_wait "$!" "$address" "$port" && return 0
  sshd_stop "$dir"
  return 1
}

sshd_program() { PATH=$PATH:/usr/sbin:/usr/local/sbin command -v sshd; }

sshd_start() {
  local dir=$1 address=${2:-127.0.0.1} attempt
  shift $(($# < 2 ? $# : 2))
  [ -n "$(sshd_program)" ] || { sshd_say "not installed (Debian: openssh-server)"; return 1; }
  mkdir -p "$dir" && dir=$(cd "$dir" && pwd) && sshd_keys "$dir" || { sshd_say "cannot write $dir"; return 1; }
  [ "$(id -u)" -ne 0 ] || mkdir -p -m 755 /run/sshd
  for attempt in 1 2 3 4 5; do
    sshd_try "$dir" "$address" "${SSHD_PORT:-$((20000 + RANDOM % 12000))}" "$@" && return 0
    grep -q 'Address already in use' "$dir/sshd.log" || break
  done
  sshd_say "does not start: $(tail -n 1 "$dir/sshd.log")"
  return 1
}

# The sessions too: one whose client was cut off would wait for it for minutes.
sshd_stop() {
  local pid sessions
  [ -f "$1/sshd.started" ] || return 0
  pid=$(cat "$1/sshd.started")
  rm -f "$1/sshd.started"
  sessions=$(pgrep -P "$pid")
  kill -TERM "$pid" $sessions 2>/dev/null
  wait "$pid" 2>/dev/null
  return 0
}
